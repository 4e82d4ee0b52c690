/* States in a memory. The memory is a ring of places of one state each; a group of places is what is erased together. A
 * save goes to the place after the newest state, so every byte wears alike. Only a checksum says that a state is whole:
 * no byte is written twice, as NOR flash demands.
 *
 * Whose states they are is said before: the type owner, and of it state_bytes (now), largest_bytes (ever), state_byte (at a
 * place before the checksum) and check_state (whether one begins there). */

/* Gives every byte of the state to put, in order. */
SEFR_APART sefr_status emit(const owner *model, uint32_t sequence, sefr_writer put, void *context) {
    uint32_t at, crc = 0xFFFFFFFFUL, body = state_bytes(model) - 4;
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

static void lay_out(ring *r, const owner *model, const sefr_storage *storage) {
    uint32_t blocks = storage->blocks;
    if (blocks > MOST_BYTES / storage->block_bytes) blocks = MOST_BYTES / storage->block_bytes;
    r->storage = storage;
    r->total = (sefr_place)(blocks * storage->block_bytes);
    r->place_bytes = (sefr_place)largest_bytes(model);
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

/* The place of the newest good state; else the reason that says most about why there is none. */
static sefr_status find_newest(const owner *model, const ring *r, sefr_place *newest) {
    sefr_status reason = SEFR_BAD_STATE;
    sefr_place place;
    uint32_t newest_sequence = 0;
    for (place = 0; place < r->places || place == 0; place++) {
        sefr_place begin = address_of(r, place);
        uint32_t sequence;
        sefr_status status = check_state(model, r->storage, begin, (sefr_place)(r->total - begin));
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

static sefr_status write_place(const owner *model, const ring *r, sefr_place place, uint32_t sequence) {
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

static sefr_status save_next(const owner *model, const sefr_storage *storage) {
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

/* Where the newest good state begins. */
static sefr_status newest_in(const owner *model, const sefr_storage *storage, sefr_place *begin) {
    sefr_place place = 0;
    ring r;
    sefr_status status;
    lay_out(&r, model, storage);
    status = find_newest(model, &r, &place);
    *begin = address_of(&r, place);
    return status;
}
