/* Sums of products of m features: Q[0][0], Q[1][0], Q[1][1], Q[2][0] ..; the other half is the same. */
#ifndef SEFR_TRIANGLE_H
#define SEFR_TRIANGLE_H

#include <stdint.h>

#define SEFR_TRIANGLE(m) ((uint32_t)(m) * ((m) + 1U) / 2U)

#endif
