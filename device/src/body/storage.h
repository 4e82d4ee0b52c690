/* States in a memory. The memory is a ring of places of one state each; a group of places is what is erased together. A
 * save goes to the place after the newest state, so every byte wears alike. Only a checksum says that a state is whole:
 * no byte is written twice, as NOR flash demands. */

/* A place in a storage. On AVR 64 KB are enough, and half the code. */
#ifdef __AVR__
typedef uint16_t sefr_place;
#define MOST_BYTES 65535UL
#else
typedef uint32_t sefr_place;
#define MOST_BYTES 0xFFFFFFFFUL
#endif

typedef struct {
    const sefr_storage *storage;
    sefr_place total;       /* bytes of the storage */
    sefr_place place_bytes; /* the largest state, up to a multiple of program_bytes */
    sefr_place per_group;   /* places per group */
    sefr_place block_bytes; /* 0 without erase */
    sefr_place group_bytes;
    sefr_place places;
} ring;

static sefr_place rounded_up(sefr_place value, sefr_place unit) {
    return (sefr_place)((sefr_place)(value + unit - 1U) / unit * unit);
}

static void lay_out(ring *r, const sefr_model *model, const sefr_storage *storage) {
    uint8_t flags = RANGES_OF(model) ? WITH_RANGES : 0;
    uint32_t blocks = storage->blocks;
    if (KEEPS_WEIGHTS(model)) flags |= WITH_WEIGHTS;
    if (blocks > MOST_BYTES / storage->block_bytes) blocks = MOST_BYTES / storage->block_bytes;
    r->storage = storage;
    r->total = (sefr_place)(blocks * storage->block_bytes);
    r->place_bytes = (sefr_place)bytes_with(model, flags);
    if (storage->program_bytes > 1) r->place_bytes = rounded_up(r->place_bytes, (sefr_place)storage->program_bytes);
    r->per_group = 1;
    r->block_bytes = 0;
    r->group_bytes = r->place_bytes;
    if (storage->erase) {
        r->block_bytes = (sefr_place)storage->block_bytes;
        r->group_bytes = rounded_up(r->place_bytes, r->block_bytes);
        if (r->group_bytes == r->block_bytes) r->per_group = r->block_bytes / r->place_bytes;
    }
    r->places = (sefr_place)(r->total / r->group_bytes * r->per_group);
}

static sefr_place address_of(const ring *r, sefr_place place) {
    return (sefr_place)(place / r->per_group * r->group_bytes + place % r->per_group * r->place_bytes);
}

/* A byte that cannot be read is one that a checksum will not match. */
SEFR_APART uint8_t read_byte(const sefr_storage *storage, sefr_place at) {
    uint8_t value = 0;
    if (storage->read(storage->context, at, &value, 1)) return 0;
    return value;
}

