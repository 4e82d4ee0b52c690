/* Signals: windows of samples as bytes, counts of shapes and statistics, in integers. The same bits as
 * sefr.signals.SignalFeatures. The work is spread over the samples, so that none of them waits long.
 *
 *     static const uint8_t dilations[] = {1, 7};
 *     static const int16_t ranges[][2] = {{0, 1023}};          // of each axis: the ends of the sensor
 *     SEFR_SIGNAL(signal, 1, 64, 32, dilations, 84, 1, 8, ranges)   // 1 axis, windows of 64, one every 32
 *     sefr_signal_reset(&signal);
 *     if (sefr_signal_add(&signal, sample)) sefr_classify(&model, signal.record, &label);   // sample: 1 value
 *
 * Definition, for the samples x[0] (oldest) .. x[N-1] of one axis; / rounds down, and beyond the ends x repeats:
 *   u[p] = (x[p] - lowest x) / 2^s, with the least s for which u <= 2047
 *   A kernel has nine taps, d samples apart; three of them, i < j < l of 0 .. 8, weigh 2, the others -1:
 *     c[p] = 3 (v[i] + v[j] + v[l]) - (v[0] + ... + v[8]),  v[i] = u[p + (i - 4) d]
 *   spread = max(1, sum of |u[p] - u[p-d]| for p = d .. N-1, / (N - d))
 *   count = how many c[p] > t spread / 8;  feature = (count (255 2^16 / N) + 2^15) / 2^16
 *   Kernels are numbered 0 .. 83 in the order of (i, j, l). Axis a and dilation number b, of D, are group
 *   g = a D + b, and use kernels g mod S, + S, + 2 S, ... with S = 84 / kernels. Every kernel has `thresholds` counts. The
 *   f-th count of all, from 0, has t = LAPLACE[((f + 1) 40503 mod 2^16) / 2^11]: see sefr_signal.c.
 *   After the counts of all axes come their statistics, each a byte:
 *     level(v) = 0 if v <= low, 255 if v >= high, else (255 (v - low) + (high - low) / 2) / (high - low)
 *     log(v) = 8 e + (8 (v + 1) / 2^e) - 8, with 2^e <= v + 1 < 2^(e+1)
 *     mean: level(sum x / N), lowest: level(min x), highest: level(max x), range: log(16 (max x - min x)),
 *     roughness: log(16 sum |x[p] - x[p-1]| / (N - 1)), deviation: log(16 sum |x[p] - (sum x / N)| / N)
 *   and of each of `segments` parts, samples k N / segments to (k + 1) N / segments - 1, n of them:
 *     level(sum x / n), shape: (sum u / n) / 8, roughness: log(16 sum |x[p] - x[p-1]| / (n - 1)) within it. */
#ifndef SEFR_SIGNAL_H
#define SEFR_SIGNAL_H

#include <stdint.h>

#define SEFR_SIGNAL_KERNELS 84
/* A count is a byte until it becomes a feature. */
#define SEFR_SIGNAL_LONGEST 255
#define SEFR_SIGNAL_WHOLE 6
#define SEFR_SIGNAL_PER_SEGMENT 3
#define SEFR_SIGNAL_STATISTICS(segments) \
    ((segments) ? SEFR_SIGNAL_WHOLE + SEFR_SIGNAL_PER_SEGMENT * (segments) : 0)
/* Bytes of a record; dilations is their number. */
#define SEFR_SIGNAL_FEATURES(axes, dilations, kernels, thresholds, segments) \
    ((axes) * ((dilations) * (kernels) * (thresholds) + SEFR_SIGNAL_STATISTICS(segments)))

/* Use SEFR_SIGNAL to lay it out; the memory belongs to the caller. */
typedef struct {
    int16_t *samples;         /* length x axes: the oldest at `at` once it is full */
    int16_t *window;          /* axes x length: the window at work */
    int16_t *bounds;          /* kernels x thresholds: of the group at work */
    uint8_t *record;          /* the features, complete when sefr_signal_add says so, until the next call */
    const uint8_t *dilations; /* each 1 .. length - 1 */
    const int16_t (*ranges)[2];
    uint8_t length, axes, n_dilations, kernels, thresholds;
    uint8_t segments; /* 0: no statistics; else at most length / 2 */
    uint16_t hop;     /* samples between windows, 1 or more */
    uint16_t missing; /* samples until the next window; 0: not sound */
    uint8_t at;
    uint8_t axis, dilation, position; /* of the work; axis == axes: none */
    uint8_t normal;                   /* the axis at work is normalised */
    uint16_t quota;                   /* positions per sample */
    uint16_t clipped;                 /* samples of the window at an end of their range or beyond: a saturated sensor */
} sefr_signal;

/* At file scope; dilations and ranges are arrays. RAM in bytes: 4 axes length + 2 kernels thresholds + the record + the
 * struct, 31 on AVR and 44 with pointers of 32 bits. "size of array ..._is_no_signal is negative" means: beyond the limits above. */
#define SEFR_SIGNAL(name, axes, length, hop, dilations, kernels, thresholds, segments, ranges)                      \
    typedef char name##_is_no_signal[(axes) >= 1 && (axes) <= 254 && (length) >= 2 &&                               \
                                             (length) <= SEFR_SIGNAL_LONGEST && (hop) >= 1 && (hop) <= 65535L &&    \
                                             (kernels) >= 1 && SEFR_SIGNAL_KERNELS % (kernels) == 0 &&              \
                                             (thresholds) >= 1 && (thresholds) <= 255 && (segments) >= 0 &&         \
                                             (segments) <= (length) / 2 && sizeof(ranges) == 4 * (axes)             \
                                         ? 1                                                                        \
                                         : -1];                                                                     \
    static int16_t name##_samples[(length) * (axes)];                                                               \
    static int16_t name##_window[(length) * (axes)];                                                                \
    static int16_t name##_bounds[(kernels) * (thresholds)];                                                         \
    static uint8_t name##_record[SEFR_SIGNAL_FEATURES(axes, sizeof(dilations), kernels, thresholds, segments)];     \
    static sefr_signal name = {name##_samples, name##_window, name##_bounds, name##_record, dilations,              \
                               ranges,         length,        axes,          sizeof(dilations), kernels,            \
                               thresholds,     segments,      hop,           0,             0,                      \
                               axes,           0,             0,             0,             0,                      \
                               0};

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets all samples: at the start, and after a gap, which a window must not reach over. 0: dilations or ranges are
 * beyond their limits, and there will be no records. */
uint8_t sefr_signal_reset(sefr_signal *signal);
/* Adds a sample, a value of each axis, and does a share of the work. 1: signal.record is complete, that of the window
 * which ended hop - 1 samples ago; else 0. */
uint8_t sefr_signal_add(sefr_signal *signal, const int16_t *sample);
/* Does all that is left at once, if time is plenty. 1: signal.record is complete; 0: there was nothing to do. */
uint8_t sefr_signal_finish(sefr_signal *signal);

#ifdef __cplusplus
}
#endif

#endif
