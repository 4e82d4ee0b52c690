/* Sums -> weights and bias, by the definition in sefr.h, exactly. */

#if SEFR_SUM_BITS <= 16
typedef uint32_t sefr_wide; /* u + v, see SEFR_MAX_CLASSES */
typedef uint16_t sefr_side; /* records of one side: at most 42 * 256 */
#else
typedef uint64_t sefr_wide;
typedef uint32_t sefr_side;
#endif
#if SEFR_SUM_BITS <= 16 && SEFR_WEIGHT_BITS == 8
typedef int32_t sefr_product; /* weights times the sums of a chunk of features, see chunk_of; and the means */
typedef uint32_t sefr_natural;
#define SEFR_PAIRS 1
#else
typedef int64_t sefr_product;
typedef uint64_t sefr_natural;
#endif

/* floor(ONE r / d + 1/2) for r <= d: since ONE is all ones in binary, Horner's rule needs no product, only
 * 2 remainder + r < 3 d. */
SEFR_APART sefr_weight divide(sefr_wide r, sefr_wide d) {
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
#ifndef SEFR_NO_RANGES
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
#endif

/* The two sides of one classifier. With more than two classes the negative side is the rest: totals are computed
 * where needed, since keeping them would cost a row of RAM. */
typedef struct {
    const sefr_model *model;
    const sefr_sum *positive;
    uint8_t row;        /* the classifier: 0 (binary) or the class */
#ifndef SEFR_NO_RANGES
    uint8_t gap;        /* G, the smallest range above 0; 0 without ranges */
#endif
    sefr_side n_positive;
    sefr_side n_negative;
} sides;

#ifndef SEFR_NO_RANGES
static uint8_t smallest_gap(const sefr_model *model) {
    const uint8_t *low = model->ranges, *high = low + model->features;
    uint8_t gap = 255;
    sefr_index j;
    for (j = 0; j < model->features; j++) {
        if (high[j] > low[j] && high[j] - low[j] < gap) gap = (uint8_t)(high[j] - low[j]);
    }
    return gap;
}
#define GAP_OF(s) ((s)->gap)
#else
#define GAP_OF(s) 0
#endif

SEFR_APART void choose_sides(sides *s, const sefr_model *model, uint8_t row) {
    uint8_t positive = IS_PAIR(model) ? 1 : row;
    s->model = model;
    s->positive = sums_of(model, positive);
    s->row = row;
#ifndef SEFR_NO_RANGES
    s->gap = model->ranges ? smallest_gap(model) : 0;
#endif
    s->n_positive = model->counts[positive];
    s->n_negative = IS_PAIR(model) ? model->counts[0] : (sefr_side)(total_count(model) - s->n_positive);
}

/* S[q][j]; at most 255 * 256 * 42 (16-bit sums) or 255 * 2^24: 32 bits hold it. */
static uint32_t negative_sum(const sides *s, sefr_index j) {
    const sefr_model *model = s->model;
    const sefr_sum *sum = model->sums + j;
    uint32_t rest = 0;
    uint8_t c;
    if (IS_PAIR(model)) return *sum;
    for (c = 0; c < model->classes; c++, sum += model->features) {
        if (c != s->row) rest += *sum;
    }
    return rest;
}

#ifndef SEFR_NO_RANGES
SEFR_APART sefr_weight weigh_ranged(const sides *s, sefr_index j, uint32_t positive, uint32_t negative) {
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
#endif

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
#endif

/* The weight of feature j. */
SEFR_APART sefr_weight weigh(const sides *s, sefr_index j, uint32_t positive, uint32_t negative) {
    sefr_wide u, v;
#ifndef SEFR_NO_RANGES
    if (s->gap) return weigh_ranged(s, j, positive, negative);
#else
    (void)j;
#endif
    u = (sefr_wide)positive * s->n_negative;
    v = (sefr_wide)negative * s->n_positive;
    if (u == v) return 0;
#ifdef SEFR_PAIRS
    if (IS_PAIR(s->model)) return weigh_pair(u, v);
#endif
    return (sefr_weight)(u > v ? divide(u - v, u + v) : -divide(v - u, u + v));
}

/* A mean score tau = T / n as a whole number and a remainder of n. T itself may need more bits than its parts. */
typedef struct {
    sefr_product whole;
    sefr_side left;
} mean;

/* The work on one classifier, in one place and passed around by its address: solving then takes less than 100 bytes of
 * stack on AVR, which is what 480 features leave of 2 KB. */
typedef struct {
    sides s;
    sefr_weight *weights; /* of this classifier; 0: not stored */
    sefr_index begin;     /* the features before it are done */
    uint8_t n;            /* features of the next chunk */
    mean p, q;            /* of the positive side, of the negative side */
#ifndef SEFR_NO_BALANCED
    sefr_side share_p; /* the counts of eq. 9: the records of a side, or, balanced, its classes */
    sefr_side share_q;
#endif
    sefr_product totals[2];
} solver;
#ifdef SEFR_NO_BALANCED
#define SHARE_P(work) ((work)->s.n_positive)
#define SHARE_Q(work) ((work)->s.n_negative)
#else
#define SHARE_P(work) ((work)->share_p)
#define SHARE_Q(work) ((work)->share_q)
#endif

/* On AVR a division by 8 bits takes half the time, one of 16 bits a third. */
SEFR_APART sefr_natural quotient_of(sefr_natural a, sefr_natural b) {
#if defined(SEFR_KERNELS) && defined(SEFR_PAIRS)
    if (b < 256) return sefr_avr_divide(a, (uint8_t)b);
#endif
    if ((a | b) <= 0xFFFF) return (sefr_natural)((uint16_t)a / (uint16_t)b);
    return a / b;
}

SEFR_APART void add_to_mean(mean *tau, sefr_product total, sefr_side n) {
    sefr_natural size = total < 0 ? (sefr_natural)-total : (sefr_natural)total;
    sefr_natural quotient = quotient_of(size, n);
    sefr_side left = (sefr_side)(size - quotient * n);
    if (total < 0) {
        quotient = (sefr_natural)0 - quotient;
        if (left) {
            quotient--;
            left = (sefr_side)(n - left);
        }
    }
    if (left >= (sefr_side)(n - tau->left)) { /* together a whole */
        left = (sefr_side)(left - n);
        quotient++;
    }
    tau->left = (sefr_side)(tau->left + left);
    tau->whole += (sefr_product)quotient;
}

/* f n / own as a whole number, returned, and what is left of it, put into *rest. */
SEFR_APART sefr_natural share(sefr_side left, sefr_side other, sefr_side own, sefr_product *rest) {
    sefr_natural whole;
    *rest = (sefr_product)((sefr_natural)left * other);
    whole = quotient_of((sefr_natural)*rest, own);
    *rest -= (sefr_product)(whole * own);
    return whole;
}

/* floor(theta) = floor((tau_p b + tau_q a) / (a + b)), a and b the shares of the sides, without the plain fraction,
 * which would need more than 100 bits:
 *   theta = q + ((p - q) b + f_p b + f_q a) / (a + b),  tau_p = p + f_p, tau_q = q + f_q.
 * p >= q, as w[j] has the sign of the difference of means. Every product here is of two counts, below 2^27 with 16-bit
 * sums (256 * 43 records) and below 2^48 with 32-bit sums. */
SEFR_APART sefr_product floor_theta(solver *work) {
    sefr_side total = (sefr_side)(SHARE_P(work) + SHARE_Q(work));
    work->p.whole -= work->q.whole; /* then the parts of N that are over */
    work->totals[0] = (sefr_product)quotient_of((sefr_natural)work->p.whole, total);
    work->q.whole += work->totals[0] * SHARE_Q(work);
    work->p.whole -= work->totals[0] * total;
    work->q.whole += (sefr_product)share((sefr_side)work->p.whole, SHARE_Q(work), total, &work->p.whole);
    work->p.whole += (sefr_product)share(work->p.left, SHARE_Q(work), work->s.n_positive, work->totals);
    work->p.whole += (sefr_product)share(work->q.left, SHARE_P(work), work->s.n_negative, work->totals + 1);
    work->totals[0] *= work->s.n_negative;
    work->totals[0] += work->totals[1] * work->s.n_positive;
    if (work->totals[0] >= (sefr_product)work->s.n_positive * work->s.n_negative) work->p.whole++;
    return work->p.whole >= (sefr_product)total ? work->q.whole + 1 : work->q.whole;
}

#ifndef SEFR_TWO_CLASSES
/* Makes the positive side the negative one. Field by field: copying a structure may call memcpy, which a board without a
 * C library lacks. */
SEFR_APART void swap_sides(solver *work) {
    sefr_product whole = work->p.whole;
    sefr_side left = work->p.left, n = work->s.n_positive;
    work->p.whole = work->q.whole;
    work->p.left = work->q.left;
    work->s.n_positive = work->s.n_negative;
    work->q.whole = whole;
    work->q.left = left;
    work->s.n_negative = n;
#ifndef SEFR_NO_BALANCED
    n = work->share_p;
    work->share_p = work->share_q;
    work->share_q = n;
#endif
}
#endif

/* Features whose products add up within 32 bits: 127 * 65280 * (classes - 1) * chunk <= 127 * 65280 * 256 < 2^31. */
static uint8_t chunk_of(const sefr_model *model, sefr_index begin) {
    sefr_index chunk = IS_PAIR(model) ? 255U : 256U / (model->classes - 1U), left = model->features - begin;
    return (uint8_t)(left > chunk ? chunk : left);
}

/* The weights of the next n features, stored if wanted, and their products with the sums: negative, positive. With more
 * than two classes with the sign turned, as the paper has it. */
SEFR_APART void solve_chunk(solver *work) {
    const sides *s = &work->s;
    sefr_index j;
    uint8_t n = work->n;
    work->totals[0] = work->totals[1] = 0;
    for (j = work->begin; n; n--, j++) {
        uint32_t positive = s->positive[j], negative = negative_sum(s, j);
        sefr_weight weight = weigh(s, j, positive, negative);
        if (work->weights) work->weights[j] = weight;
        if (!IS_PAIR(s->model)) weight = (sefr_weight)-weight;
        work->totals[0] += (sefr_product)weight * (sefr_product)negative;
        work->totals[1] += (sefr_product)weight * (sefr_product)positive;
    }
}

#ifdef SEFR_PAIRS
SEFR_APART void solve_pairs(solver *work) {
    const sefr_sum *negative = work->s.model->sums + work->begin, *positive = work->s.positive + work->begin;
    sefr_weight *weights = work->weights ? work->weights + work->begin : 0;
    uint8_t n = work->n;
    work->totals[0] = work->totals[1] = 0;
    do {
        uint16_t s_q = *negative++, s_p = *positive++;
        uint32_t u = (uint32_t)s_p * work->s.n_negative, v = (uint32_t)s_q * work->s.n_positive;
        int8_t weight = 0;
        if (u != v) weight = s_q == 0 ? 127 : s_p == 0 ? -127 : weigh_pair(u, v);
        work->totals[0] += (int32_t)(int16_t)weight * s_q;
        work->totals[1] += (int32_t)(int16_t)weight * s_p;
        if (weights) *weights++ = weight;
    } while (--n);
}

/* The next n features of a binary model, by the kernel where its 24 bits hold them: 510 * 16448 < 2^23. */
SEFR_APART void solve_some(solver *work) {
#if defined(SEFR_KERNELS) && SEFR_SUM_BITS == 16
    const sides *s = &work->s;
    if (work->weights && s->n_negative < 256 && s->n_positive < 256 && s->n_negative * s->n_positive <= 16448) {
        sefr_avr_weigh(s->model->sums + work->begin, s->positive + work->begin, work->weights + work->begin, work->n,
                       (uint8_t)s->n_negative, (uint8_t)s->n_positive, work->totals);
        return;
    }
#endif
    solve_pairs(work);
}
#endif

SEFR_APART void add_features(solver *work) {
    do {
        work->n = chunk_of(work->s.model, work->begin);
#ifdef SEFR_PAIRS
        if (IS_PAIR(work->s.model) && !GAP_OF(&work->s)) {
            solve_some(work);
        } else
#endif
            solve_chunk(work);
        add_to_mean(&work->q, work->totals[0], work->s.n_negative);
        add_to_mean(&work->p, work->totals[1], work->s.n_positive);
        work->begin += work->n;
    } while (work->begin < work->s.model->features);
}

static uint8_t classes_seen(const sefr_model *model) {
    uint8_t c, seen = 0;
    for (c = 0; c < model->classes; c++) {
        if (model->counts[c]) seen++;
    }
    return seen;
}

/* One classifier: its bias; the weights go to `weights` unless that is 0. */
SEFR_APART sefr_product solve_row(const sefr_model *model, uint8_t row, sefr_weight *weights) {
    solver work;
    choose_sides(&work.s, model, row);
#ifndef SEFR_NO_BALANCED
    if (model->options & SEFR_BALANCED) {
        work.share_p = 1;
        work.share_q = (sefr_side)(classes_seen(model) - 1U);
    } else {
        work.share_p = work.s.n_positive;
        work.share_q = work.s.n_negative;
    }
#endif
    work.weights = weights;
    work.begin = 0;
    work.p.whole = work.q.whole = 0;
    work.p.left = work.q.left = 0;
    add_features(&work);
    if (IS_PAIR(work.s.model)) return -floor_theta(&work);
#ifndef SEFR_TWO_CLASSES
    /* The paper's weights are these, turned, and its positive side is the rest; bias = floor(its theta) = -ceil(theta). */
    swap_sides(&work);
    return floor_theta(&work);
#endif
}

#ifndef SEFR_TWO_CLASSES
/* A class that has no records: weights 0, and a score below every other. */
static void silence(sefr_model *model, uint8_t row) {
    sefr_index j;
    if (HAS_WEIGHTS(model)) {
        for (j = 0; j < model->features; j++) model->weights[(sefr_index)row * model->features + j] = 0;
    }
    model->bias[row] = LOWEST_SCORE;
}

SEFR_APART void solve_all(sefr_model *model) {
    sefr_weight *weights = model->weights;
    uint8_t row;
    for (row = 0; row < model->classes; row++) {
        if (model->counts[row]) {
            model->bias[row] = (sefr_score)solve_row(model, row, weights);
        } else {
            silence(model, row);
        }
        if (weights) weights += model->features;
    }
}
#endif

sefr_status sefr_solve(sefr_model *model) {
    if (classes_seen(model) < 2) return SEFR_NOT_READY;
    if (IS_PAIR(model)) {
        model->bias[0] = (sefr_score)solve_row(model, 0, model->weights);
    }
#ifndef SEFR_TWO_CLASSES
    else {
        solve_all(model);
    }
#endif
    model->solved = 1;
    model->fresh = 1;
    return SEFR_OK;
}
