/* The verbs of a state of one size, and all that they need; what restores it follows. Said before, beside what one_size.h needs:
 * VERB(name), what the model calls a verb; the type saved, an owner that may be saved, const unless that changes it; is_sound;
 * prepare, what is done to it first. */
#include "one_size.h"
#include "ring.h"
#include "saving.h"

sefr_status VERB(send)(const owner *model, sefr_writer put, void *context) {
    return is_sound(model) ? emit(model, 0, put, context) : SEFR_BAD_SHAPE;
}

sefr_status VERB(save)(saved *model, const sefr_storage *storage) {
    if (!is_sound(model)) return SEFR_BAD_SHAPE;
    prepare(model);
    return save_next(model, storage);
}

#ifndef SEFR_NO_STEPS
sefr_status VERB(save_begin)(saved *model, const sefr_storage *storage, sefr_saving *saving) {
    if (!is_sound(model)) return end_with(saving, SEFR_BAD_SHAPE);
    prepare(model);
    return begin_saving(model, storage, saving);
}

sefr_status VERB(save_step)(const owner *model, sefr_saving *saving) { return step_saving(model, saving); }
#endif
