/* What the kernels use of the C library, for wasm without one. memory.c has it. */
#ifndef STUDIO_STDLIB_H
#define STUDIO_STDLIB_H

#include <stddef.h>

void *malloc(size_t n);
void *aligned_alloc(size_t alignment, size_t n);
void *calloc(size_t n, size_t size);
void free(void *pointer);

#endif
