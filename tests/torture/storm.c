/* The exercise of every kernel while another thread changes its arrays: values, weights, codes, indices, indptr. Built
   with -fsanitize=address,undefined: a kernel may answer anything then, but must touch nothing beside its buffers.
   storm SEED ROUNDS [calm]: calm, nothing is changed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels/labels.h"
#include "refine/gradient.h"
#include "solve/solve.h"

enum { MOST = 256, GUST = 64 };

static struct {
    unsigned char *start;
    size_t size;
} buffers[MOST];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int n_buffers, raging, over;
static unsigned long gusts;

static void *storm_malloc(size_t size) {
    unsigned char *memory = malloc(size);
    pthread_mutex_lock(&guard);
    if (memory && n_buffers < MOST) {
        buffers[n_buffers].start = memory;
        buffers[n_buffers++].size = size;
    }
    pthread_mutex_unlock(&guard);
    return memory;
}

static void storm_free(void *memory) {
    pthread_mutex_lock(&guard);
    for (int i = 0; i < n_buffers; i++) {
        if (buffers[i].start == memory) buffers[i--] = buffers[--n_buffers];
    }
    pthread_mutex_unlock(&guard);
    free(memory);
}

/* Writes a few words of random bytes into random buffers, as long as a kernel runs. */
static void *rage(void *unused) {
    uint64_t s = 88172645463325252u;
    for (int end = 0; !end;) {
        pthread_mutex_lock(&guard);
        for (int i = 0; raging && n_buffers && i < GUST; i++) {
            s ^= s << 13, s ^= s >> 7, s ^= s << 17;
            const int b = (int)(s % (uint64_t)n_buffers);
            const size_t at = (size_t)(s >> 8) % (buffers[b].size + 1), word = 1u << (s >> 61 & 3);
            /* as another program would: through volatile, a byte at a time */
            for (size_t k = 0; k < word && at + k < buffers[b].size; k++)
                ((volatile unsigned char *)buffers[b].start)[at + k] = (unsigned char)(s >> (8 * k));
            gusts++;
        }
        end = over;
        pthread_mutex_unlock(&guard);
    }
    return unused;
}

static void set(int *flag, int value) {
    pthread_mutex_lock(&guard);
    *flag = value;
    pthread_mutex_unlock(&guard);
}

#define IN_A_STORM(call) (set(&raging, 1), (void)(call), set(&raging, 0))
#define sefr_summarise(...) IN_A_STORM(sefr_summarise(__VA_ARGS__))
#define sefr_gradient(...) IN_A_STORM(sefr_gradient(__VA_ARGS__))
#define sefr_gradient_csr(...) IN_A_STORM(sefr_gradient_csr(__VA_ARGS__))
#define sefr_scores(...) IN_A_STORM(sefr_scores(__VA_ARGS__))
#define sefr_solve(...) IN_A_STORM(sefr_solve(__VA_ARGS__))
#define sefr_is_delicate(...) IN_A_STORM(sefr_is_delicate(__VA_ARGS__))
#define sefr_code_integers(...) IN_A_STORM(sefr_code_integers(__VA_ARGS__))
#define sefr_code_bytes(...) IN_A_STORM(sefr_code_bytes(__VA_ARGS__))
#define malloc storm_malloc
#define free storm_free
#define main exercise_main
#include "../native/exercise.c"
#undef main
#undef malloc
#undef free

int main(int argc, char **argv) {
    pthread_t thread;
    const int calm = argc == 4 && !strcmp(argv[3], "calm");
    if (!calm && pthread_create(&thread, NULL, rage, NULL)) return 3;
    const int code = exercise_main(calm ? 3 : argc, argv);
    set(&over, 1);
    if (!calm) pthread_join(thread, NULL);
    printf("%lu gusts\n", gusts);
    return code;
}
