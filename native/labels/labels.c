#include "labels/labels.h"

#include <stdlib.h>
#include <string.h>

void sefr_free_distinct(struct distinct *found) {
    free(found->values);
    found->values = NULL;
    found->n = 0;
}

/* Integers move to unsigned 64 bits with the order kept: the sign bit is turned. Floats are never labels here. */
#define KERNEL "labels/labels_kernel.inc"
#include "common/each_dtype.inc"

typedef void range_function(const struct column *, ptrdiff_t, uint64_t *, uint64_t *);
typedef bool mark_function(const struct column *, ptrdiff_t, uint64_t, uint64_t, int32_t *, int32_t *);
static range_function *const range_of[N_DTYPES] = OF_EACH_DTYPE(range);
static mark_function *const mark_of[N_DTYPES] = OF_EACH_DTYPE(mark);

/* Labels in a window of this size, at 0 or around it, are coded as they are read; others take a pass to find where
   they lie. For few rows a small one: the large one takes longer to look through than they do. */
enum { WINDOW = 4096, SMALL_WINDOW = 128 };

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

enum labels_outcome sefr_code_integers(const struct column *y, ptrdiff_t n, int32_t *codes, struct distinct *found) {
    const bool is_unsigned = y->type == U8 || y->type == U16 || y->type == U32 || y->type == U64;
    const uint64_t zero = is_unsigned ? 0 : (uint64_t)1 << 63;
    mark_function *const mark = mark_of[y->type];
    const uint64_t window = n < WINDOW ? SMALL_WINDOW : WINDOW;
    uint64_t low = zero, range = window - 1;
    if (n == 0) return LABELS_CODED;
    int32_t *seen = calloc(window, sizeof *seen);
    if (!seen) return LABELS_NO_MEMORY;
    bool marked = mark(y, n, low, range, seen, codes);
    if (!marked && !is_unsigned) {
        memset(seen, 0, window * sizeof *seen);
        low = zero - window / 2;
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
struct hash_table {
    uint32_t *slots;
    size_t mask;
    uint64_t *hashes; /* by code */
    uint64_t *first;  /* by code: position of the first appearance */
    size_t n, capacity;
};

static bool widen(struct hash_table *hashed) {
    size_t capacity = hashed->capacity ? 2 * hashed->capacity : 64;
    uint32_t *slots = calloc(2 * capacity, sizeof *slots);
    uint64_t *hashes = realloc(hashed->hashes, capacity * sizeof *hashes);
    if (hashes) hashed->hashes = hashes;
    uint64_t *first = realloc(hashed->first, capacity * sizeof *first);
    if (first) hashed->first = first;
    if (!slots || !hashes || !first) {
        free(slots);
        return false;
    }
    free(hashed->slots);
    hashed->slots = slots;
    hashed->capacity = capacity;
    hashed->mask = 2 * capacity - 1;
    for (size_t code = 0; code < hashed->n; code++) {
        size_t slot = (size_t)hashed->hashes[code] & hashed->mask;
        while (slots[slot]) slot = (slot + 1) & hashed->mask;
        slots[slot] = (uint32_t)code + 1;
    }
    return true;
}

/* The code of the item at position i, which may be a new one; -1: no memory. */
static int64_t code_item(struct hash_table *hashed, const struct items *y, ptrdiff_t i) {
    const char *item = y->data + i * y->stride;
    uint64_t hash = hash_bytes(item, y->size);
    size_t slot = (size_t)hash & hashed->mask;
    for (; hashed->slots[slot]; slot = (slot + 1) & hashed->mask) {
        uint32_t code = hashed->slots[slot] - 1;
        if (hashed->hashes[code] == hash &&
            memcmp(y->data + (ptrdiff_t)hashed->first[code] * y->stride, item, y->size) == 0) {
            return code;
        }
    }
    if (hashed->n == hashed->capacity) {
        if (hashed->n > INT32_MAX / 2 || !widen(hashed)) return -1;
        slot = (size_t)hash & hashed->mask;
        while (hashed->slots[slot]) slot = (slot + 1) & hashed->mask;
    }
    hashed->hashes[hashed->n] = hash;
    hashed->first[hashed->n] = (uint64_t)i;
    hashed->slots[slot] = (uint32_t)++hashed->n;
    return (int64_t)hashed->n - 1;
}

enum labels_outcome sefr_code_bytes(const struct items *y, int32_t *codes, struct distinct *found) {
    struct hash_table hashed = {0};
    bool ok = widen(&hashed);
    for (ptrdiff_t i = 0; ok && i < y->n; i++) {
        int64_t code = code_item(&hashed, y, i);
        codes[i] = (int32_t)code;
        ok = code >= 0;
    }
    free(hashed.slots);
    free(hashed.hashes);
    found->values = hashed.first;
    found->n = (ptrdiff_t)hashed.n;
    return ok ? LABELS_CODED : LABELS_NO_MEMORY;
}
