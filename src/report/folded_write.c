/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, one line per context that has a value of its own: `root;child;leaf COUNT`, sorted by name,
 * in the unit of the column. A frame with a file is written as py-spy does, `func (file.py:12)`.
 *
 * The format has no way to write ';' or a line break inside a name: ';' becomes ':' (as stackcollapse-perf
 * does), control characters become spaces, and a '#' that would begin a line becomes '_'. Stacks that were
 * estimated from caller pairs are preceded by the line `# estimated from caller pairs`, which readers of the
 * format pass over. A difference has two counts per line, the base's first, as difffolded writes it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "core/pairs.h"
#include "report/report.h"
#include "report/stacks.h"

/* The longest stack that is kept as text on the way down; a deeper one is an error, not a cut. */
#define PATH_CAP ((size_t)64 << 20)

static void add_escaped(struct tare_buf *path, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) {
            size_t n = tare_utf8_next(text + i, length - i, NULL);
            if (n == 0)
                tare_buf_add_text(path, TARE_UTF8_REPLACEMENT);
            else
                tare_buf_add(path, text + i, n);
            i += n ? n - 1 : 0;
        } else {
            tare_buf_add_byte(path, c == ';' ? ':' : c < ' ' || c == 0x7f ? ' ' : c);
        }
    }
}

static void add_string(struct tare_buf *path, const struct tare_profile *profile, uint32_t string)
{
    add_escaped(path, tare_profile_text(profile, string), tare_profile_text_length(profile, string));
}

/* Readers take spaces around a name for no part of it, and a line that begins with '#' for a comment. */
static void trim(struct tare_buf *path, size_t start)
{
    if (path->failed)
        return;
    size_t spaces = start;
    while (spaces < path->length && path->data[spaces] == ' ')
        spaces++;
    memmove(path->data + start, path->data + spaces, path->length - spaces);
    path->length -= spaces - start;
    while (path->length > start && path->data[path->length - 1] == ' ')
        path->length--;
    if (path->length == start)
        tare_buf_add_text(path, "[unknown]");
    else if (start == 0 && path->data[0] == '#')
        path->data[0] = '_';
}

/* Does the name say file and line already, as `train.py:12`? */
static bool name_is_place(const struct tare_profile *profile, const struct tare_frame *frame, uint32_t line)
{
    const char *name = tare_profile_text(profile, frame->name);
    const char *file = tare_profile_text(profile, frame->file);
    size_t length = tare_profile_text_length(profile, frame->file);
    char number[16];
    snprintf(number, sizeof number, ":%" PRIu32, line);
    return strncmp(name, file, length) == 0 && strcmp(name + length, number) == 0;
}

static void add_frame(struct tare_buf *path, const struct tare_stacks *stacks, uint32_t node)
{
    const struct tare_profile *profile = stacks->profile;
    const struct tare_frame *frame = tare_stacks_frame(stacks, node);
    uint32_t line = frame->first_line ? frame->first_line : tare_profile_node_at(profile, node)->line;
    size_t start = path->length;
    add_string(path, profile, frame->name);
    uint32_t place = frame->file ? frame->file : frame->kind == TARE_FRAME_NATIVE ? frame->module : 0;
    if (place && !name_is_place(profile, frame, line)) {
        tare_buf_add_text(path, " (");
        add_string(path, profile, place);
        if (line && place == frame->file)
            tare_buf_printf(path, ":%" PRIu32, line);
        tare_buf_add_byte(path, ')');
    }
    trim(path, start);
}

/* Digits behind the point that the reader of decimal counts put into the unit. */
static unsigned unit_decimals(const char *unit)
{
    unsigned decimals = 0;
    if (strncmp(unit, "count/1", 7) != 0)
        return 0;
    for (unit += 7; *unit == '0' && decimals < 9; unit++)
        decimals++;
    return *unit ? 0 : decimals;
}

static void write_count(struct tare_out *out, int64_t value, unsigned decimals)
{
    if (value == INT64_MIN)
        value = -INT64_MAX; /* it stopped there because it did not fit: let readers that hold magnitudes read
                               it */
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    tare_out_printf(out, " %s%" PRIu64, value < 0 ? "-" : "", size / scale);
    if (decimals)
        tare_out_printf(out, ".%0*" PRIu64, (int)decimals, size % scale);
}

static int write_stacks(const struct tare_stacks *stacks, struct tare_out *out, struct tare_error *err)
{
    const struct tare_profile *profile = stacks->profile;
    unsigned decimals = unit_decimals(tare_profile_column_unit(profile, stacks->column));
    struct tare_buf path;
    tare_buf_init(&path, PATH_CAP);
    uint32_t deepest = 1024;
    size_t *ends = malloc(deepest * sizeof *ends); /* where the path ended at each depth */
    int rc = 0;
    if (!ends) {
        rc = tare_fail_memory(err);
        goto out;
    }
    struct tare_walk walk = tare_walk_begin(&stacks->tree);
    while (tare_walk_next(&walk) && !out->failed) {
        if (!walk.entering) {
            path.length = ends[walk.depth];
            continue;
        }
        if (walk.depth == deepest) {
            size_t *more = realloc(ends, 2 * (size_t)deepest * sizeof *ends);
            if (!more) {
                rc = tare_fail_memory(err);
                goto out;
            }
            ends = more;
            deepest *= 2;
        }
        ends[walk.depth] = path.length;
        if (path.length)
            tare_buf_add_byte(&path, ';');
        if (walk.node)
            add_frame(&path, stacks, walk.node);
        if (tare_buf_check(&path, err) < 0) {
            rc = -1;
            goto out;
        }
        const int64_t *values = tare_profile_values(profile, walk.node);
        int64_t value = values[stacks->column], base = stacks->base == TARE_NONE ? 0 : values[stacks->base];
        if (value == 0 && base == 0)
            continue;
        tare_out_add(out, path.data, path.length);
        if (stacks->base != TARE_NONE)
            write_count(out, base, decimals);
        write_count(out, value, decimals);
        tare_out_add(out, "\n", 1);
    }
out:
    free(ends);
    tare_buf_finish(&path);
    return rc;
}

static void folded_write(const struct tare_profile *profile, const struct tare_view *view,
                         struct tare_out *out)
{
    struct tare_stacks stacks;
    struct tare_error err;
    if (tare_stacks_init(&stacks, profile, view, true, &err) < 0) {
        tare_out_fail(out, &err);
        return;
    }
    if (tare_stacks_estimated(&stacks))
        tare_out_text(out, "# " TARE_PAIRS_ESTIMATED "\n");
    if (write_stacks(&stacks, out, &err) < 0)
        tare_out_fail(out, &err);
    tare_stacks_finish(&stacks);
}

const struct tare_writer tare_writer_folded = {
    .name = "folded",
    .extensions = ".folded .collapsed",
    .summary = "folded stacks, for flame graph tools",
    .write = folded_write,
};
