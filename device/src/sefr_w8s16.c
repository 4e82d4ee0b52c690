/* The library with int8 weights and uint16 sums. */
#undef SEFR_WEIGHT_BITS
#undef SEFR_SUM_BITS
#define SEFR_WEIGHT_BITS 8
#define SEFR_SUM_BITS 16
#include "sefr.h"

#include "body/common.h"
#include "body/learn.h"
#include "body/solve.h"
#include "body/classify.h"
#include "body/correct.h"
#include "body/state.h"
