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
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tare_profile *read_bytes(const void *data, size_t size)
{
    struct tare_in *in;
    struct tare_profile *profile;
    struct tare_error err = {0};
    if (tare_in_open_memory(data, size, "input", &in, &err) < 0)
        return NULL;
    if (tare_profile_create((size_t)64 << 20, &profile, &err) < 0)
        abort();
    int rc = tare_reader_folded.read(in, profile, &err);
    tare_in_close(in);
    if (rc == 0)
        return profile;
    if (err.msg[0] == '\0')
        abort();
    tare_profile_destroy(profile);
    return NULL;
}

/* False if the view is too large. */
static bool write_view(const struct tare_writer *writer, const struct tare_profile *profile,
                       struct tare_out *out)
{
    static const struct tare_view view = {0};
    struct tare_error err;
    tare_out_init_memory(out, (size_t)16 << 20);
    writer->write(profile, &view, out);
    if (tare_out_commit(out, &err) == 0)
        return true;
    if (err.code != TARE_E_MEMORY && err.code != TARE_E_LIMIT)
        abort();
    return false;
}

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
    if (write_view(&tare_writer_svg, profile, &out)) {
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
    if (write_view(writer, profile, &out)) {
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
    write_view(&tare_writer_diff, diff, &out);
    tare_out_finish(&out);
    check_svg(diff);
    tare_profile_destroy(diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tare_reader_folded.recognise(data, size < 4096 ? size : 4096, size < 4096);
    struct tare_profile *first = read_bytes(data, size), *second = NULL, *third = NULL;
    if (!first)
        return 0;
    struct tare_out texts[3] = {0};
    if (write_view(&tare_writer_folded, first, &texts[0]) && texts[0].buf.length &&
        (second = read_bytes(texts[0].buf.data, texts[0].buf.length)) &&
        write_view(&tare_writer_folded, second, &texts[1])) {
        if (sum(first) != sum(second))
            abort();
        third = read_bytes(texts[1].buf.data, texts[1].buf.length);
        if (!third || !write_view(&tare_writer_folded, third, &texts[2]) ||
            texts[1].buf.length != texts[2].buf.length ||
            memcmp(texts[1].buf.data, texts[2].buf.data, texts[1].buf.length) != 0)
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
