/* The library, in one translation unit; sefr.h is its contract. Include this file under another SEFR_PREFIX to have
 * other widths beside it. */
#include "sefr.h"

#include "body/common.h"
#include "body/learn.h"
#include "body/solve.h"
#include "body/classify.h"
#ifndef SEFR_NO_CORRECT
#include "body/correct.h"
#endif
#include "body/stack.h"
#ifndef SEFR_NO_STATE
#include "body/place.h"
#include "body/state.h"
#include "body/ring.h"
#include "body/saving.h"
#include "body/storage.h"
#endif
