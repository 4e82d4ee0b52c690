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

/* floor(a / b) and the remainder; the common small values take the short division, much quicker on AVR. */
static int64_t floor_divide(int64_t a, uint32_t b, uint32_t *remainder) {
    int64_t quotient;
    if (a >= 0 && a <= 0xFFFFFFFF) {
        uint32_t small = (uint32_t)a;
        *remainder = small % b;
        return (int64_t)(small / b);
    }
    if (a >= -0x7FFFFFFF && a < 0) {
        uint32_t small = (uint32_t)-a, left = small % b;
        *remainder = left ? b - left : 0;
        return -(int64_t)(small / b) - (left ? 1 : 0);
    }
    quotient = a / (int64_t)b;
    a -= quotient * (int64_t)b;
    if (a < 0) {
        a += (int64_t)b;
        quotient--;
    }
    *remainder = (uint32_t)a;
    return quotient;
}

/* floor(theta) in 64 bits, where the plain fraction would need more than 100. With tau = q + f (floor and fraction):
 *   theta = (tau_p n_q + tau_q n_p) / N = q_q + ((q_p - q_q) n_q + f_p n_q + f_q n_p) / N.
 * 0 <= tau_p - tau_q <= 32767 * 255 * 65535, as w[j] has the sign of the difference of means; times n_q <= 2^24
 * that is below 2^63. f n < 2^24, so all other products are below 2^48. */
static int64_t floor_theta(int64_t t_p, int64_t t_q, uint32_t n_p, uint32_t n_q) {
    uint32_t r_p, r_q, r, h_p, h_q, total = n_p + n_q;
    int64_t q_p = floor_divide(t_p, n_p, &r_p);
    int64_t q_q = floor_divide(t_q, n_q, &r_q);
    int64_t result = q_q + floor_divide((q_p - q_q) * (int64_t)n_q, total, &r);
    uint32_t whole = (uint32_t)floor_divide((int64_t)((uint64_t)r_p * n_q), n_p, &h_p);
    whole += (uint32_t)floor_divide((int64_t)((uint64_t)r_q * n_p), n_q, &h_q);
    if ((uint64_t)h_p * n_q + (uint64_t)h_q * n_p >= (uint64_t)n_p * n_q) whole++;
    return r + whole >= total ? result + 1 : result;
}

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

static int64_t solve_row(const sides *s, sefr_weight *weights) {
    const sefr_model *model = s->model;
    int64_t t_q = 0, t_p = 0;
    sefr_index begin, end, chunk = chunk_of(model);
#if defined(SEFR_KERNELS) && SEFR_SUM_BITS == 16 && SEFR_WEIGHT_BITS == 8
    uint8_t kernel = weights && model->classes == 2 && !s->gap && s->n_positive < 256 && s->n_negative < 256 &&
                     (uint16_t)s->n_positive * (uint16_t)s->n_negative <= 16448; /* 510 * 16448 < 2^23 */
#endif
    for (begin = 0; begin < model->features; begin = end) {
        sefr_product totals[2];
        end = model->features - begin > chunk ? begin + chunk : model->features;
#if defined(SEFR_KERNELS) && SEFR_SUM_BITS == 16 && SEFR_WEIGHT_BITS == 8
        if (kernel) {
            uint8_t counts[2] = {(uint8_t)s->n_negative, (uint8_t)s->n_positive};
            sefr_avr_weigh(model->sums + begin, s->positive + begin, weights + begin, (uint8_t)(end - begin), counts,
                           totals);
        } else
#endif
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
