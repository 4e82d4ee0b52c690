/* A line of bytes and a storage in RAM, for programs that have a model behind commands. Include it after the library;
 * FEATURES and STORAGE_BYTES are set before. */
static uint8_t memory[STORAGE_BYTES];
static uint32_t power = UINT32_MAX; /* writes left before the power fails */

static int read_memory(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    (void)context;
    for (; n; n--) *bytes++ = memory[address++];
    return 0;
}

static int program_memory(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    (void)context;
    for (; n && power; n--, power--) memory[address++] = *bytes++; /* the board is off: nobody notices */
    return 0;
}

static sefr_storage storage = {read_memory, program_memory, 0, 0, 0, sizeof memory, 1, 1, 0};

static uint32_t get_word(void) {
    uint32_t word = 0;
    uint8_t i;
    for (i = 0; i < 4; i++) word |= (uint32_t)board_get() << (8 * i);
    return word;
}

static const uint8_t *get_record(void) {
    static uint8_t record[FEATURES];
    sefr_index j;
    for (j = 0; j < FEATURES; j++) record[j] = board_get();
    return record;
}

static int send_byte(void *context, uint8_t value) {
    (void)context;
    board_put(value);
    return 0;
}
