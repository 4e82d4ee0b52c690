#include "labels/labels.h"

#include <stdlib.h>
#include <string.h>

void free_distinct(struct distinct *found) {
    free(found->values);
    found->values = NULL;
    found->n = 0;
}

/* Integers move to unsigned 64 bits with the order kept: the sign bit is turned. */
#define DEFINE_INTEGERS(tag, T)                                                                         \
    static uint64_t JOIN(at, tag)(const struct column *y, ptrdiff_t i) {                                           \
        T value;                                                                                                   \
        memcpy(&value, y->data + i * y->stride, sizeof value);                                                     \
        return (uint64_t)value ^ ((T)-1 < (T)1 ? (uint64_t)1 << 63 : 0);                                           \
    }                                                                                                              \
    static void JOIN(range, tag)(const struct column *y, ptrdiff_t n, uint64_t *low, uint64_t *high) {             \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                        \
            uint64_t value = JOIN(at, tag)(y, i);                                                                  \
            if (value < *low) *low = value;                                                                        \
            if (value > *high) *high = value;                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    static bool JOIN(mark, tag)(const struct column *y, ptrdiff_t n, uint64_t low, uint64_t range, int32_t *seen,   \
                                int32_t *codes) {                                                                  \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                        \
            uint64_t offset = JOIN(at, tag)(y, i) - low;                                                           \
            if (offset > range) return false;                                                                      \
            seen[offset] = 1;                                                                                      \
            codes[i] = (int32_t)offset;                                                                            \
        }                                                                                                          \
        return true;                                                                                               \
    }
DEFINE_INTEGERS(I8, int8_t)
DEFINE_INTEGERS(U8, uint8_t)
DEFINE_INTEGERS(I16, int16_t)
DEFINE_INTEGERS(U16, uint16_t)
DEFINE_INTEGERS(I32, int32_t)
DEFINE_INTEGERS(U32, uint32_t)
DEFINE_INTEGERS(I64, int64_t)
DEFINE_INTEGERS(U64, uint64_t)

typedef void range_function(const struct column *, ptrdiff_t, uint64_t *, uint64_t *);
typedef bool mark_function(const struct column *, ptrdiff_t, uint64_t, uint64_t, int32_t *, int32_t *);

static range_function *const range_of[N_DTYPES] = {NULL,      NULL,     range_I8,  range_U8, range_I16,
                                                   range_U16, range_I32, range_U32, range_I64, range_U64};
static mark_function *const mark_of[N_DTYPES] = {NULL,     NULL,     mark_I8,  mark_U8,  mark_I16,
                                                 mark_U16, mark_I32, mark_U32, mark_I64, mark_U64};

/* Labels in a window of this size, at 0 or around it, are coded as they are read; others take a pass to find where
   they lie. */
enum { WINDOW = 4096 };

/* Take what was seen of low .. low + range for the distinct values, and each one's rank for its code. */
static bool rank_codes(uint64_t low, uint64_t range, uint64_t flip, int32_t *seen, ptrdiff_t n, int32_t *codes,
                       struct distinct *found) {
    for (uint64_t k = 0; k <= range; k++) found->n += seen[k];
    found->values = malloc((size_t)found->n * sizeof *found->values);
    if (!found->values) return false;
    int32_t next = 0;
    bool ranked = true; /* the codes are ranks already */
    for (uint64_t k = 0; k <= range; k++) {
        if (!seen[k]) continue;
        found->values[next] = (low + k) ^ flip;
        ranked = ranked && k == (uint64_t)next;
        seen[k] = next++;
    }
    for (ptrdiff_t i = 0; !ranked && i < n; i++) codes[i] = seen[codes[i]];
    return true;
}

