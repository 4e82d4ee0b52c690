/* Numbers learned on the board: least squares. A record of bytes and a number y are added to sums; from the sums come the
 * weights of a line that answers y for the next record: a sensor that calibrates itself against a reference. Integers
 * only; the same bits as sefr.device.Regression.
 *
 *     #include <sefr_regress.h>
 *     SEFR_REGRESS(model, 6)                           // 6 inputs: 203 bytes of RAM on AVR
 *     sefr_regress_reset(&model);
 *     sefr_regress_learn(&model, record, 2150);        // record: 6 bytes; y: 21.50 degrees in hundredths
 *     sefr_regress_solve(&model);
 *     sefr_regress_answer(&model, record, &y);         // in the unit that was learned, rounded to the nearest
 *
 * y is a whole number of 16 bits in a unit of your choice: hundredths of a degree, parts per billion, grams. A curve is
 * learned by several inputs per sensor (sefr_regress_hats): each is high near its own part of the range.
 *
 * Definition, with n records, m inputs; S[j] sum of x[j], Q[i][j] sum of x[i] x[j], T sum of y, P[j] sum of x[j] y;
 * >> and / round down, nearest(a / d) = floor(a / d + 1/2):
 *   A[i][j] = (n Q[i][j] - S[i] S[j]) >> t,  b[j] = (n P[j] - S[j] T) >> t,  t the least that makes every A[j][j] < 2^31
 *   w = 0; then in up to 30 rounds, for each j in turn with A[j][j] > 0 (Gauss-Seidel, a ridge of a 1024th):
 *     w[j] = nearest((1024 b[j] - sum over k != j of A[j][k] w[k]) / (A[j][j] + (A[j][j] >> 10) + 1)), within 2^25
 *   until a round changes nothing. k is the least that makes every weight v[j] = nearest(w[j] / 2^k) fit 16 bits:
 *   bias = (((1024 T) >> k) - sum of v[j] S[j]) / n
 *   answer = nearest((sum of v[j] x[j] + bias) / 2^(10 - k)), within 16 bits
 * Halving: with 2 half_life records and one more, everything is halved first, by n' = ceil(n / 2), sum' = sum n' / n: what
 * is older counts less and less.
 *
 * Limits: n <= 65,535, so Q <= 65535 * 255^2 < 2^32, |T| < 2^31, |P| <= 65535 * 255 * 32768 < 2^39; n Q < 2^48,
 * n P < 2^55. |b| <= 2^47 and |A| < 2^31 by Cauchy and Schwarz, so a round stays within 120 * 2^56 + 2^57 < 2^63.
 *
 * A state holds all of it, little endian; Regression.from_state reads it:
 *   0  'S' 'E' 'F' 'L'      4  version (1)     5  1: solved     6  half_life, uint16     8  inputs, uint32
 *  12  sequence number, uint32     16  id, uint32     20  n, uint32     24  T, int32
 *  28  S, uint32 each, then Q[0][0], Q[1][0], Q[1][1], Q[2][0] .., uint32 each, then P, 40 bits each, then the CRC-32 of
 *      all before it, uint32. */
#ifndef SEFR_REGRESS_H
#define SEFR_REGRESS_H

#include "sefr.h"
#include "sefr_triangle.h"

#define SEFR_REGRESS_RECORDS 65535U
#define SEFR_REGRESS_INPUTS 120U

/* A sum of 40 bits. */
typedef struct {
    uint32_t low;
    int8_t high;
} sefr_wide;

/* Use SEFR_REGRESS to lay it out; all arrays belong to the caller. */
typedef struct {
    uint8_t inputs;
    uint8_t solved;
    uint16_t count;      /* n; halved with the sums when 2 half_life is reached */
    uint16_t half_life;  /* 1 .. 32767; the largest is the default */
    int32_t total;       /* T */
    uint32_t *sums;      /* S: inputs */
    uint32_t *squares;   /* Q: inputs (inputs + 1) / 2 */
    sefr_wide *products; /* P: inputs */
    int32_t *work;       /* w: inputs */
    int16_t *weights;    /* v: inputs */
    int32_t bias;
    int8_t shift; /* 10 - k */
#ifndef SEFR_NO_STATE
    uint32_t id; /* of what the inputs and y mean; a state of another id is refused. Default 0 */
#endif
} sefr_regression;

