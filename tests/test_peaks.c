/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/peaks.h"

#include "base/clock.h"
#include "bench/peaks_kernel.h"
#include "check.h"

/* Work of a known size in plain C must stay below the peak: this is what the figure promises. */
static void is_above_plain_work(void)
{
    struct tare_peaks peaks;
    struct tare_error err;
    CHECK_INT(tare_peaks_measure(1, 100000000, &peaks, &err), 0);
    CHECK(peaks.kernel);
    CHECK(peaks.flops_per_sec.low <= peaks.flops_per_sec.estimate);
    CHECK(peaks.flops_per_sec.high >= peaks.flops_per_sec.estimate);
    static float x[4096];
    volatile float scale = 0.5F;
    int64_t best = INT64_MAX;
    for (int turn = 0; turn < 20; turn++) {
        int64_t start = tare_clock_ns();
        for (int pass = 0; pass < 100; pass++) {
            float factor = scale;
            for (size_t i = 0; i < 4096; i++)
                x[i] = x[i] * factor + 1.0F;
        }
        int64_t took = tare_clock_ns() - start;
        best = took < best ? took : best;
    }
    double rate = 100 * 4096 * 2 / ((double)best * 1e-9);
    CHECK(rate > 0 && rate < peaks.flops_per_sec.high * 1.05);
    for (size_t i = 0; i < TARE_PEAKS_LEVELS; i++)
        CHECK(peaks.levels[i].bytes_per_sec.estimate > 1e8);
    /* Caches are faster than memory, by far more than noise. */
    CHECK(peaks.levels[0].bytes_per_sec.estimate >
          peaks.levels[TARE_PEAKS_LEVELS - 1].bytes_per_sec.estimate);
}

static void goes_between_levels(void)
{
    struct tare_peaks peaks = {.threads = 1};
    for (size_t i = 0; i < TARE_PEAKS_LEVELS; i++) {
        peaks.levels[i].bytes = (int64_t)1000 << (2 * i);
        peaks.levels[i].bytes_per_sec.estimate = 1e11 / (double)(1 << i);
    }
    CHECK_REAL(tare_peaks_bandwidth(&peaks, 0), 1e11, 1e-12);
    CHECK_REAL(tare_peaks_bandwidth(&peaks, 4000), 5e10, 1e-12);
    CHECK_REAL(tare_peaks_bandwidth(&peaks, 2000), 1e11 / sqrt(2), 1e-12);
    CHECK_REAL(tare_peaks_bandwidth(&peaks, 1e12), 1e11 / 32, 1e-12);
    CHECK_REAL(tare_peaks_bandwidth(&peaks, NAN), 1e11, 1e-12);
}

static void every_kernel_reads_all_of_it(void)
{
    static _Alignas(64) unsigned char data[4096];
    for (const struct tare_peaks_kernel *kernel = tare_peaks_kernels; kernel->name; kernel++) {
        if (!kernel->available())
            continue;
        CHECK_INT(kernel->read(data, sizeof data), 0);
        for (size_t i = 0; i < sizeof data; i += 61) {
            data[i] = 1;
            CHECK(kernel->read(data, sizeof data) != 0);
            data[i] = 0;
        }
        CHECK(isfinite(kernel->flops(1000)));
    }
}

static void refuses_no_threads(void)
{
    struct tare_peaks peaks;
    struct tare_error err;
    CHECK_INT(tare_peaks_measure(0, 1000000, &peaks, &err), -1);
    CHECK(strstr(err.msg, "0 threads"));
}

int main(void)
{
    RUN(is_above_plain_work);
    RUN(goes_between_levels);
    RUN(every_kernel_reads_all_of_it);
    RUN(refuses_no_threads);
    return check_done();
}
