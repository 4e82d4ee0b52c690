/* Batch learning from flash with the AVR kernels: the rows of one class are listed, then summed twelve features at
 * a time in registers, 5 cycles a value. Equal to learning the rows one by one, also where the sums fill up: there
 * the rows are learned singly, since where the halving falls among the rows matters. */

/* Rows listed at a time, and so twice as many bytes of stack. */
#define BATCH_ROWS 100U

static void add_listed(const sefr_model *model, sefr_sum *sums, uint16_t *list, uint8_t n) {
    sefr_index left = model->features;
    uint8_t offset, i;
    for (; left > 240; left -= 240, sums += 240) { /* the kernels take an offset of one byte */
        sefr_avr_batch12_P(sums, list, 0, n, 20);
        for (i = 0; i < n; i++) list[i] = (uint16_t)(list[i] + 240);
    }
    i = (uint8_t)((uint16_t)((uint8_t)left * 171U) >> 11); /* left / 12 for up to 255, without a call */
    offset = (uint8_t)(12 * i);
    if (i) sefr_avr_batch12_P(sums, list, 0, n, i);
    left -= offset;
    for (; left >= 4; left -= 4, offset = (uint8_t)(offset + 4)) sefr_avr_batch4_P(sums + offset, list, offset, n);
    for (; left; left--, offset++) sefr_avr_batch1_P(sums + offset, list, offset, n);
}

static void add_class(sefr_model *model, uint8_t c, uint16_t *list, uint8_t n) {
    if (n == 0) return;
    add_listed(model, sums_of(model, c), list, n);
    model->fresh = 0;
    model->counts[c] = (sefr_count)(model->counts[c] + n);
}

/* A separate frame, so that the list costs stack only where the batch is used. SEFR_BAD_LABEL only with two classes. */
SEFR_APART sefr_status learn_block(sefr_model *model, const uint8_t *rows, const uint8_t *labels, uint8_t records) {
    uint16_t list[BATCH_ROWS];
    uint8_t c, n;
    if (IS_PAIR(model)) {
        n = sefr_avr_split_P(list, rows, model->features, labels, records);
        if (n == 255) return SEFR_BAD_LABEL;
        add_class(model, 0, list, n);
        add_class(model, 1, list + n, (uint8_t)(records - n));
        return SEFR_OK;
    }
    for (c = 0; c < model->classes; c++) {
        n = sefr_avr_pick_P(list, rows, model->features, labels, c, records);
        add_class(model, c, list, n);
    }
    return SEFR_OK;
}

static uint8_t near_full(const sefr_model *model) {
    uint8_t c;
    for (c = 0; c < model->classes; c++) {
        if (model->counts[c] + BATCH_ROWS > 2U * model->half_life) return 1;
    }
    return 0;
}

SEFR_APART sefr_status check_labels(const sefr_model *model, const uint8_t *labels, sefr_index records) {
    for (; records; records--) {
        if (pgm_read_byte(labels++) >= model->classes) return SEFR_BAD_LABEL;
    }
    return SEFR_OK;
}

sefr_status sefr_learn_batch_P(sefr_model *model, const uint8_t *rows, const uint8_t *labels, sefr_index records) {
    sefr_index i, stride = model->features;
    uint8_t singly = near_full(model) || RANGES_OF(model);
    if (records == 0) return SEFR_OK;
    /* One block of two classes is checked where it is split, before anything changes. */
    if (IS_PAIR(model) && records <= BATCH_ROWS && !singly) return learn_block(model, rows, labels, (uint8_t)records);
    if (check_labels(model, labels, records) != SEFR_OK) return SEFR_BAD_LABEL;
    while (records) {
        uint8_t block = (uint8_t)(records < BATCH_ROWS ? records : BATCH_ROWS);
        if (near_full(model) || RANGES_OF(model)) {
            for (i = 0; i < block; i++) sefr_learn_P(model, rows + i * stride, pgm_read_byte(labels + i));
        } else {
            learn_block(model, rows, labels, block);
        }
        rows += block * stride;
        labels += block;
        records -= block;
    }
    return SEFR_OK;
}
