/* States in a memory. The memory is a ring of places of one state each; a group of places is what is erased together. A
 * save goes to the place after the newest state, so every byte wears alike. Only a checksum says that a state is whole:
 * no byte is written twice, as NOR flash demands.
 *
 * Whose states they are is said before: the type owner, and of it state_bytes (now), largest_bytes (ever), state_byte (at a
 * place before the checksum), check_head (whether one begins there, and there is room for it), stored_bytes (of the one that
 * does) and check_contents (whether it could be learned). */

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
    sefr_place step;        /* states begin at multiples of it */
    sefr_place place_bytes; /* the largest state, up to a multiple of step */
    sefr_place per_group;   /* places per group */
    sefr_place block_bytes; /* 0 without erase */
    sefr_place group_bytes;
    sefr_place places;
} ring;

static sefr_place rounded_up(sefr_place value, sefr_place unit) {
    return (sefr_place)((sefr_place)(value + unit - 1U) / unit * unit);
}

static void lay_out(ring *r, const owner *model, const sefr_storage *storage) {
    r->storage = storage;
    r->total = bytes_of(storage);
    r->step = (sefr_place)(storage->program_bytes > 1 ? storage->program_bytes : 1);
    r->place_bytes = rounded_up((sefr_place)largest_bytes(model), r->step);
    r->per_group = 1;
    r->block_bytes = 0;
    r->group_bytes = r->place_bytes;
    if (storage->erase && r->total) {
        r->block_bytes = (sefr_place)storage->block_bytes;
        r->group_bytes = rounded_up(r->place_bytes, r->block_bytes);
        if (r->group_bytes == r->block_bytes) r->per_group = r->block_bytes / r->place_bytes;
    }
    r->places = (sefr_place)(r->total / r->group_bytes * r->per_group);
}

static sefr_place address_of(const ring *r, sefr_place place) {
    return (sefr_place)(place / r->per_group * r->group_bytes + place % r->per_group * r->place_bytes);
}

/* A good state, wherever it begins. */
typedef struct {
    sefr_place begin;
    sefr_place bytes; /* 0: there is none */
    uint32_t sequence;
} found;

static sefr_status check_body(const owner *model, const sefr_storage *storage, sefr_place begin) {
    sefr_status status = check_crc(storage, begin, (sefr_place)(stored_bytes(model, storage, begin) - 4U));
    return status == SEFR_OK ? check_contents(model, storage, begin) : status;
}

/* Sequence numbers wrap around: the newer is the one less than half a circle ahead. */
#define HALF_CIRCLE 0x80000000UL

/* The newest of the states that are whole or, in a first look, of those whose heads are: else the reason that says most about
 * why there is none. States are looked for at every address, not only at the places of this ring: an option that changes the
 * size of a state changes the places. Saves leave numbers that follow each other; a head whose number is far from the others
 * is damaged, and might be taken for the newest: that ends the first look. */
static sefr_status look(const owner *model, const ring *r, found *newest, uint8_t whole) {
    sefr_status reason = SEFR_BAD_STATE;
    sefr_place at = 0, left;
    newest->bytes = 0;
    newest->sequence = 0;
    for (left = r->total / r->step; left; left--, at = (sefr_place)(at + r->step)) {
        uint32_t sequence, ahead;
        sefr_status status;
        if (read_byte(r->storage, at) != 'S') continue;
        status = check_head(model, r->storage, at, (sefr_place)(r->total - at));
        if (status == SEFR_OK && whole) status = check_body(model, r->storage, at);
        if (status != SEFR_OK) {
            if (reason != SEFR_OK && reason != SEFR_OTHER_MODEL && (status < reason || status == SEFR_OTHER_MODEL)) {
                reason = status;
            }
            continue;
        }
        sequence = read_word(r->storage, (sefr_place)(at + 12U));
        ahead = sequence - newest->sequence;
        if (reason == SEFR_OK && !whole && (uint32_t)(ahead + 0x10000UL) >> 17) return SEFR_BAD_STATE;
        if (reason != SEFR_OK || (ahead && ahead < HALF_CIRCLE)) {
            newest->begin = at;
            newest->bytes = stored_bytes(model, r->storage, at);
            newest->sequence = sequence;
        }
        reason = SEFR_OK;
    }
    return reason;
}

/* Nearly always the newest by its head is whole, and no other checksum is computed. Chips of 8 KB of flash have no room for
 * that, and few states. */
static sefr_status find_newest(const owner *model, const ring *r, found *newest) {
#if !defined(__AVR__) || FLASHEND >= 0x2000
    if (look(model, r, newest, 0) == SEFR_OK && check_body(model, r->storage, newest->begin) == SEFR_OK) return SEFR_OK;
#endif
    return look(model, r, newest, 1);
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

/* The first place behind a state; one that begins in another state's place may be that of `places`. */
static sefr_place place_after(const ring *r, const found *state) {
    sefr_place group = state->begin / r->group_bytes, end = (sefr_place)(state->begin % r->group_bytes + state->bytes);
    sefr_place within = (sefr_place)((end + r->place_bytes - 1U) / r->place_bytes);
    return (sefr_place)(group * r->per_group + (within < r->per_group ? within : r->per_group));
}

/* Whether writing to a place would destroy bytes of a state. */
static uint8_t destroys(const ring *r, sefr_place place, const found *state) {
    sefr_place begin = address_of(r, place);
    sefr_place bytes = place % r->per_group == 0 && r->block_bytes ? r->group_bytes : r->place_bytes;
    return state->bytes && begin < state->begin + state->bytes && state->begin < begin + bytes;
}

/* Where the next state goes, and its number; else why none can. */
static sefr_status find_place(const owner *model, ring *r, found *newest, sefr_place *place, uint32_t *sequence) {
    sefr_status status;
    *place = 0;
    *sequence = 0;
    if (r->places < 2U * r->per_group) return SEFR_NO_ROOM;
    status = find_newest(model, r, newest);
    if (status == SEFR_OK) {
        *sequence = newest->sequence + 1;
        *place = place_after(r, newest);
    } else if (status != SEFR_BAD_STATE) {
        return status; /* what another model learned: sefr_discard it first */
    }
    return SEFR_OK;
}

static sefr_status save_next(const owner *model, const sefr_storage *storage) {
    sefr_place place, left;
    uint32_t sequence;
    found newest;
    ring r;
    sefr_status status;
    lay_out(&r, model, storage);
    status = find_place(model, &r, &newest, &place, &sequence);
    if (status != SEFR_OK) return status;
    status = SEFR_NO_ROOM; /* until there is a place that may be written */
    for (left = r.places; left; left--, place++) {
        if (place >= r.places) place = 0;
        if (destroys(&r, place, &newest)) continue;
        status = write_place(model, &r, place, sequence);
        if (status == SEFR_OK) return status;
    }
    return status;
}

/* Where the newest good state begins. */
static sefr_status newest_in(const owner *model, const sefr_storage *storage, sefr_place *begin) {
    found newest;
    ring r;
    sefr_status status;
    lay_out(&r, model, storage);
    status = find_newest(model, &r, &newest);
    *begin = newest.begin;
    return status;
}
