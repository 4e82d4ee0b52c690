/* The last line of every kernel file. */
#undef T
#undef TAG
#undef LOWEST
#undef HIGHEST
#undef SUM
#undef SUM_ROWS
