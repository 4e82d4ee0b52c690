/* A sefr_storage in a file (stdio): Linux boards, SD cards and flash file systems behind a C library.
 *
 *     FILE *file = sefr_file_open("model.sefr", 4096);       // made with that size if it is not there
 *     sefr_storage storage = sefr_file_storage(file, 4096);
 */
#ifndef SEFR_FILE_H
#define SEFR_FILE_H

#include <stdio.h>

#include "sefr.h"

/* What makes bytes last: fflush hands them to the system, and this to the disk. */
#if defined(_WIN32)
#include <io.h>
#define SEFR_FILE_TO_DISK(file) _commit(_fileno(file))
#elif defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
extern int fileno(FILE *file); /* -std=c99 hides what is POSIX */
extern int fsync(int descriptor);
#endif
#define SEFR_FILE_TO_DISK(file) fsync(fileno(file))
#else
#define SEFR_FILE_TO_DISK(file) 0
#endif

/* 0 when it can neither be opened nor made. */
static inline FILE *sefr_file_open(const char *name, uint32_t bytes) {
    FILE *file = fopen(name, "r+b");
    if (file == NULL) file = fopen(name, "w+b");
    if (file == NULL) return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        long there = ftell(file);
        while (there >= 0 && (uint32_t)there < bytes && fputc(0xFF, file) != EOF) there++;
        if (there >= 0 && (uint32_t)there >= bytes && fflush(file) == 0) return file;
    }
    fclose(file);
    return NULL;
}

static inline int sefr_file_read(void *context, uint32_t address, uint8_t *bytes, uint32_t n) {
    FILE *file = (FILE *)context;
    return fseek(file, (long)address, SEEK_SET) || fread(bytes, 1, n, file) != n;
}

static inline int sefr_file_program(void *context, uint32_t address, const uint8_t *bytes, uint32_t n) {
    FILE *file = (FILE *)context;
    return fseek(file, (long)address, SEEK_SET) || fwrite(bytes, 1, n, file) != n;
}

static inline int sefr_file_sync(void *context) {
    FILE *file = (FILE *)context;
    return fflush(file) || SEFR_FILE_TO_DISK(file) ? 1 : 0;
}

static inline sefr_storage sefr_file_storage(FILE *file, uint32_t bytes) {
    sefr_storage storage = {sefr_file_read, sefr_file_program, 0, sefr_file_sync, 0, 0, 1, 1, 0};
    storage.context = file;
    storage.block_bytes = bytes;
    return storage;
}

#endif
