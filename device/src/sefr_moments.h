/* Classes by second moments: beside the sums of each class, the sums of products of features. They give the linear
 * discriminant, which knows how features vary together; still sums, which add, are taken back and are halved. Integers
 * only; the same bits as sefr.device.Moments.
 *
 *     #include <sefr_moments.h>
 *     SEFR_MOMENTS(model, 16, 2)                       // 16 features, 2 classes: 0.9 KB of RAM
 *     sefr_moments_reset(&model);
 *     sefr_moments_learn(&model, record, label);       // record: 16 bytes; label: 0 or 1
 *     sefr_moments_solve(&model);
 *     sefr_moments_classify(&model, record, &label);
 *
 * sefr.h takes a hundredth of the RAM and of the time for many features; this is more accurate where features go together.
 *
 * Definition, with n[c] records of class c, n in all; S[c][j] sum of x[j] in class c, S[j] in all; Q[i][j] sum of x[i] x[j];
 * >> and / round down, nearest(a / d) = floor(a / d + 1/2):
 *   W[i][j] = (Q[i][j] - sum over c of S[c][i] S[c][j] / n[c]) >> t        the scatter within classes
 *   b[c][j] = ((n S[c][j] - n[c] S[j]) / n[c]) >> t                        n times the mean of c less that of all
 *   t is the least that makes every W[j][j] < 2^31.
 *   w[c] = 0; then in up to 30 rounds, for each j in turn (Gauss-Seidel, with a ridge; half a step of noise in a value):
 *     w[c][j] = nearest((32768 b[c][j] - sum over i != j of W[j][i] w[c][i]) / (W[j][j] + (W[j][j] >> 4) + (n >> t + 2) + 1)),
 *     within 2^25, until a round changes nothing.
 *   k is the least that makes every weight v[c][j] = nearest(w[c][j] / 2^k), of all classes, fit 16 bits.
 *   bias[c] = -((sum of v[c][j] S[c][j] / n[c] + sum of v[c][j] S[j] / n) >> 1)
 *   score[c] = sum of v[c][j] x[j] + bias[c]; the answer is the highest, the lowest class on a tie. Classes count alike,
 *   however many records they have; one without records has the lowest number of 32 bits as its bias.
 * Halving: with 2 half_life records in all and one more, everything is halved first: n' of class c = ceil(n[c] / 2), its
 * sums by n' / n[c], the products by the new n over the old.
 *
 * SEFR_MOMENT_BITS: 32 (default; 65,535 records) or 64 (8,388,607 records, 4 bytes more per product).
 * Limits, 64 bits: Q < 2^23 * 2^16, S[c][i] S[c][j] < 2^62, n S < 2^54; W >> t < 2^31, so a round stays within
 * 120 * 2^56 + 2^57 < 2^63.
 *
 * A state holds all of it, little endian; Moments.from_state reads it:
 *   0  'S' 'E' 'F' 'M'      4  version (1)     5  bits of a product (32, 64)     6  classes     7  1: solved
 *   8  features, uint32    12  sequence number, uint32     16  id, uint32     20  half_life, uint32
 *  24  n of each class, uint32, then S class by class, uint32, then Q[0][0], Q[1][0], Q[1][1], Q[2][0] .., then the CRC-32
 *      of all before it, uint32. */
#ifndef SEFR_MOMENTS_H
#define SEFR_MOMENTS_H

#include "sefr.h"
#include "sefr_triangle.h"

#ifndef SEFR_MOMENT_BITS
#define SEFR_MOMENT_BITS 32
#endif
#if SEFR_MOMENT_BITS == 32
typedef uint32_t sefr_moment;
#define SEFR_MOMENT_RECORDS 65535UL
#elif SEFR_MOMENT_BITS == 64
typedef uint64_t sefr_moment;
#define SEFR_MOMENT_RECORDS 8388607UL
#else
#error "SEFR_MOMENT_BITS must be 32 or 64"
#endif
#define SEFR_MOMENT_FEATURES 120U
#define SEFR_MOMENT_CLASSES 254U

/* Use SEFR_MOMENTS to lay it out; all arrays belong to the caller. */
typedef struct {
    uint8_t features;
    uint8_t classes;
    uint8_t solved;
    uint8_t bits;       /* SEFR_MOMENT_BITS */
    uint32_t half_life; /* 1 .. SEFR_MOMENT_RECORDS / 2; the largest is the default */
    uint32_t *counts;   /* classes */
    uint32_t *sums;     /* classes x features, row-major */
    sefr_moment *squares; /* features (features + 1) / 2; sefr_moments_solve changes them and changes them back */
    int32_t *work;      /* features */
    int16_t *weights;   /* classes x features */
    int32_t *bias;      /* classes */
#ifndef SEFR_NO_STATE
    uint32_t id; /* of what the features and classes mean; a state of another id is refused. Default 0 */
#endif
} sefr_moments;

