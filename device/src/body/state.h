/* Sums -> bytes. Every byte of a state is a function of the model and its place, so that checksum, save, send and compare
 * are the same loop, and no buffer is needed. */

#define HEADER 20U
enum { WITH_RANGES = 1, WITH_INT8 = 2, WITH_INT16 = 4, WITH_BINS = SEFR_BINS }; /* 8 or 16 stands for itself */
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
    return flags;
}

/* The bytes of a state with these flags, of whatever width its weights are. */
static uint32_t bytes_with(const sefr_model *model, uint8_t flags) {
    uint32_t bytes = SEFR_STATE_BYTES(RECORD_BYTES(model), model->classes, flags & WITH_RANGES);
#ifndef SEFR_NO_CORRECT
    if (flags & WITH_INT8) bytes += ROWS_OF(model) * ((uint32_t)model->features + 4U);
    if (flags & WITH_INT16) bytes += ROWS_OF(model) * (2U * (uint32_t)model->features + 8U);
#endif
    return bytes;
}

uint32_t sefr_state_bytes(const sefr_model *model) { return bytes_with(model, flags_of(model)); }

static uint8_t byte_of(uint32_t value, uint8_t place) { return (uint8_t)(value >> (uint8_t)(8 * (place & 3))); }

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
    uint32_t weight_bytes = (uint32_t)model->features * ROWS_OF(model) * sizeof(sefr_weight);
    if (at < weight_bytes) {
        return byte_of((uint32_t)model->weights[at / sizeof(sefr_weight)], (uint8_t)(at & (sizeof(sefr_weight) - 1)));
    }
    at -= weight_bytes;
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
    return weight_byte(model, at);
#else
    return 0;
#endif
}

static uint32_t crc_step(uint32_t crc, uint8_t value) {
    uint8_t bit;
    crc ^= value;
    for (bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320UL : 0);
    return crc;
}

/* Gives every byte of the state to put, in order. */
SEFR_APART sefr_status emit(const sefr_model *model, uint32_t sequence, sefr_writer put, void *context) {
    uint32_t at, crc = 0xFFFFFFFFUL, body = sefr_state_bytes(model) - 4;
    uint8_t i;
    for (at = 0; at < body; at++) {
        uint8_t value = state_byte(model, sequence, at);
        crc = crc_step(crc, value);
        if (put(context, value)) return SEFR_IO;
    }
    for (i = 0; i < 4; i++) {
        if (put(context, byte_of(~crc, i))) return SEFR_IO;
    }
    return SEFR_OK;
}

sefr_status sefr_send(const sefr_model *model, sefr_writer put, void *context) {
    return emit(model, 0, put, context);
}
