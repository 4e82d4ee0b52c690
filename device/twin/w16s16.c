#include "../src/sefr_w16s16.c"
#include "variant.h"
