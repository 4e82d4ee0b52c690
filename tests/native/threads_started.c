/* How many threads scores of ROWS x COLUMNS for K hyperplanes start, where two are allowed. Linked with
   --wrap=pthread_create.
   threads_started ROWS COLUMNS K */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/table.h"

static int started;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
    started++;
    return __real_pthread_create(thread, how, run, with);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const ptrdiff_t n = atol(argv[1]), m = atol(argv[2]), k = atol(argv[3]);
    char *x = calloc((size_t)(n * m), 1);
    double *coef = calloc((size_t)(k * m), 8), *intercept = calloc((size_t)k, 8), *out = calloc((size_t)(n * k), 8);
    if (!x || !coef || !intercept || !out) return 3;
    const struct table table = {n, m, x, m, 1, U8, NULL};
    sefr_scores(&table, coef, intercept, k, NULL, n, out, 2);
    printf("%d\n", started);
    free(x), free(coef), free(intercept), free(out);
    return 0;
}
