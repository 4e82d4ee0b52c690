#define SEFR_PREFIX w16s32
#define SEFR_WEIGHT_BITS 16
#define SEFR_SUM_BITS 32
#include "../src/sefr.c"
#include "variant.h"
