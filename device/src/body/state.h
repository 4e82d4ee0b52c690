/* Sums -> bytes, and whether bytes could be sums. Every byte of a state is a function of the model and its place, so that
 * checksum, save, send and compare are the same loop, and no buffer is needed. */

#define HEADER 20U
enum { WITH_RANGES = 1, WITH_INT8 = 2, WITH_INT16 = 4, WITH_BINS = SEFR_BINS, WITH_BASE = 32 }; /* 8 or 16 bins */
#define WITH_WEIGHTS (SEFR_WEIGHT_BITS == 8 ? WITH_INT8 : WITH_INT16)

/* Without sefr_correct there is nothing in the weights that the sums do not say. */
#ifdef SEFR_NO_CORRECT
#define KEEPS_WEIGHTS(model) 0
#else
#define KEEPS_WEIGHTS(model) (HAS_WEIGHTS(model) && ((model)->options & SEFR_KEEP_WEIGHTS))
#endif

static uint8_t flags_of(const sefr_model *model) {
    uint8_t flags = (uint8_t)(WITH_BINS | (RANGES_OF(model) ? WITH_RANGES : 0));
    if (KEEPS_WEIGHTS(model) && model->solved) flags |= WITH_WEIGHTS;
    if (model->base) flags |= WITH_BASE;
    return flags;
}

/* The bytes of the weights and the bias in a state with these flags, of whatever width they are. */
static uint32_t weight_bytes(const sefr_model *model, uint8_t flags) {
    uint32_t bytes = 0;
    if (flags & WITH_INT8) bytes = (uint32_t)model->features + 4U;
    if (flags & WITH_INT16) bytes = 2U * (uint32_t)model->features + 8U;
    return bytes * ROWS_OF(model);
}

static uint32_t bytes_with(const sefr_model *model, uint8_t flags) {
    return SEFR_STATE_BYTES(RECORD_BYTES(model), model->classes, flags & WITH_RANGES) + weight_bytes(model, flags) +
           ((flags & WITH_BASE) ? 4U : 0U);
}

typedef sefr_model owner;
static uint32_t state_bytes(const owner *model) { return bytes_with(model, flags_of(model)); }
uint32_t sefr_state_bytes(const sefr_model *model) { return state_bytes(model); }

static uint8_t header_byte(const sefr_model *model, uint32_t sequence, uint8_t at) {
    switch (at) {
    case 0: return 'S';
    case 1: return 'E';
    case 2: return 'F';
    case 3: return 'R';
    case 4: return SEFR_STATE_VERSION;
    case 5: return SEFR_SUM_BITS;
    case 6: return model->classes;
    case 7: return flags_of(model);
    default: break;
    }
    return byte_of(at < 12 ? model->features : at < 16 ? sequence : model->id, at);
}

#ifndef SEFR_NO_CORRECT
/* The byte at a place of the weights and, after them, the bias. */
static uint8_t weight_byte(const sefr_model *model, uint32_t at) {
    uint32_t end = (uint32_t)model->features * ROWS_OF(model) * sizeof(sefr_weight);
    if (at < end) {
        return byte_of((uint32_t)model->weights[at / sizeof(sefr_weight)], (uint8_t)(at & (sizeof(sefr_weight) - 1)));
    }
    at -= end;
    return (uint8_t)((sefr_margin)model->bias[at / sizeof(sefr_score)] >> (8 * (at & (sizeof(sefr_score) - 1))));
}
#endif

/* The byte at a place before the checksum. */
static uint8_t state_byte(const sefr_model *model, uint32_t sequence, uint32_t at) {
    uint32_t sum_bytes = (uint32_t)model->features * model->classes * sizeof(sefr_sum);
    if (at < HEADER) return header_byte(model, sequence, (uint8_t)at);
    at -= HEADER;
    if (at < 4U * (uint32_t)model->classes) return byte_of(model->counts[at >> 2], (uint8_t)at);
    at -= 4U * (uint32_t)model->classes;
    if (at < sum_bytes) {
        uint32_t sum = model->sums[at / sizeof(sefr_sum)];
        return byte_of(sum, (uint8_t)(at & (sizeof(sefr_sum) - 1)));
    }
    at -= sum_bytes;
    if (RANGES_OF(model)) {
        if (at < 2U * (uint32_t)model->features) return RANGES_OF(model)[at];
        at -= 2U * (uint32_t)model->features;
    }
#ifndef SEFR_NO_CORRECT
    if (at < weight_bytes(model, flags_of(model))) return weight_byte(model, at);
    at -= weight_bytes(model, flags_of(model));
#endif
    return byte_of(model->base, (uint8_t)at);
}

/* The most that a state of this model may take. */
static uint32_t largest_bytes(const sefr_model *model) {
    uint8_t flags = flags_of(model);
    if (KEEPS_WEIGHTS(model)) flags |= WITH_WEIGHTS;
    return bytes_with(model, flags);
}

static sefr_place stored_bytes(const sefr_model *model, const sefr_storage *storage, sefr_place begin) {
    return (sefr_place)bytes_with(model, read_byte(storage, (sefr_place)(begin + 7U)));
}

static sefr_sum read_sum(const sefr_storage *storage, sefr_place at) {
#if SEFR_SUM_BITS == 8
    return read_byte(storage, at);
#elif SEFR_SUM_BITS == 16
    return (sefr_sum)(read_byte(storage, at) | read_byte(storage, (sefr_place)(at + 1U)) << 8);
#else
    return read_word(storage, at);
#endif
}

/* Whether a state is meant for this model (magic, version, shape, id) and there is room for it. */
static sefr_status check_head(const sefr_model *model, const sefr_storage *storage, sefr_place begin, sefr_place room) {
    uint8_t at;
    if (room < HEADER) return SEFR_BAD_STATE;
    for (at = 0; at < HEADER; at++) {
        uint8_t value = read_byte(storage, (sefr_place)(begin + at)), expected = header_byte(model, 0, at);
        if (at == 7) { /* a state may have weights, of either width, that the model does not ask for */
            if ((value & 0xC0) || (value & 6) == 6) return SEFR_BAD_SHAPE;
            value &= WITH_RANGES | 24;
            expected &= WITH_RANGES | 24;
        }
        if (value != expected && (at < 12 || at >= 16)) {
            if (at == 3) return SEFR_OTHER_MODEL; /* a state of one class, or of a regression */
            return at < 4 ? SEFR_BAD_STATE : at == 4 ? SEFR_BAD_VERSION : at < 12 ? SEFR_BAD_SHAPE : SEFR_OTHER_MODEL;
        }
    }
    return stored_bytes(model, storage, begin) > room ? SEFR_BAD_STATE : SEFR_OK;
}

/* The invariant of learning: a checksum can be right and the contents still not be something a board learned. */
static sefr_status check_contents(const sefr_model *model, const sefr_storage *storage, sefr_place begin) {
    sefr_place counts = (sefr_place)(begin + HEADER), at = (sefr_place)(counts + 4U * model->classes);
    uint32_t left = SEFR_MAX_RECORDS;
    sefr_index j;
    uint8_t c;
    for (c = 0; c < model->classes; c++) {
        uint32_t count = read_word(storage, (sefr_place)(counts + 4U * c));
        if (count > left) return SEFR_BAD_STATE;
#if SEFR_SUM_BITS == 32
        left -= count;
#endif
        for (j = 0; j < model->features; j++, at = (sefr_place)(at + sizeof(sefr_sum))) {
            if (read_sum(storage, at) > MOST_VALUE * count) return SEFR_BAD_STATE;
        }
    }
    return SEFR_OK;
}
