#define SEFR_PREFIX w8s32
#define SEFR_WEIGHT_BITS 8
#define SEFR_SUM_BITS 32
#include "../src/sefr.c"
#include "variant.h"
