#include "../src/sefr_w8s16.c"
#include "variant.h"
