// SPDX-License-Identifier: Apache-2.0
// Lets a wheel that is built with a newer C library run on glibc 2.28 (scripts/wheel). Linked into
// the extension together with a static libstdc++, whose references it also resolves. x86-64 only.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Functions that glibc 2.34 moved into libc.so.6 or changed, with a new symbol version but the same
// interface. The wrappers call the version that every glibc has.
#define USE_OLD_VERSION(name)                                                               \
    __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5; .globl " #name "; .hidden " #name \
            "; .type " #name ",@function; " #name ": endbr64; jmp old_" #name "@PLT")

USE_OLD_VERSION(dlclose);
USE_OLD_VERSION(dlerror);
USE_OLD_VERSION(dlopen);
USE_OLD_VERSION(dlsym);
USE_OLD_VERSION(exp);
USE_OLD_VERSION(hypot);
USE_OLD_VERSION(pthread_create);
USE_OLD_VERSION(pthread_detach);
USE_OLD_VERSION(pthread_getspecific);
USE_OLD_VERSION(pthread_join);
USE_OLD_VERSION(pthread_key_create);
USE_OLD_VERSION(pthread_key_delete);
USE_OLD_VERSION(pthread_mutex_trylock);
USE_OLD_VERSION(pthread_once);
USE_OLD_VERSION(pthread_setspecific);
USE_OLD_VERSION(pthread_sigmask);

// Functions that glibc 2.28 does not have.
#define HIDDEN __attribute__((visibility("hidden")))

// Nonzero would let libstdc++ omit atomic operations.
HIDDEN char __libc_single_threaded = 0;

HIDDEN pid_t gettid(void) {
    return (pid_t)syscall(SYS_gettid);
}

HIDDEN int stat(const char* path, struct stat* status) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

HIDDEN int lstat(const char* path, struct stat* status) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HIDDEN int fstat(int descriptor, struct stat* status) {
    return (int)syscall(SYS_fstat, descriptor, status);
}

HIDDEN int stat64(const char* path, struct stat64* status) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

HIDDEN int lstat64(const char* path, struct stat64* status) {
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

HIDDEN int fstat64(int descriptor, struct stat64* status) {
    return (int)syscall(SYS_fstat, descriptor, status);
}

// Used by std::random_device.
HIDDEN uint32_t arc4random(void) {
    uint32_t number = 0;
    return getrandom(&number, sizeof number, 0) == sizeof number ? number : (uint32_t)time(NULL);
}

// glibc 2.30 and later have this function. Without it, the wait ends when the system clock reaches
// the converted time.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition,
                                  pthread_mutex_t* mutex,
                                  clockid_t clock,
                                  const struct timespec* until) {
    enum { second = 1000000000 };
    const __auto_type available =
        (__typeof__(&pthread_cond_clockwait))dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
    struct timespec now;
    struct timespec end;
    if (available != NULL) {
        return available(condition, mutex, clock, until);
    }
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += until->tv_sec - now.tv_sec;
    end.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (end.tv_nsec < 0) {
        end.tv_nsec += second;
        end.tv_sec -= 1;
    } else if (end.tv_nsec >= second) {
        end.tv_nsec -= second;
        end.tv_sec += 1;
    }
    return pthread_cond_timedwait(condition, mutex, &end);
}
