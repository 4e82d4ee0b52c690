/* Sums -> bytes and back. Every byte of a state is a function of the model and its place, so that checksum, save,
 * send and compare are the same loop, and no buffer is needed. */

uint8_t sefr_byte(int32_t value, int32_t low, int32_t high) {
    uint32_t range = (uint32_t)high - (uint32_t)low;
    if (high <= low || value <= low) return 0;
    if (value >= high) return 255;
    return (uint8_t)((255U * ((uint32_t)value - (uint32_t)low) + (range >> 1)) / range);
}

#define HEADER 16U

uint32_t sefr_state_bytes(const sefr_model *model) {
    return SEFR_STATE_BYTES(model->features, model->classes, model->ranges);
}

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
    case 7: return model->ranges ? 1 : 0;
    case 8:
    case 9:
    case 10:
    case 11: return byte_of(model->features, at);
    default: return byte_of(sequence, at);
    }
}

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
    return model->ranges[at - sum_bytes];
}

static uint32_t crc_step(uint32_t crc, uint8_t value) {
    uint8_t bit;
    crc ^= value;
    for (bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320UL : 0);
    return crc;
}

static uint32_t read_word(const sefr_storage *storage, uint32_t at) {
    uint32_t word = 0;
    uint8_t i;
    for (i = 4; i; i--) word = (word << 8) | storage->read(storage->context, at + i - 1U);
    return word;
}

sefr_status sefr_send(const sefr_model *model, sefr_writer put, void *context) {
    uint32_t at, crc = 0xFFFFFFFFUL, body = sefr_state_bytes(model) - 4;
    uint8_t i;
    for (at = 0; at < body; at++) {
        uint8_t value = state_byte(model, 0, at);
        crc = crc_step(crc, value);
        if (put(context, value)) return SEFR_IO;
    }
    for (i = 0; i < 4; i++) {
        if (put(context, byte_of(~crc, i))) return SEFR_IO;
    }
    return SEFR_OK;
}

/* Whether a slot is meant for this model: magic, version, shape. */
static sefr_status check_header(const sefr_model *model, const sefr_storage *storage, uint32_t slot) {
    uint8_t at;
    for (at = 0; at < 12; at++) {
        if (storage->read(storage->context, slot + at) != header_byte(model, 0, at)) {
            return at < 4 ? SEFR_BAD_STATE : at == 4 ? SEFR_BAD_VERSION : SEFR_BAD_SHAPE;
        }
    }
    return SEFR_OK;
}

static sefr_status check_crc(const sefr_model *model, const sefr_storage *storage, uint32_t slot) {
    uint32_t at, crc = 0xFFFFFFFFUL, body = sefr_state_bytes(model) - 4;
    for (at = 0; at < body; at++) crc = crc_step(crc, storage->read(storage->context, slot + at));
    return read_word(storage, slot + body) == (uint32_t)~crc ? SEFR_OK : SEFR_BAD_STATE;
}

static uint32_t read_sum(const sefr_storage *storage, uint32_t at) {
#if SEFR_SUM_BITS == 16
    return storage->read(storage->context, at) | (uint32_t)storage->read(storage->context, at + 1) << 8;
#else
    return read_word(storage, at);
#endif
}

/* The invariant of learning: a checksum can be right and the contents still not be something a board learned. */
static sefr_status check_contents(const sefr_model *model, const sefr_storage *storage, uint32_t slot) {
    uint32_t counts = slot + HEADER, at = counts + 4U * (uint32_t)model->classes, left = SEFR_MAX_RECORDS;
    sefr_index j;
    uint8_t c;
    for (c = 0; c < model->classes; c++) {
        uint32_t count = read_word(storage, counts + 4U * (uint32_t)c);
        if (count > left) return SEFR_BAD_STATE;
#if SEFR_SUM_BITS == 32
        left -= count;
#endif
        for (j = 0; j < model->features; j++, at += sizeof(sefr_sum)) {
            if (read_sum(storage, at) > 255U * count) return SEFR_BAD_STATE;
        }
    }
    return SEFR_OK;
}

