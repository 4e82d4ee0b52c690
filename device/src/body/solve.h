/* Sums -> weights and bias, by the definition in sefr.h, exactly. */

#if SEFR_SUM_BITS == 16
typedef uint32_t sefr_wide; /* u + v, see SEFR_MAX_CLASSES */
#else
typedef uint64_t sefr_wide;
#endif
#if SEFR_SUM_BITS == 16 && SEFR_WEIGHT_BITS == 8
typedef int32_t sefr_product; /* a weight times the sums of up to CHUNK features, see chunk_of */
#else
typedef int64_t sefr_product;
#endif

/* floor(ONE r / d + 1/2) for r <= d: since ONE is all ones in binary, Horner's rule needs no product, only
 * 2 remainder + r < 3 d. */
static sefr_weight divide(sefr_wide r, sefr_wide d) {
    sefr_wide remainder = 0;
    uint16_t quotient = 0;
    uint8_t bit = SEFR_WEIGHT_BITS - 1;
    do {
        quotient = (uint16_t)(quotient << 1);
        remainder = (remainder << 1) + r;
        if (remainder >= d) {
            remainder -= d;
            quotient++;
            if (remainder >= d) {
                remainder -= d;
                quotient++;
            }
        }
    } while (--bit);
    if (remainder >= d - remainder) quotient++;
    return (sefr_weight)quotient;
}

/* The same in 64 bits where only d < 2^63 holds: nothing here exceeds d. */
static sefr_weight divide_long(uint64_t r, uint64_t d) {
    uint64_t remainder = 0;
    uint16_t quotient = 0;
    uint8_t bit;
    for (bit = 0; bit < SEFR_WEIGHT_BITS - 1; bit++) {
        quotient = (uint16_t)(quotient << 1);
        if (remainder >= d - remainder) {
            remainder -= d - remainder;
            quotient++;
        } else {
            remainder += remainder;
        }
        if (remainder >= d - r) {
            remainder -= d - r;
            quotient++;
        } else {
            remainder += r;
        }
    }
    if (remainder >= d - remainder) quotient++;
    return (sefr_weight)quotient;
}

/* The two sides of one classifier. With more than two classes the negative side is the rest: totals are computed
 * where needed, since keeping them would cost a row of RAM. */
typedef struct {
    const sefr_model *model;
    const sefr_sum *positive;
    uint8_t row;        /* the classifier: 0 (binary) or the class */
    uint8_t gap;        /* G, the smallest range above 0; 0 without ranges */
    uint32_t n_positive;
    uint32_t n_negative;
} sides;

static uint8_t smallest_gap(const sefr_model *model) {
    const uint8_t *low = model->ranges, *high = low + model->features;
    uint8_t gap = 255;
    sefr_index j;
    for (j = 0; j < model->features; j++) {
        if (high[j] > low[j] && high[j] - low[j] < gap) gap = (uint8_t)(high[j] - low[j]);
    }
    return gap;
}

static void choose_sides(sides *s, const sefr_model *model, uint8_t row) {
    uint8_t positive = model->classes == 2 ? 1 : row;
    s->model = model;
    s->positive = sums_of(model, positive);
    s->row = row;
    s->gap = model->ranges ? smallest_gap(model) : 0;
    s->n_positive = model->counts[positive];
    s->n_negative = model->classes == 2 ? model->counts[0] : total_count(model) - s->n_positive;
}

/* S[q][j]; at most 255 * 256 * 42 (16-bit sums) or 255 * 2^24: 32 bits hold it. */
static uint32_t negative_sum(const sides *s, sefr_index j) {
    const sefr_model *model = s->model;
    const sefr_sum *sum = model->sums + j;
    uint32_t rest = 0;
    uint8_t c;
    if (model->classes == 2) return *sum;
    for (c = 0; c < model->classes; c++, sum += model->features) {
        if (c != s->row) rest += *sum;
    }
    return rest;
}

static sefr_weight weigh_ranged(const sides *s, sefr_index j, uint32_t positive, uint32_t negative) {
    uint8_t low = s->model->ranges[j], high = s->model->ranges[s->model->features + j];
    uint64_t u = (uint64_t)positive * s->n_negative, v = (uint64_t)negative * s->n_positive;
    uint64_t floor_ = (uint64_t)s->n_positive * s->n_negative * 2U * low, d;
    sefr_weight weight;
    /* Sums that were halved may fall a little below low times their count: then d is not above |u - v|. */
    uint64_t r = u >= v ? u - v : v - u;
    if (high <= low || u + v <= floor_) return 0;
    d = u + v - floor_;
    if (r > d) r = d;
    weight = divide_long(r * s->gap, d * (uint8_t)(high - low));
    return (sefr_weight)(u >= v ? weight : -weight);
}

