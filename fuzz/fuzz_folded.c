/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of folded stacks, and the stack views of what it accepts. What is written is read again and,
 * from the second time on, gives the same bytes; values are neither lost nor made. SVG and JSON are checked
 * for what a parser refuses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "core/diff.h"
#include "profile_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t sum(const struct tare_profile *profile)
{
    int64_t total = 0;
    for (uint32_t n = 0; n < tare_profile_nodes(profile); n++)
        if (__builtin_add_overflow(total, tare_profile_values(profile, n)[0], &total))
            return -1;
    return total;
}

static void check_svg(const struct tare_profile *profile)
{
    struct tare_out out;
    if (profile_to_bytes(&tare_writer_svg, profile, &out)) {
        for (size_t i = 0; i < out.buf.length;) {
            uint32_t point;
            size_t n = tare_utf8_next(out.buf.data + i, out.buf.length - i, &point);
            if (n == 0 || (point < ' ' && point != '\n') || point == 0xfffe || point == 0xffff)
                abort();
            i += n;
        }
    }
    tare_out_finish(&out);
}

static void check_json(const struct tare_writer *writer, const struct tare_profile *profile)
{
    struct tare_out out;
    yyjson_doc *doc;
    if (profile_to_bytes(writer, profile, &out)) {
        if (tare_json_read(out.buf.data, out.buf.length, "output", &doc, NULL) < 0)
            abort();
        yyjson_doc_free(doc);
    }
    tare_out_finish(&out);
}

static void check_diff(const struct tare_profile *base, const struct tare_profile *now)
{
    struct tare_profile *diff;
    struct tare_out out;
    if (strcmp(tare_profile_column_unit(base, 0), tare_profile_column_unit(now, 0)) != 0)
        return;
    if (tare_profile_diff(base, now, NULL, &diff, NULL) < 0)
        abort();
    profile_to_bytes(&tare_writer_diff, diff, &out);
    tare_out_finish(&out);
    check_svg(diff);
    tare_profile_destroy(diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_profile *first = profile_from_bytes(&tare_reader_folded, data, size), *second = NULL,
                        *third = NULL;
    if (!first)
        return 0;
    struct tare_out texts[3] = {0};
    if (profile_to_bytes(&tare_writer_folded, first, &texts[0]) && texts[0].buf.length &&
        (second = profile_from_bytes(&tare_reader_folded, texts[0].buf.data, texts[0].buf.length)) &&
        profile_to_bytes(&tare_writer_folded, second, &texts[1])) {
        if (sum(first) != sum(second))
            abort();
        third = profile_from_bytes(&tare_reader_folded, texts[1].buf.data, texts[1].buf.length);
        if (!third || !profile_to_bytes(&tare_writer_folded, third, &texts[2]) ||
            !bytes_equal(&texts[1], &texts[2]))
            abort();
        check_diff(first, second);
    }
    check_svg(first);
    check_json(&tare_writer_speedscope, first);
    check_json(&tare_writer_json, first);
    for (int i = 0; i < 3; i++)
        tare_out_finish(&texts[i]);
    tare_profile_destroy(first);
    tare_profile_destroy(second);
    tare_profile_destroy(third);
    return 0;
}
