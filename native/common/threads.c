#include "common/threads.h"

#include <stdatomic.h>

struct queue {
    task_function *run;
    void *context;
    ptrdiff_t n_tasks;
    atomic_ptrdiff_t next;
};

struct worker {
    struct queue *queue;
    int number;
};

static void *work(void *argument) {
    struct worker *worker = argument;
    struct queue *queue = worker->queue;
    for (;;) {
        ptrdiff_t task = atomic_fetch_add_explicit(&queue->next, 1, memory_order_relaxed);
        if (task >= queue->n_tasks) return NULL;
        queue->run(queue->context, task, worker->number);
    }
}

#if defined(_WIN32)

void sefr_run_tasks(task_function *run, void *context, ptrdiff_t n_tasks, int n_threads) {
    struct queue queue = {run, context, n_tasks, 0};
    (void)n_threads;
    work(&(struct worker){&queue, 0});
}

#else

#include <pthread.h>

void sefr_run_tasks(task_function *run, void *context, ptrdiff_t n_tasks, int n_threads) {
    struct queue queue = {run, context, n_tasks, 0};
    struct worker workers[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    int started = 1;
    if (n_threads > MOST_THREADS) n_threads = MOST_THREADS;
    if (n_threads > n_tasks) n_threads = (int)n_tasks;
    for (; started < n_threads; started++) {
        workers[started] = (struct worker){&queue, started};
        if (pthread_create(&threads[started], NULL, work, &workers[started]) != 0) break;
    }
    workers[0] = (struct worker){&queue, 0};
    work(&workers[0]);
    for (int i = 1; i < started; i++) pthread_join(threads[i], NULL);
}

#endif
