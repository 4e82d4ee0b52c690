/* The device library on the host: what the Python module needs of each variant. */
#ifndef TWIN_H
#define TWIN_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    size_t features, classes;
    void *sums, *counts, *weights, *bias, *ranges;
    uint8_t options;
    uint32_t half_life; /* 0: the default */
    uint64_t margin;
} twin_model;

typedef struct {
    size_t weight_bytes, score_bytes, sum_bytes, max_features, max_classes;
    int (*learn)(const twin_model *, const uint8_t *rows, const uint8_t *labels, size_t n);
    int (*solve)(const twin_model *);
    /* 255 where the answer is SEFR_UNKNOWN */
    void (*classify)(const twin_model *, const uint8_t *rows, uint8_t *labels, size_t n);
} twin_variant;

extern const twin_variant twin_w8s16, twin_w8s32, twin_w16s16, twin_w16s32;

#endif