#define SEFR_MOMENTS_BYTES(features, classes)                                                                       \
    (sizeof(sefr_moment) * SEFR_TRIANGLE(features) + (uint32_t)(features) * (6UL * (classes) + 4U) +               \
     8UL * (classes) + sizeof(sefr_moments))
/* At file scope. "size of array ..._does_not_fit is negative": too large for the RAM, or beyond the limits. */
#define SEFR_MOMENTS(name, features, classes)                                                                       \
    typedef char name##_does_not_fit[SEFR_MOMENTS_BYTES(features, classes) + SEFR_STACK_BYTES <= SEFR_RAM_BYTES &&  \
                                             (features) >= 1 && (features) <= SEFR_MOMENT_FEATURES &&               \
                                             (classes) >= 2 && (classes) <= SEFR_MOMENT_CLASSES                     \
                                         ? 1                                                                        \
                                         : -1];                                                                     \
    static uint32_t name##_counts[classes];                                                                         \
    static uint32_t name##_sums[(classes) * (uint32_t)(features)];                                                  \
    static sefr_moment name##_squares[SEFR_TRIANGLE(features)];                                                    \
    static int32_t name##_work[features];                                                                           \
    static int16_t name##_weights[(classes) * (uint32_t)(features)];                                                \
    static int32_t name##_bias[classes];                                                                            \
    static sefr_moments name = {features,    classes,        0,           SEFR_MOMENT_BITS, SEFR_MOMENT_RECORDS / 2, \
                                name##_counts, name##_sums, name##_squares, name##_work, name##_weights, name##_bias, \
                                SEFR_ID_};

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets everything. SEFR_BAD_SHAPE: beyond the limits; SEFR_BAD_SETTINGS: compiled with another SEFR_MOMENT_BITS. */
sefr_status sefr_moments_reset(sefr_moments *model);
/* Adds one record. */
sefr_status sefr_moments_learn(sefr_moments *model, const uint8_t *record, uint8_t label);
/* Takes one record back, exactly, if nothing was halved since. SEFR_NEVER_LEARNED: the sums cannot contain it. */
sefr_status sefr_moments_forget(sefr_moments *model, const uint8_t *record, uint8_t label);
/* Halves everything: what was learned so far counts half beside what comes. */
sefr_status sefr_moments_decay(sefr_moments *model);
/* Adds all that `other` learned. SEFR_BAD_SHAPE, SEFR_OTHER_MODEL, SEFR_FULL: as for sefr_merge. */
sefr_status sefr_moments_merge(sefr_moments *model, const sefr_moments *other);
/* Computes weights and bias. SEFR_NOT_READY: fewer than two classes have records. */
sefr_status sefr_moments_solve(sefr_moments *model);
/* Writes the class of a record. SEFR_NOT_READY: not solved. Learning does not change answers until solved again. */
sefr_status sefr_moments_classify(const sefr_moments *model, const uint8_t *record, uint8_t *label);
/* Writes the score of each class. */
sefr_status sefr_moments_scores(const sefr_moments *model, const uint8_t *record, int32_t *scores);

#ifndef SEFR_NO_STATE
#define SEFR_MOMENTS_STATE_BYTES(features, classes)                                                                 \
    (28U + 4U * (uint32_t)(classes) + 4U * (uint32_t)(classes) * (features) +                                       \
     SEFR_MOMENT_BITS / 8U * SEFR_TRIANGLE(features))
/* As sefr_send, sefr_save and sefr_restore; a model that was solved is so after restore. */
sefr_status sefr_moments_send(const sefr_moments *model, sefr_writer put, void *context);
sefr_status sefr_moments_save(const sefr_moments *model, const sefr_storage *storage);
#ifndef SEFR_NO_STEPS
/* As sefr_save_begin and sefr_save_step. */
sefr_status sefr_moments_save_begin(const sefr_moments *model, const sefr_storage *storage, sefr_saving *saving);
sefr_status sefr_moments_save_step(const sefr_moments *model, sefr_saving *saving);
#endif
sefr_status sefr_moments_restore(sefr_moments *model, const sefr_storage *storage);
#endif

#ifdef __cplusplus
}
#endif

#endif
