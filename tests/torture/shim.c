/* Counts the system calls of a process that matter to its files and lets one of them fail: preloaded with LD_PRELOAD.
   Reading and closing count for files in the working folder alone, not for fonts and libraries.

   torture_arm(at, how, error): from now on the calls are counted; what happens at call number `at` is `how`:
   COUNT nothing, KILL_BEFORE, KILL_AFTER, TERM_BEFORE, TERM_AFTER a signal, FAIL this call with `error`,
   FULL with ENOSPC this call and every later one that needs space, SHORT a write of half its bytes.
   What happened is in memory that a fork shares with its parent, which outlives a kill: torture_count(), how many
   calls there were from torture_arm on, and torture_hit(), the name of the one that it happened at. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum how { COUNT, KILL_BEFORE, KILL_AFTER, TERM_BEFORE, TERM_AFTER, FAIL, FULL, SHORT };

static struct {
    _Atomic long calls;
    char hit[32];
} *shared;
static char folder[4096];
static _Atomic long target;
static _Atomic int kind, failure, armed, full;

__attribute__((constructor)) static void share(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) abort();
}

void torture_arm(long at, int how, int error) {
    atomic_store(&shared->calls, 0);
    memset(shared->hit, 0, sizeof shared->hit);
    if (!getcwd(folder, sizeof folder)) abort();
    atomic_store(&target, at);
    atomic_store(&kind, how);
    atomic_store(&failure, error);
    atomic_store(&full, 0);
    atomic_store(&armed, 1);
}

long torture_count(void) { return atomic_load(&shared->calls); }

void torture_disarm(void) { atomic_store(&armed, 0); }

const char *torture_hit(void) { return shared->hit; }

static int is_ours(const char *path) { return path[0] != '/' || !strncmp(path, folder, strlen(folder)); }

static int is_our_file(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    return n > 0 && path[0] == '/' && is_ours(path);
}

/* What to do at this call: -1 fail, 1 write half, 2 signal afterwards, 0 go on. */
static int before(const char *name, int needs_space) {
    if (!atomic_load(&armed)) return 0;
    const int hit = atomic_fetch_add(&shared->calls, 1) + 1 == atomic_load(&target);
    const int how = atomic_load(&kind);
    if (hit) strncpy(shared->hit, name, sizeof shared->hit - 1);
    if (hit && how == FULL) atomic_store(&full, 1);
    if (how == FULL && needs_space && atomic_load(&full)) {
        errno = ENOSPC;
        return -1;
    }
    if (!hit) return 0;
    switch (how) {
    case KILL_BEFORE: kill(getpid(), SIGKILL); return 0;
    case TERM_BEFORE: kill(getpid(), SIGTERM); return 0;
    case KILL_AFTER:
    case TERM_AFTER: return 2;
    case FAIL: errno = atomic_load(&failure); return -1;
    case SHORT: return 1;
    default: return 0;
    }
}

static void after(int what) {
    const int kept = errno;
    if (what == 2) kill(getpid(), atomic_load(&kind) == KILL_AFTER ? SIGKILL : SIGTERM);
    errno = kept;
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define WRAP(result, name, parameters, arguments, needs_space) \
    WRAP_IF(1, result, name, parameters, arguments, needs_space)

#define WRAP_IF(counts, result, name, parameters, arguments, needs_space)                  \
    result name parameters {                                                               \
        REAL(name);                                                                        \
        const int what = atomic_load(&armed) && (counts) ? before(#name, needs_space) : 0; \
        if (what < 0) return -1;                                                           \
        const result done = real arguments;                                                \
        after(what);                                                                       \
        return done;                                                                       \
    }

#define WRITE(name, parameters, whole, half)                                  \
    ssize_t name parameters {                                                 \
        REAL(name);                                                           \
        const int what = before(#name, 1);                                    \
        if (what < 0) return -1;                                              \
        const ssize_t done = what == 1 && count > 1 ? real half : real whole; \
        after(what);                                                          \
        return done;                                                          \
    }

WRITE(write, (int file, const void *data, size_t count), (file, data, count), (file, data, count / 2))
WRITE(pwrite, (int file, const void *data, size_t count, off_t at), (file, data, count, at),
      (file, data, count / 2, at))
WRITE(pwrite64, (int file, const void *data, size_t count, off64_t at), (file, data, count, at),
      (file, data, count / 2, at))
WRAP(ssize_t, writev, (int file, const struct iovec *parts, int n), (file, parts, n), 1)
WRAP_IF(is_our_file(file), ssize_t, read, (int file, void *data, size_t count), (file, data, count), 0)
WRAP_IF(is_our_file(file), ssize_t, pread, (int file, void *data, size_t count, off_t at), (file, data, count, at), 0)
WRAP_IF(is_our_file(file), ssize_t, pread64, (int file, void *data, size_t count, off64_t at), (file, data, count, at),
        0)
WRAP(int, fsync, (int file), (file), 1)
WRAP(int, fdatasync, (int file), (file), 1)
WRAP_IF(is_our_file(file), int, close, (int file), (file), 0)
WRAP(int, ftruncate, (int file, off_t size), (file, size), 1)
WRAP(int, ftruncate64, (int file, off64_t size), (file, size), 1)
WRAP(int, rename, (const char *from, const char *to), (from, to), 1)
WRAP(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), 1)
WRAP(int, unlink, (const char *path), (path), 0)
WRAP(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags), 0)
WRAP(int, rmdir, (const char *path), (path), 0)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), 1)
WRAP(int, mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), 1)
WRAP(int, link, (const char *from, const char *to), (from, to), 1)
WRAP(int, symlink, (const char *from, const char *to), (from, to), 1)
WRAP(int, fchmod, (int file, mode_t mode), (file, mode), 0)
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode), 0)
WRAP(int, fchown, (int file, uid_t user, gid_t group), (file, user, group), 0)
WRAP(int, flock, (int file, int what_for), (file, what_for), 0)

#define OPEN(name, parameters, arguments)                                                                    \
    int name parameters {                                                                                    \
        REAL(name);                                                                                          \
        mode_t mode = 0;                                                                                     \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                               \
            va_list more;                                                                                    \
            va_start(more, flags);                                                                           \
            mode = va_arg(more, mode_t);                                                                     \
            va_end(more);                                                                                    \
        }                                                                                                    \
        const int what = !atomic_load(&armed) || !is_ours(path) ? 0 : before(#name, (flags & O_CREAT) != 0); \
        if (what < 0) return -1;                                                                             \
        const int done = real arguments;                                                                     \
        after(what);                                                                                         \
        return done;                                                                                         \
    }

OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode))