static sefr_status check_slot(const sefr_model *model, const sefr_storage *storage, uint32_t slot) {
    sefr_status status;
    if (slot + sefr_state_bytes(model) > storage->size) return SEFR_BAD_STATE;
    status = check_header(model, storage, slot);
    if (status == SEFR_OK) status = check_crc(model, storage, slot);
    if (status == SEFR_OK) status = check_contents(model, storage, slot);
    return status;
}

/* The slot with the newest good state; *slot is set only on SEFR_OK. */
static sefr_status find_newest(const sefr_model *model, const sefr_storage *storage, uint32_t *slot) {
    uint32_t second = sefr_state_bytes(model);
    sefr_status in_first = check_slot(model, storage, 0), in_second = check_slot(model, storage, second);
    if (in_first != SEFR_OK && in_second != SEFR_OK) return in_first > in_second ? in_second : in_first;
    if (in_first != SEFR_OK) {
        *slot = second;
    } else if (in_second != SEFR_OK) {
        *slot = 0;
    } else {
        /* Sequence numbers wrap around: the newer is the one less than half a circle ahead. */
        uint32_t ahead = read_word(storage, second + 12) - read_word(storage, 12);
        *slot = ahead != 0 && ahead < 0x80000000UL ? second : 0;
    }
    return SEFR_OK;
}

/* Writes and reads back all but the first byte of a slot. */
static sefr_status write_slot(const sefr_model *model, const sefr_storage *storage, uint32_t slot, uint32_t sequence) {
    uint32_t at, body = sefr_state_bytes(model) - 4, crc = crc_step(0xFFFFFFFFUL, 'S');
    uint8_t i;
    for (at = 1; at < body; at++) {
        uint8_t value = state_byte(model, sequence, at);
        crc = crc_step(crc, value);
        if (storage->write(storage->context, slot + at, value)) return SEFR_IO;
    }
    for (i = 0; i < 4; i++) {
        if (storage->write(storage->context, slot + body + i, byte_of(~crc, i))) return SEFR_IO;
    }
    for (at = 1; at < body; at++) {
        if (storage->read(storage->context, slot + at) != state_byte(model, sequence, at)) return SEFR_IO;
    }
    return read_word(storage, slot + body) == (uint32_t)~crc ? SEFR_OK : SEFR_IO;
}

sefr_status sefr_save(const sefr_model *model, const sefr_storage *storage) {
    uint32_t bytes = sefr_state_bytes(model), newest = bytes, sequence = 0, slot;
    if (storage->size / 2 < bytes) return SEFR_NO_ROOM;
    if (find_newest(model, storage, &newest) == SEFR_OK) sequence = read_word(storage, newest + 12) + 1;
    slot = newest == 0 ? bytes : 0;
    if (storage->write(storage->context, slot, 0)) return SEFR_IO;
    if (write_slot(model, storage, slot, sequence) != SEFR_OK) return SEFR_IO;
    return storage->write(storage->context, slot, 'S') ? SEFR_IO : SEFR_OK;
}

sefr_status sefr_restore(sefr_model *model, const sefr_storage *storage) {
    uint32_t slot = 0, at;
    sefr_index i, cells = model->features * model->classes;
    uint8_t c;
    sefr_status status = find_newest(model, storage, &slot);
    if (status != SEFR_OK) return status;
    at = slot + HEADER;
    for (c = 0; c < model->classes; c++, at += 4) model->counts[c] = (sefr_count)read_word(storage, at);
    for (i = 0; i < cells; i++, at += sizeof(sefr_sum)) model->sums[i] = (sefr_sum)read_sum(storage, at);
    if (model->ranges) {
        for (i = 0; i < 2 * model->features; i++, at++) model->ranges[i] = storage->read(storage->context, at);
    }
    model->solved = 0;
    model->fresh = 0;
    return SEFR_OK;
}
