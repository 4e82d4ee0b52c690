/* What is normal, learned on the board: one class only. A record is scored by how many standard deviations its values lie
 * from the means of the normal records; what scores above a threshold is flagged. Integers only; the same bits as
 * sefr.device.Normal.
 *
 *     #include <sefr_normal.h>
 *     SEFR_NORMAL(normal, 20)                          // 20 features: 203 bytes of RAM on AVR
 *     sefr_normal_reset(&normal);
 *     sefr_normal_learn(&normal, record);              // many times, while all is well
 *     sefr_normal_solve(&normal);
 *     sefr_normal_watch(&normal, record);              // 99 more normal records: about one false alarm in a hundred
 *     if (sefr_normal_check(&normal, record) == SEFR_UNKNOWN) ...
 *
 * Definition, with n records, S[j] the sum and Q[j] the sum of squares of feature j; / rounds down:
 *   V = max(n Q - S^2, n^2 / 4)                        n^2 times the variance; a deviation is at least half a step
 *   mean = (S + n / 2) / n
 *   scale = 65536 n / isqrt(256 V) where V < 2^24, else 4096 n / isqrt(V)     4096 over the deviation; below 2^14
 *   z = min(255, |x - mean| scale / 256)               sixteenths of a deviation
 *   score = sum over j of z^2                          at most 65025 * 32767 < 2^31; near 256 per feature for the normal
 *   A record is normal where score <= threshold.
 *
 * The threshold is the rate of false alarms. Let the board watch C normal records that it did not learn: it takes the
 * highest of their scores, and the next normal record lies above with a probability of at most 1 / (C + 1). Or choose it
 * on a computer (Normal.choose).
 *
 * A state holds all of it, little endian; Normal.from_state reads it:
 *   0  'S' 'E' 'F' 'N'      4  version (1)     5  1: solved     6  half_life, uint16     8  features, uint32
 *  12  sequence number, uint32     16  id, uint32     20  threshold, uint32     24  count, uint32
 *  28  sums, uint16 each, then squares, uint32 each, then the CRC-32 of all before it, uint32. */
#ifndef SEFR_NORMAL_H
#define SEFR_NORMAL_H

#include "sefr.h"

/* n^2 Q <= 256 * 256 * 65025 < 2^32. */
#define SEFR_NORMAL_RECORDS 256U

/* Use SEFR_NORMAL to lay it out; all arrays belong to the caller. */
typedef struct {
    sefr_index features;
    uint16_t count;     /* records learned; halved with the sums when 2 half_life is reached, which forgets slowly */
    uint16_t half_life; /* 1 .. 128; the largest is the default */
    uint8_t solved;
    uint32_t threshold; /* 0 after reset; solving leaves it as it is */
    uint16_t *sums;     /* features of each */
    uint32_t *squares;
    uint8_t *means;
    uint16_t *scales;
#ifndef SEFR_NO_STATE
    uint32_t id; /* of what the features mean; a state of another id is refused. Default 0 */
#endif
} sefr_normal;

#define SEFR_NORMAL_BYTES(features) ((uint32_t)(features) * 9U + sizeof(sefr_normal))
/* At file scope. "size of array ..._does_not_fit is negative": as for SEFR_MODEL. */
#define SEFR_NORMAL(name, features)                                                                                 \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_NORMAL_BYTES(features), features, 2) ? 1 : -1];                 \
    static uint16_t name##_sums[features];                                                                          \
    static uint32_t name##_squares[features];                                                                       \
    static uint8_t name##_means[features];                                                                          \
    static uint16_t name##_scales[features];                                                                        \
    static sefr_normal name = {features, 0, SEFR_NORMAL_RECORDS / 2, 0, 0, name##_sums, name##_squares, name##_means,   \
                               name##_scales, SEFR_ID_};

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets everything. SEFR_BAD_SHAPE: features or half_life beyond the limits. */
sefr_status sefr_normal_reset(sefr_normal *normal);
/* Adds one normal record. SEFR_BAD_SHAPE: as for reset. */
sefr_status sefr_normal_learn(sefr_normal *normal, const uint8_t *record);
/* Computes means and scales. SEFR_NOT_READY: fewer than two records. */
sefr_status sefr_normal_solve(sefr_normal *normal);
/* Raises the threshold to the score of a normal record. SEFR_NOT_READY: not solved. */
sefr_status sefr_normal_watch(sefr_normal *normal, const uint8_t *record);
/* SEFR_OK: normal; SEFR_UNKNOWN: not; SEFR_NOT_READY: not solved. */
sefr_status sefr_normal_check(const sefr_normal *normal, const uint8_t *record);
/* Writes the score of a record. SEFR_NOT_READY: not solved. */
sefr_status sefr_normal_score(const sefr_normal *normal, const uint8_t *record, uint32_t *score);

#ifndef SEFR_NO_STATE
#define SEFR_NORMAL_STATE_BYTES(features) (32U + 6U * (uint32_t)(features))
/* Writes the state, byte after byte, to a serial line or a radio. SEFR_BAD_SHAPE: as for reset. SEFR_IO: put failed. */
sefr_status sefr_normal_send(const sefr_normal *normal, sefr_writer put, void *context);
/* Saves and restores as sefr_save and sefr_restore do (sefr_state.h), with wear levelling, and safe when power is lost; the
 * storage is of this model alone. A solved model is solved once more before it is saved, so that it answers the same before
 * and after. half_life stays as the program has it. */
sefr_status sefr_normal_save(sefr_normal *normal, const sefr_storage *storage);
#ifndef SEFR_NO_STEPS
/* As sefr_save_begin and sefr_save_step. */
sefr_status sefr_normal_save_begin(sefr_normal *normal, const sefr_storage *storage, sefr_saving *saving);
sefr_status sefr_normal_save_step(const sefr_normal *normal, sefr_saving *saving);
#endif
sefr_status sefr_normal_restore(sefr_normal *normal, const sefr_storage *storage);
#endif

#ifdef __cplusplus
}
#endif

#endif
