/* Tasks 0 .. n_tasks - 1, each run once, in any order, on up to n_threads threads (the caller's included).
   `run` gets the number of the worker, 0 .. n_threads - 1, for scratch memory of its own.
   A thread that cannot be started is done without. */
#ifndef SEFR_THREADS_H
#define SEFR_THREADS_H

#include <stddef.h>

enum { MOST_THREADS = 256 };

typedef void task_function(void *context, ptrdiff_t task, int worker);

void sefr_run_tasks(task_function *run, void *context, ptrdiff_t n_tasks, int n_threads);

#endif
