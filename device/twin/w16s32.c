#include "../src/sefr_w16s32.c"
#include "variant.h"
