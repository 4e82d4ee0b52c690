/* SEFR for microcontrollers: learn, solve, classify. C99 and C++11, integers only; no heap, no stdio, no
 * globals: the caller owns every byte.
 *
 *     #include <sefr.h>
 *     SEFR_MODEL(model, 100, 2)                  // 100 features, 2 classes: 524 bytes of RAM
 *     sefr_reset(&model);
 *     sefr_learn(&model, record, label);         // record: 100 bytes; label: 0 or 1
 *     sefr_solve(&model);
 *     sefr_classify(&model, record, &label);
 *
 * Definition (the only one; every kernel, board and the Python package must equal it to the bit)
 *   A record is `features` bytes, a label is 0 .. classes-1. Learning keeps, for each class c, the number of
 *   records n[c] and the sum S[c][j] of every feature. With p the positive side and q the negative side
 *   (binary: p = class 1, q = class 0; more classes: p = class k, q = all others together):
 *     u = S[p][j] n[q],  v = S[q][j] n[p]
 *     w[j] = sign(u - v) floor(ONE |u - v| / (u + v) + 1/2),  0 where u + v = 0         (eq. 5, epsilon = 0)
 *     theta = (T[p] n[q]^2 + T[q] n[p]^2) / (n[p] n[q] (n[p] + n[q])),  T[c] = sum_j w[j] S[c][j]   (eq. 9)
 *   ONE is 127 (int8 weights) or 32767 (int16). The score is sum_j w[j] x[j] + bias.
 *     Binary: bias = -floor(theta); the answer is 1 where the score is above 0, else 0. Since the products are
 *     integers, this decides exactly as theta itself would.
 *     More classes: bias = -ceil(theta); the answer is the highest score, the lowest class on a tie. This is the
 *     paper's argmin with the sign turned, as in decision_function on the host. A class without records has
 *     weights 0 and the lowest score there is: it never wins.
 *   With learned ranges (model.ranges), low[j] and high[j] are the extremes seen, g[j] = high[j] - low[j], and
 *   G is the smallest g[j] above 0; min-max scaling folds into the weights, so records stay raw:
 *     d = u + v - 2 low[j] n[p] n[q]
 *     w[j] = sign(u - v) floor(ONE G |u - v| / (g[j] d) + 1/2),  0 where g[j] d = 0
 *   int16 weights are the better choice there: a feature with a wide range gets a small weight.
 */
#ifndef SEFR_H
#define SEFR_H

#include <stdint.h>
#ifdef __AVR__
#include <avr/io.h>
#include <avr/pgmspace.h>
#endif

/* ---- Settings: define before #include <sefr.h>, per source file. ----
 * The settings are part of every symbol's name, so files with different settings link side by side and never mix.
 *
 * SEFR_WEIGHT_BITS: 8 or 16. Size of a stored weight.
 *   Cost: 1 or 2 bytes of RAM per weight; 16 is slower (64-bit scores, no AVR kernels). Default 8. */
#ifndef SEFR_WEIGHT_BITS
#define SEFR_WEIGHT_BITS 8
#endif
/* SEFR_SUM_BITS: 16 or 32. Size of a sum.
 *   16: at most 256 records a class before all counts and sums are halved (sefr_decay), which forgets slowly.
 *   32: at most 16,777,216 records in all before that. Cost: 2 or 4 bytes per class and feature; 32 has no AVR
 *   kernels for learning. Default 16. */
#ifndef SEFR_SUM_BITS
#define SEFR_SUM_BITS 16
#endif
/* SEFR_RAM_BYTES: RAM of the board in bytes; SEFR_MODEL does not compile when the model and SEFR_STACK_BYTES do
 *   not fit. Cost: none at run time. Default: on AVR the chip's own; elsewhere unchecked. */