enum labels_outcome code_integers(const struct column *y, ptrdiff_t n, int32_t *codes, struct distinct *found) {
    const bool is_unsigned = y->type == U8 || y->type == U16 || y->type == U32 || y->type == U64;
    const uint64_t zero = is_unsigned ? 0 : (uint64_t)1 << 63;
    mark_function *const mark = mark_of[y->type];
    uint64_t low = zero, range = WINDOW - 1;
    if (n == 0) return LABELS_CODED;
    int32_t *seen = calloc(WINDOW, sizeof *seen);
    if (!seen) return LABELS_NO_MEMORY;
    bool marked = mark(y, n, low, range, seen, codes);
    if (!marked && !is_unsigned) {
        memset(seen, 0, WINDOW * sizeof *seen);
        low = zero - WINDOW / 2;
        marked = mark(y, n, low, range, seen, codes);
    }
    if (!marked) {
        uint64_t high = 0;
        free(seen);
        low = UINT64_MAX;
        range_of[y->type](y, n, &low, &high);
        range = high - low;
        if (range > 65536 + 4 * (uint64_t)n || range > INT32_MAX) return LABELS_SPREAD;
        seen = calloc((size_t)range + 1, sizeof *seen);
        if (!seen) return LABELS_NO_MEMORY;
        if (!mark(y, n, low, range, seen, codes)) {
            free(seen);
            return LABELS_CHANGED;
        }
    }
    const bool ranked = rank_codes(low, range, zero, seen, n, codes, found);
    free(seen);
    return ranked ? LABELS_CODED : LABELS_NO_MEMORY;
}

static uint64_t hash_bytes(const char *data, size_t size) {
    uint64_t hash = 0x9e3779b97f4a7c15u ^ size;
    for (; size >= 8; size -= 8, data += 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    if (size) {
        uint64_t word = 0;
        memcpy(&word, data, size);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    hash *= 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 33;
}

/* Open addressing; a slot holds a code + 1, so that 0 is free. Never more than half full. */
struct book {
    uint32_t *slots;
    size_t mask;
    uint64_t *hashes; /* by code */
    uint64_t *first;  /* by code: position of the first appearance */
    size_t n, capacity;
};

static bool widen(struct book *book) {
    size_t capacity = book->capacity ? 2 * book->capacity : 64;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    uint64_t *hashes = realloc(book->hashes, capacity * sizeof *hashes);
    if (hashes) book->hashes = hashes;
    uint64_t *first = realloc(book->first, capacity * sizeof *first);
    if (first) book->first = first;
    if (!slots || !hashes || !first) {
        free(slots);
        return false;
    }
    free(book->slots);
    book->slots = slots;
    book->capacity = capacity;
    book->mask = 2 * capacity - 1;
    for (size_t code = 0; code < book->n; code++) {
        size_t slot = (size_t)book->hashes[code] & book->mask;
        while (slots[slot]) slot = (slot + 1) & book->mask;
        slots[slot] = (uint32_t)code + 1;
    }
    return true;
}

/* The code of the item at position i, which may be a new one; -1: no memory. */
static int64_t code_item(struct book *book, const struct items *y, ptrdiff_t i) {
    const char *item = y->data + i * y->stride;
    uint64_t hash = hash_bytes(item, y->size);
    size_t slot = (size_t)hash & book->mask;
    for (; book->slots[slot]; slot = (slot + 1) & book->mask) {
        uint32_t code = book->slots[slot] - 1;
        if (book->hashes[code] == hash &&
            memcmp(y->data + (ptrdiff_t)book->first[code] * y->stride, item, y->size) == 0) {
            return code;
        }
    }
    if (book->n == book->capacity) {
        if (book->n > INT32_MAX / 2 || !widen(book)) return -1;
        slot = (size_t)hash & book->mask;
        while (book->slots[slot]) slot = (slot + 1) & book->mask;
    }
    book->hashes[book->n] = hash;
    book->first[book->n] = (uint64_t)i;
    book->slots[slot] = (uint32_t)++book->n;
    return (int64_t)book->n - 1;
}

enum labels_outcome code_bytes(const struct items *y, int32_t *codes, struct distinct *found) {
    struct book book = {0};
    bool ok = widen(&book);
    for (ptrdiff_t i = 0; ok && i < y->n; i++) {
        int64_t code = code_item(&book, y, i);
        codes[i] = (int32_t)code;
        ok = code >= 0;
    }
    free(book.slots);
    free(book.hashes);
    found->values = book.first;
    found->n = (ptrdiff_t)book.n;
    return ok ? LABELS_CODED : LABELS_NO_MEMORY;
}