/* The weight of feature j. 16-bit sums: 16 x 16 -> 32 bit products for two classes, which AVR does in a few cycles. */
static sefr_weight weigh(const sides *s, sefr_index j, uint32_t positive, uint32_t negative) {
    sefr_wide u = (sefr_wide)positive * s->n_negative, v = (sefr_wide)negative * s->n_positive, r;
    sefr_weight weight;
    if (s->gap) return weigh_ranged(s, j, positive, negative);
    if (u == v) return 0;
    r = u > v ? u - v : v - u;
    weight = divide(r, u + v);
    return (sefr_weight)(u > v ? weight : -weight);
}

/* floor(theta) without the plain fraction, which would need more than 100 bits. With tau = q + f (floor and fraction):
 *   theta = (tau_p n_q + tau_q n_p) / N = q_q + ((q_p - q_q) n_q + f_p n_q + f_q n_p) / N.
 * 64 bits: 0 <= tau_p - tau_q <= 32767 * 255 * 65534, as w[j] has the sign of the difference of means; times
 * n_q <= 2^24 that is below 2^63. f n < 2^24, so all other products are below 2^48.
 * 32 bits, for int8 weights, two classes of 256 records and 255 features: 127 * 255 * 255 * 256 < 2^31, and the
 * remainders times a count are at most 255 * 256 < 2^16. */
#define DEFINE_THETA(name, divide_name, integer, natural, part)                                                         \
    static integer divide_name(integer a, natural b, natural *remainder) {                                          \
        natural size = a < 0 ? (natural)-a : (natural)a, quotient = size / b, left = size - quotient * b;           \
        *remainder = left;                                                                                          \
        if (a >= 0) return (integer)quotient;                                                                       \
        if (left == 0) return -(integer)quotient;                                                                   \
        *remainder = b - left;                                                                                      \
        return -(integer)quotient - 1;                                                                              \
    }                                                                                                               \
    static integer name(integer t_p, integer t_q, natural n_p, natural n_q) {                                       \
        natural r_p, r_q, r, total = n_p + n_q;                                                                     \
        part f_p, f_q, whole_p, whole_q;                                                                            \
        integer q_p = divide_name(t_p, n_p, &r_p), q_q = divide_name(t_q, n_q, &r_q);                               \
        integer result = q_q + divide_name((q_p - q_q) * (integer)n_q, total, &r);                                  \
        f_p = (part)(r_p * n_q);                                                                                    \
        f_q = (part)(r_q * n_p);                                                                                    \
        whole_p = (part)(f_p / (part)n_p);                                                                          \
        whole_q = (part)(f_q / (part)n_q);                                                                          \
        f_p = (part)(f_p - whole_p * (part)n_p);                                                                    \
        f_q = (part)(f_q - whole_q * (part)n_q);                                                                    \
        r += (natural)whole_p + whole_q + ((natural)f_p * n_q + (natural)f_q * n_p >= n_p * n_q);                   \
        return r >= total ? result + 1 : result;                                                                    \
    }
DEFINE_THETA(floor_theta, floor_divide, int64_t, uint64_t, uint64_t)
#if SEFR_SUM_BITS == 16 && SEFR_WEIGHT_BITS == 8
#define SEFR_PAIRS 1
DEFINE_THETA(floor_theta_short, floor_divide_short, int32_t, uint32_t, uint16_t)
#endif

/* Features whose products add up within 32 bits: 127 * 65280 * (classes - 1) * chunk <= 127 * 65280 * 256 < 2^31. */
static uint8_t chunk_of(const sefr_model *model) {
    uint8_t others = (uint8_t)(model->classes - 1);
    return (uint8_t)(others == 1 ? 255 : 256 / others);
}

/* The weights of features begin .. end-1 of one classifier, stored if wanted, and their products with the sums. */
static void solve_chunk(const sides *s, sefr_index begin, sefr_index end, sefr_weight *weights, sefr_product *totals) {
    sefr_index j;
    totals[0] = totals[1] = 0;
    for (j = begin; j < end; j++) {
        uint32_t positive = s->positive[j], negative = negative_sum(s, j);
        sefr_weight weight = weigh(s, j, positive, negative);
        if (weights) weights[j] = weight;
        totals[0] += (sefr_product)weight * (sefr_product)negative;
        totals[1] += (sefr_product)weight * (sefr_product)positive;
    }
}

#ifdef SEFR_PAIRS
/* Two classes with 16-bit sums and known ranges, the common case on small boards: the same weights in narrower types.
 * r <= max(u, v) <= 65280 * 256 < 2^24, so that 254 r fits 32 bits; d < 2^25. */