#ifndef SEFR_RAM_BYTES
#ifdef __AVR__
#define SEFR_RAM_BYTES (RAMEND - RAMSTART + 1UL)
#else
#define SEFR_RAM_BYTES 0xFFFFFFFFUL
#endif
#endif
/* SEFR_STACK_BYTES: RAM in bytes kept free for the stack and the rest of the program. The deepest call of the
 *   library on AVR takes 100 for two classes with int8 weights and 16-bit sums, 230 more in sefr_learn_batch_P.
 *   Default 256: an Arduino sketch with Serial needs 200. */
#ifndef SEFR_STACK_BYTES
#define SEFR_STACK_BYTES 256UL
#endif

#if SEFR_WEIGHT_BITS == 8
typedef int8_t sefr_weight;
typedef int32_t sefr_score;
#define SEFR_ONE 127
/* |score| <= 2 * 127 * 255 * 32767 = 2,122,318,590 < 2^31. */
#define SEFR_MAX_FEATURES 32767U
#elif SEFR_WEIGHT_BITS == 16
typedef int16_t sefr_weight;
typedef int64_t sefr_score;
#define SEFR_ONE 32767
/* |T| <= 32767 * 255 * 65535 * 2^24 = 9.187e18 < 2^63 = 9.223e18 at the largest count (32-bit sums). */
#define SEFR_MAX_FEATURES 65534U
#else
#error "SEFR_WEIGHT_BITS must be 8 or 16"
#endif

#if SEFR_SUM_BITS == 16
typedef uint16_t sefr_sum;
typedef uint16_t sefr_count;
/* Per class: 256 * 255 = 65,280 < 2^16. */
#define SEFR_MAX_RECORDS 256U
/* 3 (u + v) <= 3 * 510 * 256 * 256 * (classes - 1) < 2^32 up to 43 classes. */
#define SEFR_MAX_CLASSES 43
#elif SEFR_SUM_BITS == 32
typedef uint32_t sefr_sum;
typedef uint32_t sefr_count;
/* In all classes together: 2^24 * 255 < 2^32; u + v <= 510 (2^23)^2 < 2^55, and 255 times that < 2^63. */
#define SEFR_MAX_RECORDS 16777216UL
#define SEFR_MAX_CLASSES 254
#else
#error "SEFR_SUM_BITS must be 16 or 32"
#endif

#define SEFR_JOIN_(name, weight_bits, sum_bits) sefr_##name##_w##weight_bits##s##sum_bits
#define SEFR_JOIN(name, weight_bits, sum_bits) SEFR_JOIN_(name, weight_bits, sum_bits)
#define SEFR_NAME(name) SEFR_JOIN(name, SEFR_WEIGHT_BITS, SEFR_SUM_BITS)

/* A number of features or a place among them; 16 bits wide on AVR. */
typedef unsigned int sefr_index;

/* What every call returns. Anything but SEFR_OK means that nothing was changed. */
typedef enum {
    SEFR_OK = 0,
    SEFR_BAD_LABEL = 1,     /* the label is not below `classes` */
    SEFR_NOT_READY = 2,     /* solve: fewer than two classes have records (binary: either is empty);
                               classify: not solved yet, or (without stored weights) learned since */
    SEFR_FULL = 3,          /* merge: the records of both do not fit the sums; sefr_decay one first */
    SEFR_NEVER_LEARNED = 4, /* forget: the sums cannot contain this record */
    SEFR_BAD_SHAPE = 5,     /* merge, restore: other features, classes, sum width or ranges; or beyond the limits */
    SEFR_BAD_VERSION = 6,   /* restore: written by another version of the state format */
    SEFR_BAD_STATE = 7,     /* restore: no state there, or its checksum or contents are wrong */
    SEFR_NO_ROOM = 8,       /* save: the storage is smaller than two states */
    SEFR_IO = 9             /* save, send: a callback failed, or the storage reads back other bytes; the
                               state saved before is still there */
} sefr_status;

#define sefr_model SEFR_NAME(model)
#define sefr_fixed SEFR_NAME(fixed)

