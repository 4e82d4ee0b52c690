/* Memory that grows upwards. A call of the page marks its end, lets the kernels take what they need, and goes back to
 * the mark; so free has nothing to do. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 65536, ALIGNMENT = 16 };

extern unsigned char __heap_base;
static uintptr_t end;

void *malloc(size_t n) {
    if (!end) end = ((uintptr_t)&__heap_base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const uintptr_t start = end, room = __builtin_wasm_memory_size(0) * (uintptr_t)PAGE - start;
    const size_t whole = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole < n) return NULL;
    if (whole > room) {
        const uintptr_t pages = (whole - room + PAGE - 1) / PAGE;
        if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) return NULL;
    }
    end = start + whole;
    return (void *)start;
}

void *aligned_alloc(size_t alignment, size_t n) {
    malloc(0); /* `end` is known from here on */
    const uintptr_t past = end % alignment;
    return past && !malloc(alignment - past) ? NULL : malloc(n);
}

void *calloc(size_t n, size_t size) {
    void *memory = size && n > SIZE_MAX / size ? NULL : malloc(n * size);
    return memory ? memset(memory, 0, n * size) : NULL;
}

void free(void *pointer) { (void)pointer; }

void *memcpy(void *restrict to, const void *restrict from, size_t n) { return __builtin_memcpy(to, from, n); }
void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }

__attribute__((export_name("mark"))) uintptr_t studio_mark(void) { return (uintptr_t)malloc(0); }
__attribute__((export_name("release"))) void studio_release(uintptr_t mark) { end = mark; }
