#define SEFR_PREFIX w16s16
#define SEFR_WEIGHT_BITS 16
#define SEFR_SUM_BITS 16
#include "../src/sefr.c"
#include "variant.h"