SEFR_APART uint8_t divide_pair(uint32_t r, uint32_t d) {
    uint32_t t = r << 8;
    uint8_t low, quotient = 0, bit = 7;
    t -= r << 1;
    low = (uint8_t)t; /* 127 r, in 32 + 8 bits, moved up by one */
    t >>= 8;
    do {
        t <<= 1;
        if (low & 128) t |= 1;
        low = (uint8_t)(low << 1);
        quotient = (uint8_t)(quotient << 1);
        if (t >= d) {
            t -= d;
            quotient++;
        }
    } while (--bit);
    t <<= 1;
    if (t >= d) quotient++;
    return quotient;
}

SEFR_INLINE int8_t weigh_pair(uint32_t u, uint32_t v) {
    return u > v ? (int8_t)divide_pair(u - v, u + v) : (int8_t)-divide_pair(v - u, u + v);
}

static void solve_pairs(const sefr_sum *negative, const sefr_sum *positive, sefr_weight *weights, uint8_t n,
                        uint16_t n_q, uint16_t n_p, int32_t *totals) {
    totals[0] = totals[1] = 0;
    do {
        uint16_t s_q = *negative++, s_p = *positive++;
        uint32_t u = (uint32_t)s_p * n_q, v = (uint32_t)s_q * n_p;
        int8_t weight = 0;
        if (u != v) weight = s_q == 0 ? 127 : s_p == 0 ? -127 : weigh_pair(u, v);
        totals[0] += (int32_t)(int16_t)weight * s_q;
        totals[1] += (int32_t)(int16_t)weight * s_p;
        if (weights) *weights++ = weight;
    } while (--n);
}

static int64_t solve_binary(const sides *s, sefr_weight *weights) {
    const sefr_sum *negative = s->model->sums, *positive = s->positive;
    sefr_index left = s->model->features;
    uint16_t n_q = (uint16_t)s->n_negative, n_p = (uint16_t)s->n_positive;
    int64_t t_q = 0, t_p = 0;
    int32_t totals[2];
    for (;;) {
        uint8_t n = (uint8_t)(left > 255 ? 255 : left);
#ifdef SEFR_KERNELS
        if (weights && n_q < 256 && n_p < 256 && n_q * n_p <= 16448) { /* 510 * 16448 < 2^23 */
            sefr_avr_weigh(negative, positive, weights, n, (uint8_t)n_q, (uint8_t)n_p, totals);
        } else
#endif
            solve_pairs(negative, positive, weights, n, n_q, n_p, totals);
        if (left == s->model->features && left == n) return -floor_theta_short(totals[1], totals[0], n_p, n_q);
        t_q += totals[0];
        t_p += totals[1];
        left -= n;
        if (left == 0) return -floor_theta(t_p, t_q, n_p, n_q);
        negative += n;
        positive += n;
        if (weights) weights += n;
    }
}
#endif

static int64_t solve_row(const sides *s, sefr_weight *weights) {
    const sefr_model *model = s->model;
    int64_t t_q = 0, t_p = 0;
    sefr_index begin, end, chunk = chunk_of(model);
#ifdef SEFR_PAIRS
    if (model->classes == 2 && !s->gap) return solve_binary(s, weights);
#endif
    for (begin = 0; begin < model->features; begin = end) {
        sefr_product totals[2];
        end = model->features - begin > chunk ? begin + chunk : model->features;
        solve_chunk(s, begin, end, weights, totals);
        t_q += totals[0];
        t_p += totals[1];
    }
    /* More classes: the paper's theta is that of the turned weights, so bias = -ceil(theta) = floor(-theta). */
    if (model->classes == 2) return -floor_theta(t_p, t_q, s->n_positive, s->n_negative);
    return floor_theta(-t_q, -t_p, s->n_negative, s->n_positive);
}

/* A class that has no records: weights 0, and a score below every other. */
static void silence(sefr_model *model, uint8_t row) {
    sefr_index j;
    if (model->weights) {
        for (j = 0; j < model->features; j++) model->weights[(sefr_index)row * model->features + j] = 0;
    }
#if SEFR_WEIGHT_BITS == 8
    model->bias[row] = INT32_MIN;
#else
    model->bias[row] = INT64_MIN;
#endif
}

sefr_status sefr_solve(sefr_model *model) {
    uint8_t row, seen = 0;
    sides s;
    for (row = 0; row < model->classes; row++) {
        if (model->counts[row]) seen = (uint8_t)(seen + 1);
    }
    if (seen < 2) return SEFR_NOT_READY;
    for (row = 0; row < rows_of(model->classes); row++) {
        choose_sides(&s, model, row);
        if (s.n_positive == 0) {
            silence(model, row);
        } else {
            sefr_weight *weights = model->weights ? model->weights + (sefr_index)row * model->features : 0;
            model->bias[row] = (sefr_score)solve_row(&s, weights);
        }
    }
    model->solved = 1;
    model->fresh = 1;
    return SEFR_OK;
}
