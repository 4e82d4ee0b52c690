/* The library as a C++ class, for Arduino sketches: no macro, and several models in one file.
 *
 *     #include <sefr_class.h>
 *     Sefr<6, 2> model;                        // 6 features, 2 classes
 *     model.begin();                           // balanced: a button held longer does not move the border
 *     model.learn(record, label);
 *     model.solve();
 *     if (model.classify(record, &label) == SEFR_OK) ...
 *     model.save(storage);  model.restore(storage);
 *
 * What each call does and returns stands in sefr.h; `model.c` is the sefr_model itself, for every other call and setting. */
#ifndef SEFR_CLASS_H
#define SEFR_CLASS_H

#include "sefr.h"

template <sefr_index features, uint8_t classes>
class Sefr {
    static_assert(SEFR_FITS(SEFR_MODEL_BYTES(features, classes), features, classes),
                  "the model does not fit the RAM of the board, or is beyond the limits of sefr.h");
    sefr_sum sums[SEFR_COLUMNS(features) * classes];
    sefr_count counts[classes];
    sefr_weight weights[SEFR_COLUMNS(features) * SEFR_ROWS(classes)];
    sefr_score bias[SEFR_ROWS(classes)];

public:
    sefr_model c;

    Sefr() : c() {
        c.features = SEFR_COLUMNS(features);
        c.classes = classes;
        c.options = SEFR_BALANCED;
        c.settings = SEFR_SETTINGS;
        c.half_life = SEFR_MAX_RECORDS / 2;
        c.sums = sums;
        c.counts = counts;
        c.weights = weights;
        c.bias = bias;
    }
    Sefr(const Sefr &) = delete; /* the model points into itself */
    Sefr &operator=(const Sefr &) = delete;

    sefr_status begin() { return sefr_reset(&c); }
    sefr_status learn(const uint8_t *record, uint8_t label) { return sefr_learn(&c, record, label); }
    sefr_status forget(const uint8_t *record, uint8_t label) { return sefr_forget(&c, record, label); }
    sefr_status solve() { return sefr_solve(&c); }
    sefr_status classify(const uint8_t *record, uint8_t *label) const { return sefr_classify(&c, record, label); }
#ifndef SEFR_NO_STATE
    sefr_status save(const sefr_storage &storage) const { return sefr_save(&c, &storage); }
#ifndef SEFR_NO_STEPS
    /* A save in steps; see sefr_save_begin. */
    sefr_status saveBegin(const sefr_storage &storage, sefr_saving &saving) const { return sefr_save_begin(&c, &storage, &saving); }
    sefr_status saveStep(sefr_saving &saving) const { return sefr_save_step(&c, &saving); }
#endif
    sefr_status restore(const sefr_storage &storage) {
        sefr_status status = sefr_restore(&c, &storage);
        return status == SEFR_OK ? sefr_solve(&c) : status;
    }
#endif
};

#endif