#define SEFR_REGRESS_BYTES(inputs)                                                                                  \
    (4U * SEFR_TRIANGLE(inputs) + (uint32_t)(inputs) * (10U + sizeof(sefr_wide)) + sizeof(sefr_regression))
/* At file scope. "size of array ..._does_not_fit is negative": too large for the RAM, or more than SEFR_REGRESS_INPUTS. */
#define SEFR_REGRESS(name, inputs)                                                                                  \
    typedef char name##_does_not_fit[SEFR_FITS(SEFR_REGRESS_BYTES(inputs), inputs, 2) &&                            \
                                             (inputs) <= SEFR_REGRESS_INPUTS                                        \
                                         ? 1                                                                        \
                                         : -1];                                                                     \
    static uint32_t name##_sums[inputs];                                                                            \
    static uint32_t name##_squares[SEFR_TRIANGLE(inputs)];                                                          \
    static sefr_wide name##_products[inputs];                                                                       \
    static int32_t name##_work[inputs];                                                                             \
    static int16_t name##_weights[inputs];                                                                          \
    static sefr_regression name = {inputs,          0,           0,            SEFR_REGRESS_RECORDS / 2, 0,         \
                                   name##_sums,     name##_squares, name##_products, name##_work, name##_weights, 0, 0, \
                                   SEFR_ID_};

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets everything. SEFR_BAD_SHAPE: inputs or half_life beyond the limits. */
sefr_status sefr_regress_reset(sefr_regression *model);
/* Adds one record. */
sefr_status sefr_regress_learn(sefr_regression *model, const uint8_t *record, int16_t y);
/* Takes one record back, exactly, if nothing was halved since. SEFR_NEVER_LEARNED: the sums cannot contain it. */
sefr_status sefr_regress_forget(sefr_regression *model, const uint8_t *record, int16_t y);
/* Halves everything: what was learned so far counts half beside what comes. */
sefr_status sefr_regress_decay(sefr_regression *model);
/* Adds all that `other` learned. SEFR_BAD_SHAPE: other inputs; SEFR_OTHER_MODEL: another id; SEFR_FULL: too many records. */
sefr_status sefr_regress_merge(sefr_regression *model, const sefr_regression *other);
/* Computes weights and bias. SEFR_NOT_READY: fewer than two records. */
sefr_status sefr_regress_solve(sefr_regression *model);
/* Writes the answer for a record. SEFR_NOT_READY: not solved. Learning does not change answers until solved again. */
sefr_status sefr_regress_answer(const sefr_regression *model, const uint8_t *record, int16_t *y);

/* One sensor as `hats` inputs (2 .. 17), for a curve: value 0 .. 255 becomes bytes of which at most two are not 0. With
 * p = value (hats - 1), h = p / 255 and r = p - 255 h: hat h is 255 - r, and hat h + 1 is r. */
void sefr_regress_hats(uint8_t value, uint8_t hats, uint8_t *inputs);

#ifndef SEFR_NO_STATE
#define SEFR_REGRESS_STATE_BYTES(inputs) (32U + 9U * (uint32_t)(inputs) + 4U * SEFR_TRIANGLE(inputs))
/* As sefr_send, sefr_save and sefr_restore; a model that was solved is so after restore. */
sefr_status sefr_regress_send(const sefr_regression *model, sefr_writer put, void *context);
sefr_status sefr_regress_save(const sefr_regression *model, const sefr_storage *storage);
#ifndef SEFR_NO_STEPS
/* As sefr_save_begin and sefr_save_step. */
sefr_status sefr_regress_save_begin(const sefr_regression *model, const sefr_storage *storage, sefr_saving *saving);
sefr_status sefr_regress_save_step(const sefr_regression *model, sefr_saving *saving);
#endif
sefr_status sefr_regress_restore(sefr_regression *model, const sefr_storage *storage);
#endif

#ifdef __cplusplus
}
#endif

#endif
