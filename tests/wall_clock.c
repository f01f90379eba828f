/* Shifts the wall clock of a process, and of all that it starts, by WALL_CLOCK_SECONDS. bin/test-at preloads it.
   libfaketime shifts absolute sleeps too, which breaks time.sleep of Python 3.11 and newer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t seconds;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_sem_timedwait)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *wanted = getenv("WALL_CLOCK_SECONDS");
    real_sem_timedwait = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    seconds = wanted ? atoll(wanted) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    /* Other libraries may ask before this one has begun. */
    int failed = real_clock_gettime ? real_clock_gettime(clock, at) : (int)syscall(SYS_clock_gettime, clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += seconds;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, at) == 0 ? base : 0;
}

/* Its deadline is a time of the wall clock, which the kernel does not shift. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
    struct timespec real = {deadline->tv_sec - seconds, deadline->tv_nsec};
    return real_sem_timedwait(semaphore, &real);
}
