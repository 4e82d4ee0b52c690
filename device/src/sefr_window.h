/* Windows over signals: seven features of each axis over the last `length` samples, in integers and constant memory. The
 * same bits as sefr.device.windows, so that training data and board agree.
 *
 *     SEFR_WINDOW(window, 3, 64, 32)                            // 3 axes, 64 samples, a result every 32: 396 bytes of RAM
 *     int32_t features[SEFR_WINDOW_FEATURES(3)];
 *     if (sefr_window_add(&window, sample)) sefr_window_features(&window, features);   // sample: 3 values
 *
 * Definition, for the samples x[0] (oldest) .. x[N-1] of one axis; / rounds down:
 *   0 mean       sum x / N
 *   1 variance   (N sum x^2 - (sum x)^2) / N^2
 *   2 minimum    3 maximum
 *   4 crossings  how many x[i] lie on the other side of the mean (x >= mean or not) than x[i-1]: zero crossings of a
 *                signal that has an offset, as gravity is one
 *   5 energy     sum x^2 / N
 *   6 difference sum |x[i] - x[i-1]| / (N - 1)
 * Axis by axis: features[7 axis + which]. */
#ifndef SEFR_WINDOW_H
#define SEFR_WINDOW_H

#include <stdint.h>

#define SEFR_WINDOW_EACH 7
#define SEFR_WINDOW_FEATURES(axes) (SEFR_WINDOW_EACH * (axes))
/* N sum x^2 <= 1024^2 2^30 = 2^50. */
#define SEFR_WINDOW_LONGEST 1024U

/* Use SEFR_WINDOW to lay it out; the samples belong to the caller. */
typedef struct {
    int16_t *samples; /* length x axes, the oldest at `at` once it is full */
    uint16_t length;  /* 2 .. SEFR_WINDOW_LONGEST */
    uint16_t hop;     /* samples between results, 1 or more */
    uint8_t axes;
    uint16_t at;
    uint16_t missing; /* samples until the next result */
} sefr_window;

/* At file scope. "size of array ..._is_no_window is negative" means: beyond the limits above. */
#define SEFR_WINDOW(name, axes, length, hop)                                                                        \
    typedef char name##_is_no_window[(axes) >= 1 && (axes) <= 255 && (length) >= 2 &&                               \
                                             (length) <= SEFR_WINDOW_LONGEST && (hop) >= 1 && (hop) <= 65535L       \
                                         ? 1                                                                        \
                                         : -1];                                                                     \
    static int16_t name##_samples[(length) * (axes)];                                                               \
    static sefr_window name = {name##_samples, length, hop, axes, 0, length};

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets all samples. */
void sefr_window_reset(sefr_window *window);
/* Adds a sample, a value of each axis. 1: a result is due (the window is full, and a hop has passed); else 0. */
uint8_t sefr_window_add(sefr_window *window, const int16_t *sample);
/* Computes the features of the full window: on AVR at most 155 cycles per sample and axis, and 5500 per axis. Three axes of
 * 64 samples take an Uno 2.7 ms, six of 100 take 7.3 ms: longer than that from one sample to the next, or it is late. */
void sefr_window_features(const sefr_window *window, int32_t *features);

#ifdef __cplusplus
}
#endif

#endif
