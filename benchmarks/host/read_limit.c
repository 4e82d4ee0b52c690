/* The read limit: the time merely to load every byte, in 256-bit loads where the machine has them.
   One stream is not always the fastest way to read, so the caller takes the best of several counts. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t vector __attribute__((vector_size(32), aligned(1), may_alias));

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

CLONES uint64_t read_streams(const char *data, size_t size, size_t n_streams) {
    vector a = {0}, b = {0}, c = {0}, d = {0};
    const size_t part = size / n_streams / 128 * 128;
    for (size_t i = 0; i < part; i += 128) {
        for (size_t s = 0; s < n_streams; s++) {
            const vector *at = (const vector *)(data + s * part + i);
            a |= at[0];
            b |= at[1];
            c |= at[2];
            d |= at[3];
        }
    }
    for (size_t i = part * n_streams; i + 32 <= size; i += 32) a |= *(const vector *)(data + i);
    a |= b | c | d;
    return a[0] | a[1] | a[2] | a[3];
}

struct share {
    const char *data;
    size_t size, n_streams;
    uint64_t result;
};

static void *read_share(void *argument) {
    struct share *share = argument;
    share->result = read_streams(share->data, share->size, share->n_streams);
    return NULL;
}

uint64_t read_limit(const char *data, size_t size, size_t n_streams, int n_threads) {
    enum { MOST = 64 };
    struct share shares[MOST];
    pthread_t threads[MOST];
    uint64_t result = 0;
    if (n_threads > MOST) n_threads = MOST;
    for (int i = 0; i < n_threads; i++) {
        size_t first = size / 128 * (size_t)i / (size_t)n_threads * 128;
        size_t last = i + 1 == n_threads ? size : size / 128 * (size_t)(i + 1) / (size_t)n_threads * 128;
        shares[i] = (struct share){data + first, last - first, n_streams, 0};
        if (i && pthread_create(&threads[i], NULL, read_share, &shares[i]) != 0) n_threads = i;
    }
    read_share(&shares[0]);
    for (int i = 1; i < n_threads; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n_threads; i++) result |= shares[i].result;
    return result;
}
