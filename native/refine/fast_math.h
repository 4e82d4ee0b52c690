/* Functions that loops over them become vectors. */
#ifndef SEFR_FAST_MATH_H
#define SEFR_FAST_MATH_H

#include <stdint.h>
#include <string.h>

/* exp(x) for x <= 0 without a branch, so that loops over it become vectors; relative error below 1e-15.
   Below -700 it is exp(-700), about 1e-304: no weight makes that count. */
static inline double fast_exp(double x) {
    const double shifter = 6755399441055744.0; /* 1.5 * 2**52: adding it rounds to an integer in the low bits */
    x = x < -700.0 ? -700.0 : x;
    const double shifted = x * 1.4426950408889634 + shifter;
    const double n = shifted - shifter;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    /* two chains: each step of one would wait for the one before */
    const double square = r * r;
    double even = 1.0 / 479001600.0, odd = 1.0 / 39916800.0;
    even = even * square + 1.0 / 3628800.0;
    odd = odd * square + 1.0 / 362880.0;
    even = even * square + 1.0 / 40320.0;
    odd = odd * square + 1.0 / 5040.0;
    even = even * square + 1.0 / 720.0;
    odd = odd * square + 1.0 / 120.0;
    even = even * square + 1.0 / 24.0;
    odd = odd * square + 1.0 / 6.0;
    even = even * square + 0.5;
    odd = odd * square + 1.0;
    even = even * square + 1.0;
    const double p = odd * r + even;
    return p * power;
}

/* log(1 + e) for 0 <= e <= 1 as 2 atanh(e / (2 + e)); the argument is at most 1/3, so 16 terms leave 1e-16. */
static inline double fast_log1p(double e) {
    const double s = e / (2.0 + e), q = s * s;
    const double square = q * q;
    double even = 1.0 / 29.0, odd = 1.0 / 31.0;
    for (int n = 25; n >= 1; n -= 4) {
        even = even * square + 1.0 / n;
        odd = odd * square + 1.0 / (n + 2);
    }
    const double p = odd * q + even;
    return 2.0 * s * p;
}

/* log(x) for finite x >= 1: that of the mantissa, and so many times log(2). NaN stays NaN. */
static inline double fast_log(double x) {
    const double power = 4503599627370496.0; /* 2**52, whose low bits take an integer */
    uint64_t bits, whole;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&whole, &power, sizeof whole);
    whole |= bits >> 52;
    bits = (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL;
    double mantissa, exponent;
    memcpy(&mantissa, &bits, sizeof mantissa);
    memcpy(&exponent, &whole, sizeof exponent);
    return (exponent - power - 1023.0) * 0.6931471805599453 + (fast_log1p(mantissa - 1.0) + (x - x));
}

#endif
