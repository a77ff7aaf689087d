/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peaks.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/peaks_kernel.h"

enum { SLICES_MAX = 200, SLICES_MIN = 9, THREADS_MAX = 1024 };
static const int64_t slice_ns = 1000000;
static const int64_t sizes[TARE_PEAKS_LEVELS] = {
    (int64_t)32 << 10, (int64_t)256 << 10, (int64_t)1 << 20,
    (int64_t)4 << 20,  (int64_t)16 << 20,  (int64_t)256 << 20,
};

/* One measurement: all threads do `work` in every slice, starting together. */
struct job {
    const struct tare_peaks_kernel *kernel;
    bool reading;
    uint64_t work;       /* rounds, or passes over the thread's part */
    size_t part;         /* bytes of each thread */
    unsigned char *data; /* of all threads */
    size_t slices;
    pthread_barrier_t start;
};

struct hand {
    struct job *job;
    size_t number;
    pthread_t thread;
    int64_t *begin_ns, *end_ns; /* of each slice */
    uint64_t sink;
};

static void work_once(struct hand *hand)
{
    const struct job *job = hand->job;
    if (!job->reading) {
        hand->sink += job->kernel->flops(job->work) > 0;
        return;
    }
    for (uint64_t i = 0; i < job->work; i++)
        hand->sink += job->kernel->read(job->data + hand->number * job->part, job->part);
}

static void *hand_main(void *data)
{
    struct hand *hand = data;
    for (size_t i = 0; i < hand->job->slices; i++) {
        pthread_barrier_wait(&hand->job->start);
        hand->begin_ns[i] = tare_clock_ns();
        work_once(hand);
        hand->end_ns[i] = tare_clock_ns();
    }
    return NULL;
}

/* Runs the job's slices and gives the wall time of each. */
static int run_job(struct job *job, size_t threads, double *ret_seconds, struct tare_error *err)
{
    struct hand *hands = calloc(threads, sizeof *hands);
    int64_t *moments = calloc(threads * 2 * SLICES_MAX, sizeof *moments);
    size_t started = 0;
    int rc = -1;
    if (!hands || !moments || pthread_barrier_init(&job->start, NULL, (unsigned)threads) != 0) {
        free(hands);
        free(moments);
        return tare_fail_memory(err);
    }
    for (size_t i = 0; i < threads; i++)
        hands[i] = (struct hand){.job = job,
                                 .number = i,
                                 .begin_ns = moments + 2 * i * SLICES_MAX,
                                 .end_ns = moments + (2 * i + 1) * SLICES_MAX};
    for (size_t i = 1; i < threads; i++, started++) {
        int sys = pthread_create(&hands[i].thread, NULL, hand_main, &hands[i]);
        if (sys != 0) {
            /* Those that wait at the barrier would wait for ever. */
            for (size_t k = 1; k < i; k++) {
                pthread_cancel(hands[k].thread);
                pthread_join(hands[k].thread, NULL);
            }
            tare_fail(err, TARE_E_IO, sys, "cannot start %zu threads", threads);
            goto out;
        }
    }
    hand_main(&hands[0]);
    for (size_t i = 1; i < threads; i++)
        pthread_join(hands[i].thread, NULL);
    for (size_t s = 0; s < job->slices; s++) {
        int64_t begin = INT64_MAX, end = INT64_MIN;
        for (size_t i = 0; i < threads; i++) {
            begin = hands[i].begin_ns[s] < begin ? hands[i].begin_ns[s] : begin;
            end = hands[i].end_ns[s] > end ? hands[i].end_ns[s] : end;
        }
        ret_seconds[s] = end > begin ? (double)(end - begin) * 1e-9 : 1e-9;
    }
    rc = 0;
out:
    pthread_barrier_destroy(&job->start);
    free(hands);
    free(moments);
    return rc;
}

/* The 90th percentile. */
static double high(const double *sorted, size_t count)
{
    return sorted[tare_stats_rank(90, count) - 1];
}

/* Amounts per second of a job whose `work` does `amount`: so many slices of about a millisecond, the first of
 * them thrown away. */
