/* One choice of SEFR_WEIGHT_BITS and SEFR_SUM_BITS behind a uniform face, for the Python module. The including file
 * has included sefr.c with its settings. */
#include "twin.h"

#define VARIANT_(weight_bits, sum_bits) twin_w##weight_bits##s##sum_bits
#define VARIANT(weight_bits, sum_bits) VARIANT_(weight_bits, sum_bits)

static sefr_model model_of(const twin_model *twin) {
    sefr_model model;
    model.features = (sefr_index)twin->features;
    model.classes = (uint8_t)twin->classes;
    model.options = twin->options;
    model.solved = 1;
    model.fresh = 1;
    model.settings = SEFR_SETTINGS;
    model.half_life = (sefr_count)(twin->half_life ? twin->half_life : SEFR_MAX_RECORDS / 2);
    model.margin = 0;
    model.id = 0;
    model.sums = (sefr_sum *)twin->sums;
    model.counts = (sefr_count *)twin->counts;
    model.weights = (sefr_weight *)twin->weights;
    model.bias = (sefr_score *)twin->bias;
    model.ranges = (uint8_t *)twin->ranges;
    return model;
}

static int learn(const twin_model *twin, const uint8_t *rows, const uint8_t *labels, size_t n) {
    sefr_model model = model_of(twin);
    size_t i;
    for (i = 0; i < n; i++) {
        sefr_status status = sefr_learn(&model, rows + i * model.features, labels[i]);
        if (status != SEFR_OK) return status;
    }
    return SEFR_OK;
}

static int solve(const twin_model *twin) {
    sefr_model model = model_of(twin);
    return sefr_solve(&model);
}

static void classify(const twin_model *twin, const uint8_t *rows, uint8_t *labels, size_t n) {
    sefr_fixed fixed;
    size_t i;
    fixed.features = (sefr_index)twin->features;
    fixed.classes = (uint8_t)twin->classes;
    fixed.weights = (const sefr_weight *)twin->weights;
    fixed.bias = (const sefr_score *)twin->bias;
    fixed.margin = (sefr_margin)twin->margin;
    for (i = 0; i < n; i++) {
        if (sefr_classify_fixed(&fixed, rows + i * fixed.features, labels + i) == SEFR_UNKNOWN) labels[i] = 255;
    }
}

const twin_variant VARIANT(SEFR_WEIGHT_BITS, SEFR_SUM_BITS) = {
    sizeof(sefr_weight), sizeof(sefr_score), sizeof(sefr_sum), SEFR_MAX_FEATURES, SEFR_MAX_CLASSES, learn, solve,
    classify};
