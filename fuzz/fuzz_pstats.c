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
#include "profile_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    struct tare_profile *profile = profile_from_bytes(&tare_reader_pstats, data, size), *again = NULL;
    if (!profile)
        return 0;
    struct tare_out once, twice = {0}, text;
    if (profile_to_bytes(&tare_writer_pstats, profile, &once)) {
        again = profile_from_bytes(&tare_reader_pstats, once.buf.data, once.buf.length);
        if (!again || !profile_to_bytes(&tare_writer_pstats, again, &twice) ||
            (is_exact(profile) && !bytes_equal(&once, &twice)))
            abort();
    }
    const struct tare_writer *const writers[] = {&tare_writer_table, &tare_writer_callers,
                                                 &tare_writer_callees, NULL};
    for (const struct tare_writer *const *writer = writers; *writer; writer++) {
        profile_to_bytes(*writer, profile, &text);
        tare_out_finish(&text);
    }
    check_estimate(profile);
    tare_out_finish(&once);
    tare_out_finish(&twice);
    tare_profile_destroy(profile);
    tare_profile_destroy(again);
    return 0;
}