/* A model that learns. Use SEFR_MODEL or SEFR_LEAN_MODEL to lay it out; all arrays belong to the caller. */
typedef struct {
    sefr_index features;
    uint8_t classes;
    uint8_t sparse;       /* 1: AVR kernels skip zeros: a third quicker where most values are 0, a quarter slower
                             where none is; the same result. Default 0. */
    uint8_t solved;       /* set by sefr_solve */
    uint8_t fresh;        /* nothing was learned since sefr_solve */
    sefr_sum *sums;       /* classes x features, row-major */
    sefr_count *counts;   /* classes */
    sefr_weight *weights; /* 1 x features (binary) or classes x features; NULL: computed at each classify */
    sefr_score *bias;     /* 1 (binary) or classes */
    uint8_t *ranges;      /* low[features] then high[features], learned from the records; NULL: 0..255 known */
} sefr_model;

/* A model that only classifies; weights and bias in flash (SEFR_FLASH). */
typedef struct {
    sefr_index features;
    uint8_t classes;
    const sefr_weight *weights;
    const sefr_score *bias;
} sefr_fixed;

/* Attribute of constants in flash: weights and bias of sefr_fixed, records of the _P calls. */
#ifdef __AVR__
#define SEFR_FLASH PROGMEM
#else
#define SEFR_FLASH
#endif

#define SEFR_ROWS(classes) ((classes) == 2 ? 1U : (unsigned)(classes))
/* Bytes of RAM of the arrays and the structure. */
#define SEFR_LEAN_BYTES(features, classes)                                                                          \
    ((uint32_t)(features) * (classes) * sizeof(sefr_sum) + (uint32_t)(classes) * sizeof(sefr_count) +               \
     SEFR_ROWS(classes) * sizeof(sefr_score) + sizeof(sefr_model))
#define SEFR_MODEL_BYTES(features, classes)                                                                         \
    (SEFR_LEAN_BYTES(features, classes) + (uint32_t)(features) * SEFR_ROWS(classes) * sizeof(sefr_weight))
#define SEFR_RANGE_BYTES(features) (2UL * (features))

#define SEFR_FITS(bytes, features, classes)                                                                         \
    ((bytes) + SEFR_STACK_BYTES <= SEFR_RAM_BYTES && (features) >= 1 && (features) <= SEFR_MAX_FEATURES &&          \
     (classes) >= 2 && (classes) <= SEFR_MAX_CLASSES)
#define SEFR_ARRAYS_(name, features, classes)                                                                       \
    static sefr_sum name##_sums[(uint32_t)(features) * (classes)];                                                  \
    static sefr_count name##_counts[classes];                                                                       \
    static sefr_score name##_bias[SEFR_ROWS(classes)];
/* Lays out a model at file scope: SEFR_MODEL(name, features, classes). "size of array ..._does_not_fit is
 * negative" means: too large for SEFR_RAM_BYTES - SEFR_STACK_BYTES, or beyond the limits above. */
