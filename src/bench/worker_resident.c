/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/worker_resident.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench/worker_use.h"

enum { MOST = 4096, FIRST_PERIOD_NS = 1000000 };

struct tare_resident {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ending, started;
    int64_t start_ns, period_ns;
    size_t count;
    int64_t ns[MOST], bytes[MOST];
};

static void look(struct tare_resident *resident)
{
    if (resident->count == MOST) {
        for (size_t i = 0; i < MOST / 2; i++) {
            resident->ns[i] = resident->ns[2 * i];
            resident->bytes[i] = resident->bytes[2 * i];
        }
        resident->count = MOST / 2;
        resident->period_ns *= 2;
    }
    resident->bytes[resident->count] = tare_use_resident();
    resident->ns[resident->count++] = tare_clock_ns() - resident->start_ns;
}

static void *keep_looking(void *data)
{
    struct tare_resident *resident = data;
    pthread_mutex_lock(&resident->lock);
    while (!resident->ending) {
        struct timespec until;
        look(resident);
        int64_t next = tare_clock_ns() + resident->period_ns;
        until = (struct timespec){.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
        pthread_cond_timedwait(&resident->wake, &resident->lock, &until);
    }
    pthread_mutex_unlock(&resident->lock);
    return NULL;
}

int tare_resident_start(struct tare_resident **ret_resident, struct tare_error *err)
{
    struct tare_resident *resident = malloc(sizeof *resident);
    pthread_condattr_t monotonic;
    pthread_attr_t small;
    sigset_t all, before;
    if (!resident)
        return tare_fail_memory(err);
    memset(resident, 0, sizeof *resident);
    resident->period_ns = FIRST_PERIOD_NS;
    resident->start_ns = tare_clock_ns();
    /* The table's pages must not be counted as growth later. */
    memset(resident->ns, 1, sizeof resident->ns);
    memset(resident->bytes, 1, sizeof resident->bytes);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&resident->lock, NULL);
    pthread_cond_init(&resident->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    /* Signals are for the threads that expect them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&resident->thread, &small, keep_looking, resident);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    resident->started = rc == 0;
    if (rc) {
        tare_resident_destroy(resident);
        return tare_fail(err, TARE_E_IO, rc, "cannot start the thread that watches memory");
    }
    *ret_resident = resident;
    return 0;
}

void tare_resident_stop(struct tare_resident *resident)
{
    if (!resident->started)
        return;
    pthread_mutex_lock(&resident->lock);
    resident->ending = true;
    pthread_cond_signal(&resident->wake);
    pthread_mutex_unlock(&resident->lock);
    pthread_join(resident->thread, NULL);
    resident->started = false;
    look(resident);
}

size_t tare_resident_table(const struct tare_resident *resident, const int64_t **ret_ns,
                           const int64_t **ret_bytes)
{
    *ret_ns = resident->ns;
    *ret_bytes = resident->bytes;
    return resident->count;
}

void tare_resident_destroy(struct tare_resident *resident)
{
    if (!resident)
        return;
    tare_resident_stop(resident);
    pthread_cond_destroy(&resident->wake);
    pthread_mutex_destroy(&resident->lock);
    free(resident);
}
