/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The .prof reader, and everything that is made of what it accepts: the file written from a profile must be
 * read again and give the same bytes, and the estimated tree must hold the same time.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/functions.h"
#include "core/pairs.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tare_profile *read_bytes(const void *data, size_t size)
{
    struct tare_in *in;
    struct tare_profile *profile;
    struct tare_error err;
    if (tare_in_open_memory(data, size, "input", &in, &err) < 0)
        return NULL;
    if (tare_profile_create((size_t)64 << 20, &profile, &err) < 0)
        abort();
    int rc = tare_reader_pstats.read(in, profile, &err);
    tare_in_close(in);
    if (rc == 0)
        return profile;
    if (err.msg[0] == '\0')
        abort();
    tare_profile_destroy(profile);
    return NULL;
}

static void write_view(const struct tare_writer *writer, const struct tare_profile *profile,
                       struct tare_out *out)
{
    const struct tare_view view = {.sort = "stdname"};
    tare_out_init_memory(out, (size_t)256 << 20);
    writer->write(profile, &view, out);
    if (tare_out_commit(out, NULL) < 0)
        abort();
}

/* Past 2^51 nanoseconds (26 days) a double of seconds no longer tells one from the next. */
static bool is_exact(const struct tare_profile *profile)
{
    struct tare_functions functions;
    struct tare_error err;
    if (tare_functions_init(&functions, profile, TARE_NONE, false, &err) < 0)
        abort();
    bool exact = true;
    for (uint32_t i = 0; i < functions.count; i++)
        exact = exact && functions.items[i].figures.self < (int64_t)1 << 51 &&
                functions.items[i].figures.total < (int64_t)1 << 51;
    for (uint32_t i = 0; i < functions.pair_count; i++)
        exact = exact && functions.pairs[i].figures.self < (int64_t)1 << 51 &&
                functions.pairs[i].figures.total < (int64_t)1 << 51;
    tare_functions_finish(&functions);
    return exact;
}

static void check_estimate(const struct tare_profile *profile)
{
    struct tare_profile *tree;
    struct tare_functions functions;
    struct tare_error err;
    if (tare_pairs_estimate(profile, 2000, &tree, &err) < 0 ||
        tare_functions_init(&functions, tree, TARE_NONE, false, &err) < 0)
        abort();
    tare_functions_finish(&functions);
    tare_profile_destroy(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tare_reader_pstats.recognise(data, size < 4096 ? size : 4096, size < 4096);
    struct tare_profile *profile = read_bytes(data, size);
    if (!profile)
        return 0;
    struct tare_out once, twice, text;
    write_view(&tare_writer_pstats, profile, &once);
    struct tare_profile *again = read_bytes(once.buf.data, once.buf.length);
    if (!again)
        abort();
    write_view(&tare_writer_pstats, again, &twice);
    if (is_exact(profile) &&
        (once.buf.length != twice.buf.length || memcmp(once.buf.data, twice.buf.data, once.buf.length) != 0))
        abort();
    const struct tare_writer *const writers[] = {&tare_writer_table, &tare_writer_callers,
                                                 &tare_writer_callees, NULL};
    for (const struct tare_writer *const *writer = writers; *writer; writer++) {
        write_view(*writer, profile, &text);
        tare_out_finish(&text);
    }
    check_estimate(profile);
    tare_out_finish(&once);
    tare_out_finish(&twice);
    tare_profile_destroy(profile);
    tare_profile_destroy(again);
    return 0;
}