#define SEFR_MODEL(name, features, classes)                                                                         \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_MODEL_BYTES(features, classes), features, classes) ? 1 : -1];   \
    SEFR_ARRAYS_(name, features, classes)                                                                           \
    static sefr_weight name##_weights[(uint32_t)(features) * SEFR_ROWS(classes)];                                   \
    static sefr_model name = {features, classes, 0, 0, 0, name##_sums, name##_counts, name##_weights, name##_bias, 0};
/* The same with learned ranges: SEFR_RANGE_BYTES(features) more RAM. */
#define SEFR_RANGE_MODEL(name, features, classes)                                                                   \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_MODEL_BYTES(features, classes) + SEFR_RANGE_BYTES(features),    \
                                               features, classes)                                                   \
                                         ? 1                                                                        \
                                         : -1];                                                                     \
    SEFR_ARRAYS_(name, features, classes)                                                                           \
    static sefr_weight name##_weights[(uint32_t)(features) * SEFR_ROWS(classes)];                                   \
    static uint8_t name##_ranges[2UL * (features)];                                                                 \
    static sefr_model name = {features,       classes,        0,           0,                                       \
                              0,              name##_sums,    name##_counts, name##_weights,                        \
                              name##_bias,    name##_ranges};
/* The same without stored weights: the most features for the RAM (480 binary or 64 x 10 on an Uno). Each
 * classify then computes the weights again, about 400 cycles per weight on AVR, with the same result. */
#define SEFR_LEAN_MODEL(name, features, classes)                                                                    \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_LEAN_BYTES(features, classes), features, classes) ? 1 : -1];    \
    SEFR_ARRAYS_(name, features, classes)                                                                           \
    static sefr_model name = {features, classes, 0, 0, 0, name##_sums, name##_counts, 0, name##_bias, 0};

/* Where a state is kept: EEPROM, FRAM, a flash page. Addresses run from 0 to size - 1. */
typedef struct {
    uint8_t (*read)(void *context, uint32_t address);
    int (*write)(void *context, uint32_t address, uint8_t value); /* 0: written */
    void *context;
    uint32_t size;
} sefr_storage;

/* Gives the next value of a record: a sensor, a serial line, a memory chip. Called once per feature, in order. */
typedef uint8_t (*sefr_reader)(void *context);
/* Takes the next byte of a state. 0: taken. */
typedef int (*sefr_writer)(void *context, uint8_t value);

#ifdef __cplusplus
extern "C" {
#endif

#define sefr_reset SEFR_NAME(reset)
#define sefr_learn SEFR_NAME(learn)
#define sefr_learn_each SEFR_NAME(learn_each)
#define sefr_learn_batch SEFR_NAME(learn_batch)
#define sefr_forget SEFR_NAME(forget)
#define sefr_decay SEFR_NAME(decay)
#define sefr_merge SEFR_NAME(merge)
#define sefr_solve SEFR_NAME(solve)
#define sefr_classify SEFR_NAME(classify)
#define sefr_classify_each SEFR_NAME(classify_each)
#define sefr_classify_fixed SEFR_NAME(classify_fixed)
#define sefr_correct SEFR_NAME(correct)
#define sefr_scores SEFR_NAME(scores)
#define sefr_scores_fixed SEFR_NAME(scores_fixed)
#define sefr_state_bytes SEFR_NAME(state_bytes)
#define sefr_send SEFR_NAME(send)
#define sefr_save SEFR_NAME(save)
#define sefr_restore SEFR_NAME(restore)

/* Forgets everything. Call it once before the first learn. SEFR_BAD_SHAPE: features or classes beyond the limits. */
sefr_status sefr_reset(sefr_model *model);

/* Adds one record. When the sums are full, everything learned before counts half from then on (sefr_decay). */
sefr_status sefr_learn(sefr_model *model, const uint8_t *record, uint8_t label);
/* The same for a record that does not fit the RAM: values come from `next`, one at a time. */
sefr_status sefr_learn_each(sefr_model *model, sefr_reader next, void *context, uint8_t label);
/* The same as `records` calls of sefr_learn; labels are checked first. records: rows of `features` bytes. */
sefr_status sefr_learn_batch(sefr_model *model, const uint8_t *rows, const uint8_t *labels, sefr_index records);

/* Takes one record back, exactly. Ranges stay. Records from before a sefr_decay count less than one and
 * cannot be taken back exactly. */
sefr_status sefr_forget(sefr_model *model, const uint8_t *record, uint8_t label);
/* Halves what was learned: n becomes ceil(n / 2), S becomes floor(S ceil(n / 2) / n), so the means stay (within
 * 1 / n) and the last record of a class is kept. */
sefr_status sefr_decay(sefr_model *model);
/* Adds all that `other` learned: equal to having learned its records. */
sefr_status sefr_merge(sefr_model *model, const sefr_model *other);

/* Computes the weights (when stored) and the bias from the sums. Learning can go on; solve again when wanted. */
sefr_status sefr_solve(sefr_model *model);

/* Writes the class of a record to *label. */
sefr_status sefr_classify(const sefr_model *model, const uint8_t *record, uint8_t *label);
/* The same with values from `next`; binary models only, since a record can be read but once. */
sefr_status sefr_classify_each(const sefr_model *model, sefr_reader next, void *context, uint8_t *label);
sefr_status sefr_classify_fixed(const sefr_fixed *model, const uint8_t *record, uint8_t *label);
/* Writes the score (binary: one, above 0 means class 1) or the score of each class (highest wins). */
sefr_status sefr_scores(const sefr_model *model, const uint8_t *record, sefr_score *scores);
sefr_status sefr_scores_fixed(const sefr_fixed *model, const uint8_t *record, sefr_score *scores);

/* Tells a solved model what the class of a record is. Nothing changes if it would have said so. Otherwise, with
 * d[j] = x[j] times a sixteenth of ONE over 255, rounded (int8: (x[j] + 16) >> 5, int16: 8 x[j]), the weights of the
 * right class gain d and those of the wrong answer lose it (binary: the one row gains or loses it), kept within
 * -ONE .. ONE; the bias moves as the weight of a value that is always 255. The sums stay as they are, so sefr_solve
 * undoes corrections; call sefr_learn as well to make the record count there.
 * SEFR_BAD_SHAPE: a lean model, which has no stored weights. SEFR_NOT_READY: not solved yet. */
sefr_status sefr_correct(sefr_model *model, const uint8_t *record, uint8_t label);

/* The same calls for records (and labels) in the flash of an AVR (PROGMEM). */
#ifdef __AVR__
#define sefr_learn_P SEFR_NAME(learn_P)
#define sefr_learn_batch_P SEFR_NAME(learn_batch_P)
#define sefr_classify_P SEFR_NAME(classify_P)
sefr_status sefr_learn_P(sefr_model *model, const uint8_t *record, uint8_t label);
sefr_status sefr_learn_batch_P(sefr_model *model, const uint8_t *rows, const uint8_t *labels, sefr_index records);
sefr_status sefr_classify_P(const sefr_model *model, const uint8_t *record, uint8_t *label);
#else
#define sefr_learn_P sefr_learn
#define sefr_learn_batch_P sefr_learn_batch
#define sefr_classify_P sefr_classify
#endif

/* A state is all that a model learned (not its weights: solve again after restore), little endian:
 *   0  'S' 'E' 'F' 'R'      4  version (1)     5  bits of a sum (16, 32)   6  classes   7  1 with ranges, else 0
 *   8  features, uint32    12  sequence number, uint32                    16  counts, uint32 each
 *   then sums (class by class), then low and high of each feature (with ranges), then the CRC-32 (IEEE 802.3, as
 *   zlib's) of all before it, uint32. */
#define SEFR_STATE_VERSION 1
#define SEFR_STATE_BYTES(features, classes, with_ranges)                                                            \
    ((uint32_t)(20U + 4U * (uint32_t)(classes) + (uint32_t)(features) * (classes) * sizeof(sefr_sum) +              \
                ((with_ranges) ? 2U * (uint32_t)(features) : 0U)))
uint32_t sefr_state_bytes(const sefr_model *model);

/* Writes the state, byte after byte, to a serial line or a radio; sefr.device.read_state reads it. */
sefr_status sefr_send(const sefr_model *model, sefr_writer put, void *context);

/* Saves to one of two slots (at 0 and at state_bytes), the one that does not hold the newest state. Its first byte
 * is cleared first and written last, after reading back all others: power lost at any write leaves the old state
 * or the new one. */
sefr_status sefr_save(const sefr_model *model, const sefr_storage *storage);
/* Takes the newest good state of the slots. A storage of one state's size is read as a single slot. Everything is
 * checked before the model is touched. */
sefr_status sefr_restore(sefr_model *model, const sefr_storage *storage);

/* A known range: maps a sensor's value to a byte, floor(255 (value - low) / (high - low) + 1/2), 0 below low (and
 * where high <= low), 255 above high. high - low must be below 2^24. */
#define sefr_byte SEFR_NAME(byte)
uint8_t sefr_byte(int32_t value, int32_t low, int32_t high);

#ifdef __cplusplus
}
#endif

#endif
