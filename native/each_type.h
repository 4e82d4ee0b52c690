/* The kernels of one type. T, TAG, LOWEST and HIGHEST are defined before and forgotten after. */
#include "rows_kernel.h"
#include "columns_kernel.h"
#undef T
#undef TAG
#undef LOWEST
#undef HIGHEST