static int measure(struct job *job, size_t threads, double amount, int64_t budget_ns,
                   struct tare_interval *ret_rate, struct tare_error *err)
{
    double seconds[SLICES_MAX] = {0}, rates[SLICES_MAX];
    job->work = 1;
    for (;;) { /* how much work is a slice? */
        job->slices = 2;
        if (run_job(job, threads, seconds, err) < 0)
            return -1;
        if (seconds[1] * 1e9 > (double)slice_ns / 4 || job->work > UINT64_MAX / 8)
            break;
        job->work *= 4;
    }
    double one_ns = seconds[1] * 1e9 / (double)job->work;
    job->work = one_ns * 2 < (double)slice_ns ? (uint64_t)((double)slice_ns / one_ns) : 1;
    double slices = (double)budget_ns / (one_ns * (double)job->work);
    job->slices = slices > SLICES_MAX       ? SLICES_MAX
                  : slices < SLICES_MIN + 1 ? SLICES_MIN + 1
                                            : (size_t)slices;
    if (run_job(job, threads, seconds, err) < 0)
        return -1;
    for (size_t i = 1; i < job->slices; i++)
        rates[i - 1] = amount * (double)job->work / seconds[i];
    struct tare_arena scratch;
    tare_arena_init(&scratch, 0);
    struct tare_bootstrap options = {.seed = 1, .resamples = 1000};
    int rc = tare_stats_bootstrap(rates, job->slices - 1, high, &options, &scratch, ret_rate, err);
    tare_arena_finish(&scratch);
    return rc;
}

static int measure_levels(const struct tare_peaks_kernel *kernel, size_t threads, int64_t budget_ns,
                          struct tare_peaks *peaks, struct tare_error *err)
{
    size_t most = (size_t)sizes[TARE_PEAKS_LEVELS - 1];
    unsigned char *data = aligned_alloc(4096, most);
    if (!data)
        return tare_fail_memory(err);
    memset(data, 1, most); /* pages that were never written are all one page */
    int rc = 0;
    for (size_t i = 0; i < TARE_PEAKS_LEVELS && rc == 0; i++) {
        size_t part = (size_t)sizes[i] / threads & ~(size_t)1023;
        struct job job = {.kernel = kernel, .reading = true, .data = data, .part = part ? part : 1024};
        peaks->levels[i].bytes = sizes[i];
        rc = measure(&job, threads, (double)(job.part * threads), budget_ns / TARE_PEAKS_LEVELS,
                     &peaks->levels[i].bytes_per_sec, err);
    }
    free(data);
    return rc;
}

int tare_peaks_measure(int threads, int64_t budget_ns, struct tare_peaks *ret_peaks, struct tare_error *err)
{
    if (threads < 1 || threads > THREADS_MAX)
        return tare_fail(err, TARE_E_USAGE, 0, "cannot measure the peaks of %d threads", threads);
    struct tare_peaks peaks = {.threads = threads};
    const struct tare_peaks_kernel *best = NULL;
    for (const struct tare_peaks_kernel *kernel = tare_peaks_kernels; kernel->name; kernel++) {
        if (!kernel->available())
            continue;
        struct job job = {.kernel = kernel};
        struct tare_interval rate;
        if (measure(&job, (size_t)threads, kernel->flops_per_round * threads, budget_ns / 8, &rate, err) < 0)
            return -1;
        if (!best || rate.estimate > peaks.flops_per_sec.estimate) {
            best = kernel;
            peaks.flops_per_sec = rate;
        }
    }
    if (!best)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "no kernel for peaks runs on this processor");
    peaks.kernel = best->name;
    if (measure_levels(best, (size_t)threads, budget_ns / 2, &peaks, err) < 0)
        return -1;
    *ret_peaks = peaks;
    return 0;
}

double tare_peaks_bandwidth(const struct tare_peaks *peaks, double bytes)
{
    const struct tare_peaks_level *levels = peaks->levels;
    if (!(bytes > (double)levels[0].bytes))
        return levels[0].bytes_per_sec.estimate;
    for (size_t i = 1; i < TARE_PEAKS_LEVELS; i++) {
        if (bytes > (double)levels[i].bytes)
            continue;
        double from = log((double)levels[i - 1].bytes), to = log((double)levels[i].bytes);
        double share = (log(bytes) - from) / (to - from);
        return exp((1 - share) * log(levels[i - 1].bytes_per_sec.estimate) +
                   share * log(levels[i].bytes_per_sec.estimate));
    }
    return levels[TARE_PEAKS_LEVELS - 1].bytes_per_sec.estimate;
}
