#include "refine/loss.h"

#include <math.h>
#include <string.h>

#include "common/dtype.h"

/* The loops below choose by comparing and become vectors only where a comparison cannot trap. None of them sums
   conditionally: see meson.build for what gcc 12 makes of that. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "refine/fast_math.h" /* after it: functions of other options are not inlined */

CLONES static double logistic_loss(const struct scored_rows *rows, float *restrict residual, double *sums) {
    const double *restrict score = rows->score, *restrict weight = rows->weight;
    const int32_t *restrict code = rows->code;
    double loss = 0.0, sum = 0.0;
    double losses[64], residuals[64];
    for (ptrdiff_t first = 0; first < rows->n; first += 64) {
        const ptrdiff_t n = rows->n - first < 64 ? rows->n - first : 64;
        for (ptrdiff_t i = 0; i < n; i++) {
            const double z = score[first + i], truth = code[first + i] > 0 ? 1.0 : 0.0;
            const double size = z < 0.0 ? -z : z, e = fast_exp(-size), one = 1.0 / (1.0 + e);
            const double other = e * one, probability = z < 0.0 ? other : one;
            const double wrong = size - z * (2.0 * truth - 1.0); /* 0 or 2 size */
            losses[i] = weight[first + i] * (fast_log1p(e) + 0.5 * wrong);
            residuals[i] = weight[first + i] * (probability - truth);
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            loss += losses[i];
            sum += residuals[i];
            residual[first + i] = (float)residuals[i];
        }
    }
    sums[0] += sum;
    return loss;
}

/* a * b + c rounded once, which -ffp-contract=fast makes of it where the processor can. WebAssembly cannot: there
   float64 holds the product of two floats exactly, and the bits are the same but for one sum in 2**29 or so. */
#ifdef SEFR_FUSED_BY_HAND
#define FUSED(a, b, c) ((float)((double)(a) * (double)(b) + (double)(c)))
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif

/* fast_exp in float32 for probabilities that end there; relative error below 2e-7. */
static inline float faster_exp(float x) {
    const float shifter = 12582912.0f; /* 1.5 * 2**23 */
    x = x < -87.0f ? -87.0f : x;
    const float shifted = FUSED(x, 1.44269504f, shifter);
    const float n = shifted - shifter;
    const float r = FUSED(-n, 1.42860677e-6f, FUSED(-n, 0.693145752f, x));
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    float power, p = 1.0f / 720.0f;
    memcpy(&power, &bits, sizeof power);
    p = FUSED(p, r, 1.0f / 120.0f);
    p = FUSED(p, r, 1.0f / 24.0f);
    p = FUSED(p, r, 1.0f / 6.0f);
    p = FUSED(p, r, 0.5f);
    p = FUSED(p, r, 1.0f);
    p = FUSED(p, r, 1.0f);
    return p * power;
}

CLONES static double softmax_loss(const struct scored_rows *rows, float *restrict residual, double *restrict sums) {
    const ptrdiff_t width = rows->width, n_scores = rows->n_scores;
    double loss = 0.0, highest[64];
    float total[64];
    for (ptrdiff_t first = 0; first < rows->n; first += 64) {
        const ptrdiff_t n = rows->n - first < 64 ? rows->n - first : 64;
        const double *restrict z = rows->score + first, *restrict weight = rows->weight + first;
        const int32_t *restrict code = rows->code + first;
        float *restrict e = residual + first;
        for (ptrdiff_t i = 0; i < n; i++) highest[i] = z[i], total[i] = 0.0f;
        for (ptrdiff_t k = 1; k < n_scores; k++) {
            for (ptrdiff_t i = 0; i < n; i++)
                highest[i] = z[k * width + i] > highest[i] ? z[k * width + i] : highest[i];
        }
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            for (ptrdiff_t i = 0; i < n; i++) {
                const float value = faster_exp((float)(z[k * width + i] - highest[i]));
                e[k * width + i] = value;
                total[i] += value;
            }
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            if (code[i] >= 0) loss += weight[i] * (log((double)total[i]) + highest[i] - z[code[i] * width + i]);
            total[i] = (float)weight[i] / total[i];
        }
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            for (ptrdiff_t i = 0; i < n; i++) e[k * width + i] *= total[i];
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            if (code[i] >= 0) e[code[i] * width + i] -= (float)weight[i];
        }
        for (ptrdiff_t k = 0; k < n_scores; k++) {
            double part[4] = {0.0};
            ptrdiff_t i = 0;
            for (; i + 4 <= n; i += 4) {
                for (int u = 0; u < 4; u++) part[u] += (double)e[k * width + i + u];
            }
            for (; i < n; i++) part[0] += (double)e[k * width + i];
            sums[k] += (part[0] + part[2]) + (part[1] + part[3]);
        }
    }
    return loss;
}

CLONES static double squared_loss(const struct scored_rows *rows, float *restrict residual, double *sums) {
    const double *restrict weight = rows->weight;
    double loss = 0.0;
    for (ptrdiff_t k = 0; k < rows->n_scores; k++) {
        const double *restrict score = rows->score + k * rows->width, *restrict target = rows->target + k * rows->width;
        float *restrict to = residual + k * rows->width;
        double sum = 0.0;
        for (ptrdiff_t i = 0; i < rows->n; i++) {
            const double left = score[i] - target[i], weighted = weight[i] * left;
            loss += 0.5 * weighted * left;
            sum += weighted;
            to[i] = (float)weighted;
        }
        sums[k] += sum;
    }
    return loss;
}

double sefr_loss(const struct scored_rows *rows, float *residual, double *sums) {
    switch (rows->loss) {
    case LOGISTIC: return logistic_loss(rows, residual, sums);
    case SOFTMAX: return softmax_loss(rows, residual, sums);
    default: return squared_loss(rows, residual, sums);
    }
}
