/* States of models that always take as many bytes: one class (N), numbers (L), second moments (M). All begin alike:
 *   0  'S' 'E' 'F' KIND     4  version (1)     5 .. 7  the model's     8  features, uint32     12  sequence number, uint32
 *  16  id, uint32          20  the model's
 * Said before: the type owner; KIND; HEADER, the bytes before the sums; SHAPE_END, the place behind those of bytes 5 .. 7 that
 * are part of the shape (5: none); features_of; state_bytes; own_byte (at 5 .. 7 and from 20 on); sum_byte (at a place behind
 * the header); check_contents (whether the sums could be learned). */

static uint32_t largest_bytes(const owner *model) { return state_bytes(model); }

static sefr_place stored_bytes(const owner *model, const sefr_storage *storage, sefr_place begin) {
    (void)storage;
    (void)begin;
    return (sefr_place)state_bytes(model);
}

static uint8_t header_byte(const owner *model, uint32_t sequence, uint8_t at) {
    switch (at) {
    case 0: return 'S';
    case 1: return 'E';
    case 2: return 'F';
    case 3: return KIND;
    case 4: return 1; /* version */
    default: break;
    }
    if (at < 8 || at >= 20) return own_byte(model, at);
    return byte_of(at < 12 ? features_of(model) : at < 16 ? sequence : model->id, at);
}

static uint8_t state_byte(const owner *model, uint32_t sequence, uint32_t at) {
    if (at < HEADER) return header_byte(model, sequence, (uint8_t)at);
    return sum_byte(model, at - HEADER);
}

static sefr_status check_head(const owner *model, const sefr_storage *storage, sefr_place begin, sefr_place room) {
    uint8_t at;
    if (room < HEADER) return SEFR_BAD_STATE;
    for (at = 0; at < 20; at++) {
        if (at == SHAPE_END) at = 8;
        if (at == 12) at = 16;
        if (read_byte(storage, (sefr_place)(begin + at)) != header_byte(model, 0, at)) {
            if (at == 3) return SEFR_OTHER_MODEL;
            return at < 3 ? SEFR_BAD_STATE : at == 4 ? SEFR_BAD_VERSION : at < 12 ? SEFR_BAD_SHAPE : SEFR_OTHER_MODEL;
        }
    }
    return room < state_bytes(model) ? SEFR_BAD_STATE : SEFR_OK;
}