SEFR_APART uint32_t read_word(const sefr_storage *storage, sefr_place at) {
    uint32_t word = 0;
    uint8_t i;
    for (i = 4; i; i--) word = (word << 8) | read_byte(storage, (sefr_place)(at + i - 1U));
    return word;
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

/* Whether a state is meant for this model: magic, version, shape, id. */
static sefr_status check_header(const sefr_model *model, const sefr_storage *storage, sefr_place begin) {
    uint8_t at;
    for (at = 0; at < HEADER; at++) {
        uint8_t value = read_byte(storage, (sefr_place)(begin + at)), expected = header_byte(model, 0, at);
        if (at == 7) { /* a state may have weights, of either width, that the model does not ask for */
            if (value > 29 || (value & 6) == 6) return SEFR_BAD_SHAPE;
            uint8_t compared = WITH_RANGES;
            compared = (uint8_t)(compared | 24);
            value &= compared;
            expected &= compared;
        }
        if (value != expected && (at < 12 || at >= 16)) {
            return at < 4 ? SEFR_BAD_STATE : at == 4 ? SEFR_BAD_VERSION : at < 12 ? SEFR_BAD_SHAPE : SEFR_OTHER_MODEL;
        }
    }
    return SEFR_OK;
}

static sefr_status check_crc(const sefr_storage *storage, sefr_place begin, sefr_place body) {
    sefr_place at;
    uint32_t crc = 0xFFFFFFFFUL;
    for (at = 0; at < body; at++) crc = crc_step(crc, read_byte(storage, (sefr_place)(begin + at)));
    return read_word(storage, (sefr_place)(begin + body)) == (uint32_t)~crc ? SEFR_OK : SEFR_BAD_STATE;
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

static sefr_status check_place(const sefr_model *model, const ring *r, sefr_place begin) {
    const sefr_storage *storage = r->storage;
    uint32_t bytes;
    sefr_status status;
    if (r->total - begin < HEADER) return SEFR_BAD_STATE;
    status = check_header(model, storage, begin);
    if (status != SEFR_OK) return status;
    bytes = bytes_with(model, read_byte(storage, (sefr_place)(begin + 7U)));
    if (bytes > (sefr_place)(r->total - begin)) return SEFR_BAD_STATE;
    status = check_crc(storage, begin, (sefr_place)(bytes - 4U));
    return status == SEFR_OK ? check_contents(model, storage, begin) : status;
}

/* The place of the newest good state; else the reason that says most about why there is none. */
static sefr_status find_newest(const sefr_model *model, const ring *r, sefr_place *newest) {
    sefr_status reason = SEFR_BAD_STATE;
    sefr_place place;
    uint32_t newest_sequence = 0;
    for (place = 0; place < r->places || place == 0; place++) {
        sefr_place begin = address_of(r, place);
        uint32_t sequence;
        sefr_status status = check_place(model, r, begin);
        if (status != SEFR_OK) {
            if (reason != SEFR_OK && reason != SEFR_OTHER_MODEL && (status < reason || status == SEFR_OTHER_MODEL)) {
                reason = status;
            }
            continue;
        }
        sequence = read_word(r->storage, (sefr_place)(begin + 12U));
        /* Sequence numbers wrap around: the newer is the one less than half a circle ahead. */
        if (reason != SEFR_OK || (sequence != newest_sequence && sequence - newest_sequence < 0x80000000UL)) {
            newest_sequence = sequence;
            *newest = place;
        }
        reason = SEFR_OK;
    }
    return reason;
}

/* Where the next byte of a state goes, or is compared. */
typedef struct {
    const sefr_storage *storage;
    sefr_place at;
    sefr_place filled; /* bytes in the buffer */
} cursor;

static int program_byte(void *context, uint8_t value) {
    cursor *c = (cursor *)context;
    const sefr_storage *storage = c->storage;
    if (storage->program_bytes <= 1) return storage->program(storage->context, c->at++, &value, 1);
    storage->buffer[c->filled++] = value;
    if (c->filled < storage->program_bytes) return 0;
    c->at = (sefr_place)(c->at + c->filled);
    c->filled = 0;
    return storage->program(storage->context, c->at - storage->program_bytes, storage->buffer, storage->program_bytes);
}

static int compare_byte(void *context, uint8_t value) {
    cursor *c = (cursor *)context;
    return read_byte(c->storage, c->at++) != value;
}

/* Makes the bytes of a place writable: erases the group that it begins, or finds it blank. */
static uint8_t is_writable(const ring *r, sefr_place place) {
    const sefr_storage *storage = r->storage;
    sefr_place at = address_of(r, place), i;
    if (!storage->erase) return 1;
    if (place % r->per_group == 0) {
        for (i = 0; i < r->group_bytes / r->block_bytes; i++) {
            if (storage->erase(storage->context, (uint32_t)at / r->block_bytes + i)) return 0;
        }
    }
    for (i = 0; i < r->place_bytes; i++) {
        if (read_byte(storage, (sefr_place)(at + i)) != 0xFF) return 0;
    }
    return 1;
}

static sefr_status write_place(const sefr_model *model, const ring *r, sefr_place place, uint32_t sequence) {
    const sefr_storage *storage = r->storage;
    cursor c;
    c.storage = storage;
    c.at = address_of(r, place);
    c.filled = 0;
    if (!is_writable(r, place) || emit(model, sequence, program_byte, &c) != SEFR_OK) return SEFR_IO;
    while (c.filled) {
        if (program_byte(&c, 0xFF)) return SEFR_IO;
    }
    if (storage->sync && storage->sync(storage->context)) return SEFR_IO;
    c.at = address_of(r, place);
    return emit(model, sequence, compare_byte, &c);
}

sefr_status sefr_save(const sefr_model *model, const sefr_storage *storage) {
    sefr_place place, newest = 0, left;
    uint32_t sequence = 0;
    ring r;
    lay_out(&r, model, storage);
    if (r.places < 2U * r.per_group) return SEFR_NO_ROOM;
    place = (sefr_place)(r.places - 1U);
    left = r.places;
    if (find_newest(model, &r, &newest) == SEFR_OK) {
        sequence = read_word(storage, (sefr_place)(address_of(&r, newest) + 12U)) + 1;
        place = newest;
        left = (sefr_place)(r.places - 1U - newest % r.per_group); /* up to the group of the newest: that is not erased */
    }
    for (; left; left--) {
        if (++place == r.places) place = 0;
        if (write_place(model, &r, place, sequence) == SEFR_OK) return SEFR_OK;
    }
    return SEFR_IO;
}

#ifndef SEFR_NO_CORRECT
static void restore_weights(sefr_model *model, const sefr_storage *storage, sefr_place at) {
    sefr_index i, n = model->features * ROWS_OF(model);
    uint8_t byte;
    for (i = 0; i < n; i++, at = (sefr_place)(at + sizeof(sefr_weight))) {
        model->weights[i] = (sefr_weight)read_byte(storage, at);
        if (SEFR_WEIGHT_BITS == 16) {
            model->weights[i] = (sefr_weight)((uint8_t)model->weights[i] | read_byte(storage, (sefr_place)(at + 1U)) << 8);
        }
    }
    for (i = 0; i < ROWS_OF(model); i++) {
        sefr_margin bias = 0;
        for (byte = 0; byte < sizeof(sefr_score); byte++) bias |= (sefr_margin)read_byte(storage, at++) << (8 * byte);
        model->bias[i] = (sefr_score)bias;
    }
    model->solved = 1;
}
#endif

sefr_status sefr_restore(sefr_model *model, const sefr_storage *storage) {
    sefr_place place = 0, at, begin;
    sefr_index i, cells = model->features * model->classes;
    uint8_t c;
    ring r;
    sefr_status status;
    lay_out(&r, model, storage);
    status = find_newest(model, &r, &place);
    if (status != SEFR_OK) return status;
    begin = address_of(&r, place);
    at = (sefr_place)(begin + HEADER);
    for (c = 0; c < model->classes; c++, at = (sefr_place)(at + 4U)) model->counts[c] = (sefr_count)read_word(storage, at);
    for (i = 0; i < cells; i++, at = (sefr_place)(at + sizeof(sefr_sum))) model->sums[i] = read_sum(storage, at);
    if (RANGES_OF(model)) {
        for (i = 0; i < 2 * model->features; i++, at++) RANGES_OF(model)[i] = read_byte(storage, at);
    }
    model->solved = 0;
    model->fresh = 0;
#ifndef SEFR_NO_CORRECT
    if (KEEPS_WEIGHTS(model) && (read_byte(storage, (sefr_place)(begin + 7U)) & WITH_WEIGHTS)) restore_weights(model, storage, at);
#endif
    return SEFR_OK;
}
