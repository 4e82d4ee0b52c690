/* A model to a line or a memory, and back. */

sefr_status sefr_send(const sefr_model *model, sefr_writer put, void *context) {
    return emit(model, 0, put, context);
}

sefr_status sefr_save(const sefr_model *model, const sefr_storage *storage) { return save_next(model, storage); }

#ifndef SEFR_NO_STEPS
sefr_status sefr_save_begin(const sefr_model *model, const sefr_storage *storage, sefr_saving *saving) {
    return begin_saving(model, storage, saving);
}

sefr_status sefr_save_step(const sefr_model *model, sefr_saving *saving) { return step_saving(model, saving); }
#endif

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
    sefr_place at, begin;
    sefr_index i, cells = model->features * model->classes;
    uint8_t c;
    sefr_status status = newest_in(model, storage, &begin);
    if (status != SEFR_OK) return status;
    at = (sefr_place)(begin + HEADER);
    for (c = 0; c < model->classes; c++, at = (sefr_place)(at + 4U)) model->counts[c] = (sefr_count)read_word(storage, at);
    for (i = 0; i < cells; i++, at = (sefr_place)(at + sizeof(sefr_sum))) model->sums[i] = read_sum(storage, at);
    if (RANGES_OF(model)) {
        for (i = 0; i < 2 * model->features; i++, at++) RANGES_OF(model)[i] = read_byte(storage, at);
    }
    model->base = 0;
    if (read_byte(storage, (sefr_place)(begin + 7U)) & WITH_BASE) {
        model->base = read_word(storage, (sefr_place)(begin + stored_bytes(model, storage, begin) - 8U));
    }
    model->solved = 0;
    model->fresh = 0;
#ifndef SEFR_NO_CORRECT
    if (KEEPS_WEIGHTS(model) && (read_byte(storage, (sefr_place)(begin + 7U)) & WITH_WEIGHTS)) restore_weights(model, storage, at);
#endif
    return SEFR_OK;
}

/* Blanks the head of a state: its magic is then no longer one. */
static int blank_head(const sefr_storage *storage, sefr_place at) {
    uint8_t blank = 0xFF;
    uint32_t i;
    if (storage->program_bytes <= 1) return storage->program(storage->context, at, &blank, 1);
    for (i = 0; i < storage->program_bytes; i++) storage->buffer[i] = blank;
    return storage->program(storage->context, at, storage->buffer, storage->program_bytes);
}

sefr_status sefr_discard(const sefr_storage *storage) {
    uint32_t at, total = bytes_of(storage);
    uint32_t step = storage->erase ? storage->block_bytes : storage->program_bytes > 1 ? storage->program_bytes : 1;
    for (at = 0; at + 3 < total; at += step) {
        if (storage->erase) {
            if (storage->erase(storage->context, at / step)) return SEFR_IO;
        } else if ((read_word(storage, (sefr_place)at) & 0xFFFFFFUL) == 0x464553UL) { /* "SEF" */
            if (blank_head(storage, (sefr_place)at)) return SEFR_IO;
        }
    }
    return storage->sync && storage->sync(storage->context) ? SEFR_IO : SEFR_OK;
}
