/* Rows whose values lie side by side, a tile of them at a time: where they begin, and what is read next. */
#ifndef SEFR_LINES_H
#define SEFR_LINES_H

#include "cells/coding.h"

/* What is read next is called into the cache of the SECOND_LEVEL: that of the first has no room beside tables, numbers
   and cells. */
enum { LINE_BYTES = 64, SECOND_LEVEL = 2 };

/* The rows of a tile, and those that are read next. */
struct lines {
    const char *row[TILE_ROWS], *ahead;
    ptrdiff_t n_ahead, stride, size; /* bytes from row to row, and of a value */
};

/* Of float64. */
static inline bool is_wide(const struct lines *lines) { return lines->size == (ptrdiff_t)sizeof(double); }

/* The last row stands for those that are not there. */
static void find_lines(const struct table *x, const int64_t *rows, ptrdiff_t first, ptrdiff_t n, ptrdiff_t ahead,
                       struct lines *lines) {
    const ptrdiff_t left = x->n - ahead, stride = x->row_stride;
    lines->n_ahead = left < 0 ? 0 : left < TILE_ROWS ? left : TILE_ROWS;
    lines->ahead = x->data + (lines->n_ahead ? ahead : 0) * stride;
    lines->stride = stride, lines->size = x->column_stride;
    if (rows) {
        for (ptrdiff_t i = 0; i < n; i++) lines->row[i] = x->data + rows[i] * stride;
    } else {
        for (ptrdiff_t i = 0; i < n; i++) lines->row[i] = x->data + (first + i) * stride;
    }
    for (ptrdiff_t i = n; i < TILE_ROWS; i++) lines->row[i] = lines->row[n - 1];
}

/* What is read next and called into the cache meanwhile, a share of it per column: memory that lies side by side, or
   the bytes `from` .. `to` of rows. */
struct call {
    const char *at, *end;
    const char *const *rows;
    ptrdiff_t i, n, stride, from, to, share;
};

/* After columns .. `end` the next piece of these rows is read, or the first of those ahead. */
static struct call plan_call(const struct lines *lines, ptrdiff_t end, ptrdiff_t m, ptrdiff_t columns) {
    const ptrdiff_t size = lines->size, next = end < m / 8 * 8 ? end : 0;
    const ptrdiff_t to = (m / 8 * 8 - next < FLOAT_COLUMNS ? m : next + FLOAT_COLUMNS) * size;
    struct call call = {.stride = lines->stride, .from = next * size, .to = to, .n = lines->n_ahead};
    if (next) {
        call.rows = lines->row, call.n = TILE_ROWS;
    } else if (lines->stride >= to && lines->stride < to + LINE_BYTES) {
        call.at = lines->ahead, call.end = call.at + call.n * lines->stride;
        call.share = (call.end - call.at + columns - 1) / columns;
        return call;
    }
    call.at = lines->ahead;
    call.share = (call.n + columns - 1) / columns;
    return call;
}

/* Inline in any case: a call amid vectors would clear their upper halves. */
#ifdef __GNUC__
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

ALWAYS_INLINE void call_share(struct call *call) {
    if (call->end) {
        const char *stop = call->end - call->at < call->share ? call->end : call->at + call->share;
        for (; call->at < stop; call->at += LINE_BYTES) __builtin_prefetch(call->at, 0, SECOND_LEVEL);
        return;
    }
    const ptrdiff_t last = call->n - call->i < call->share ? call->n : call->i + call->share;
    for (; call->i < last; call->i++) {
        const char *row = call->rows ? call->rows[call->i] : call->at + call->i * call->stride;
        for (ptrdiff_t at = call->from; at < call->to; at += LINE_BYTES) __builtin_prefetch(row + at, 0, SECOND_LEVEL);
    }
}

#endif
