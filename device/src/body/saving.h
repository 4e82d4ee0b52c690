/* A save in steps, each of one program, one erase or a few reads: the same bytes at the same places as save_next. Nothing is
 * kept but numbers, so the model may have learned between two steps: its checksum before the first is what the state must
 * have at its end, and else the end is not written. */
#ifndef SEFR_NO_STEPS

enum { CHOOSING, WRITING, SYNCING, READING, ENDED };
#define READ_AT_ONCE 16U

static sefr_status end_with(sefr_saving *saving, sefr_status status) {
    saving->step = ENDED;
    saving->status = (uint8_t)status;
    return status;
}

static uint32_t crc_of_state(const owner *model, uint32_t sequence, uint32_t body) {
    uint32_t at, crc = 0xFFFFFFFFUL;
    for (at = 0; at < body; at++) crc = crc_step(crc, state_byte(model, sequence, at));
    return crc;
}

static sefr_status begin_saving(const owner *model, const sefr_storage *storage, sefr_saving *saving) {
    found newest;
    ring r;
    sefr_place place;
    sefr_status status;
    lay_out(&r, model, storage);
    newest.begin = 0;
    newest.bytes = 0;
    status = find_place(model, &r, &newest, &place, &saving->sequence);
    if (status != SEFR_OK) return end_with(saving, status);
    saving->storage = storage;
    saving->place = place;
    saving->left = r.places;
    saving->newest = newest.begin;
    saving->newest_bytes = newest.bytes;
    saving->body = state_bytes(model) - 4U;
    saving->expected = crc_of_state(model, saving->sequence, saving->body);
    saving->status = SEFR_NO_ROOM;
    saving->step = CHOOSING;
    return SEFR_BUSY;
}

/* This place is not good for it: the next one. */
static sefr_status pass_over(sefr_saving *saving) {
    saving->status = SEFR_IO;
    saving->step = CHOOSING;
    return SEFR_BUSY;
}

static sefr_status choose_place(const owner *model, sefr_saving *saving) {
    found newest;
    ring r;
    sefr_place place = (sefr_place)saving->place;
    lay_out(&r, model, saving->storage);
    newest.begin = (sefr_place)saving->newest;
    newest.bytes = (sefr_place)saving->newest_bytes;
    if (saving->left == 0) return end_with(saving, (sefr_status)saving->status);
    if (place >= r.places) place = 0;
    saving->left--;
    saving->place = place + 1U;
    if (destroys(&r, place, &newest)) return SEFR_BUSY;
    if (!is_writable(&r, place)) return pass_over(saving);
    saving->address = address_of(&r, place);
    saving->at = 0;
    saving->crc = 0xFFFFFFFFUL;
    saving->step = WRITING;
    return SEFR_BUSY;
}

/* Bytes until one program is done. */
static sefr_status write_some(const owner *model, sefr_saving *saving) {
    uint32_t end = saving->body + 4U;
    cursor c;
    c.storage = saving->storage;
    c.at = (sefr_place)(saving->address + saving->at);
    c.filled = 0;
    do {
        uint8_t value;
        if (saving->at < saving->body) {
            value = state_byte(model, saving->sequence, saving->at);
            saving->crc = crc_step(saving->crc, value);
        } else {
            if (saving->crc != saving->expected) return end_with(saving, SEFR_CHANGED);
            value = saving->at < end ? byte_of(~saving->crc, (uint8_t)(saving->at - saving->body)) : 0xFF;
        }
        saving->at++;
        if (program_byte(&c, value)) return pass_over(saving);
    } while (c.filled);
    if (saving->at >= end) saving->step = SYNCING;
    return SEFR_BUSY;
}

static sefr_status sync_all(sefr_saving *saving) {
    const sefr_storage *storage = saving->storage;
    if (storage->sync && storage->sync(storage->context)) return pass_over(saving);
    saving->at = 0;
    saving->crc = 0xFFFFFFFFUL;
    saving->step = READING;
    return SEFR_BUSY;
}

/* Whether what was written reads back. */
static sefr_status read_some(sefr_saving *saving) {
    uint8_t left = READ_AT_ONCE;
    for (; left && saving->at < saving->body; left--, saving->at++) {
        saving->crc = crc_step(saving->crc, read_byte(saving->storage, (sefr_place)(saving->address + saving->at)));
    }
    if (saving->at < saving->body) return SEFR_BUSY;
    if (saving->crc != saving->expected) return pass_over(saving);
    if (read_word(saving->storage, (sefr_place)(saving->address + saving->body)) != (uint32_t)~saving->crc) return pass_over(saving);
    return end_with(saving, SEFR_OK);
}

static sefr_status step_saving(const owner *model, sefr_saving *saving) {
    switch (saving->step) {
    case CHOOSING: return choose_place(model, saving);
    case WRITING: return write_some(model, saving);
    case SYNCING: return sync_all(saving);
    case READING: return read_some(saving);
    default: return (sefr_status)saving->status;
    }
}
#endif
