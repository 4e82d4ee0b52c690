#include "../src/sefr_w8s32.c"
#include "variant.h"
