/* SPDX-License-Identifier: Apache-2.0 */
#include "core/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "core/diff_match.h"
#include "core/pairs.h"
#include "core/reframe.h"

static const char base_prefix[] = "base:";

enum { BASE_PREFIX = sizeof base_prefix - 1, COLUMN_NAME_BYTES = 1024, COMMENT_BYTES = 1 << 16 };

uint32_t tare_diff_base(const struct tare_profile *diff, uint32_t column)
{
    /* The columns come in pairs, the base first. */
    if (column == TARE_NONE || column % 2 == 0 || column >= tare_profile_columns(diff))
        return TARE_NONE;
    const char *name = tare_profile_column_name(diff, column - 1);
    if (strncmp(name, base_prefix, BASE_PREFIX) != 0 ||
        strcmp(name + BASE_PREFIX, tare_profile_column_name(diff, column)) != 0)
        return TARE_NONE;
    return column - 1;
}

/* The column of now that has the same name and unit; TARE_NONE if there is none. */
static uint32_t same_column(const struct tare_profile *base, uint32_t column, const struct tare_profile *now)
{
    uint32_t found = tare_profile_find_column(now, tare_profile_column_name(base, column));
    if (found != TARE_NONE &&
        strcmp(tare_profile_column_unit(base, column), tare_profile_column_unit(now, found)) != 0)
        return TARE_NONE;
    return found;
}

/* Which columns of each side go where. */
struct columns {
    uint32_t base[TARE_COLUMNS_MAX], now[TARE_COLUMNS_MAX];
};

static int add_column_pair(struct tare_profile *diff, const struct tare_profile *base, uint32_t from_base,
                           uint32_t from_now, struct columns *columns, struct tare_error *err)
{
    char name[COLUMN_NAME_BYTES];
    const char *plain = tare_profile_column_name(base, from_base);
    const char *unit = tare_profile_column_unit(base, from_base);
    if ((size_t)snprintf(name, sizeof name, "%s%s", base_prefix, plain) >= sizeof name)
        return tare_fail(err, TARE_E_LIMIT, 0, "a column's name is longer than %d bytes", COLUMN_NAME_BYTES);
    columns->base[from_base] = tare_profile_add_column(diff, name, unit);
    columns->now[from_now] = tare_profile_add_column(diff, plain, unit);
    return 0;
}

static int choose_columns(struct tare_profile *diff, const struct tare_profile *base,
                          const struct tare_profile *now, const char *only, struct columns *columns,
                          struct tare_error *err)
{
    uint32_t pairs = 0;
    memset(columns, 0xff, sizeof *columns); /* all TARE_NONE */
    for (uint32_t c = 0; c < tare_profile_columns(base) && pairs < TARE_COLUMNS_MAX / 2; c++) {
        const char *name = tare_profile_column_name(base, c);
        uint32_t same = same_column(base, c, now);
        bool wanted = !only || strcmp(only, name) == 0;
        if (!wanted || same == TARE_NONE)
            continue;
        if (add_column_pair(diff, base, c, same, columns, err) < 0)
            return -1;
        pairs++;
    }
    if (!pairs && only)
        return tare_fail(err, TARE_E_USAGE, 0, "the two profiles do not both have a column '%s' in one unit",
                         only);
    if (!pairs)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "the two profiles have no column in common: there is nothing to compare");
    return 0;
}

static int64_t column_sum(const struct tare_profile *profile, uint32_t column)
{
    int64_t sum = 0;
    for (uint32_t n = 0; n < tare_profile_nodes(profile); n++)
        if (__builtin_add_overflow(sum, tare_profile_values(profile, n)[column], &sum))
            return INT64_MAX;
    return sum;
}

static int64_t scale(int64_t value, int64_t up, int64_t down)
{
    long double scaled = roundl((long double)value * (long double)up / (long double)down);
    if (scaled >= 0x1p63L)
        return INT64_MAX;
    return scaled <= -0x1p63L ? INT64_MIN : (int64_t)scaled;
}

/* Scale each base column so that its sum is the other's. Cumulative times of pairs follow the own times:
 * their sum counts a nanosecond once per caller. */
static void normalise(struct tare_profile *diff)
{
    int64_t sums[TARE_COLUMNS_MAX];
    uint32_t columns = tare_profile_columns(diff);
    for (uint32_t c = 0; c < columns; c++)
        sums[c] = column_sum(diff, c);
    for (uint32_t c = 1; c < columns; c += 2) {
        const char *name = tare_profile_column_name(diff, c);
        uint32_t by = c;
        if (tare_profile_meta_const(diff)->kind == TARE_PROFILE_DIFF_PAIRS && strcmp(name, "cumtime") == 0)
            by = tare_profile_find_column(diff, "tottime");
        if (by == TARE_NONE || by == 0 || sums[by] <= 0 || sums[by - 1] <= 0)
            continue;
        for (uint32_t n = 0; n < tare_profile_nodes(diff); n++) {
            int64_t value = tare_profile_values(diff, n)[c - 1];
            if (value)
                tare_profile_add(diff, n, c - 1, scale(value, sums[by], sums[by - 1]) - value);
        }
        struct tare_buf said;
        tare_buf_init(&said, COMMENT_BYTES);
        tare_buf_printf(&said, "base:%s was multiplied by %.6g, so that both totals are equal", name,
                        (double)sums[by] / (double)sums[by - 1]);
        tare_profile_add_comment(diff, said.data, said.length);
        tare_buf_finish(&said);
    }
}

static void copy_comments(struct tare_profile *diff, const struct tare_profile *from, const char *prefix)
{
    struct tare_buf text;
    tare_buf_init(&text, COMMENT_BYTES);
    for (uint32_t i = 0; i < tare_profile_comments(from); i++) {
        uint32_t comment = tare_profile_comment_at(from, i);
        tare_buf_clear(&text);
        tare_buf_add_text(&text, prefix);
        tare_buf_add(&text, tare_profile_text(from, comment), tare_profile_text_length(from, comment));
        if (!text.failed)
            tare_profile_add_comment(diff, text.data, text.length);
    }
    tare_buf_finish(&text);
}

static void describe(struct tare_profile *diff, const struct tare_profile *base,
                     const struct tare_profile *now, const char *column)
{
    const struct tare_profile_meta *said = tare_profile_meta_const(now);
    uint32_t main_column = tare_profile_main_column(now);
    if (!column && main_column != TARE_NONE)
        column = tare_profile_column_name(now, main_column);
    uint32_t shown = column ? tare_profile_find_column(diff, column) : TARE_NONE;
    if (shown == TARE_NONE)
        shown = tare_profile_columns(diff) - 1;
    uint32_t name = tare_profile_intern(diff, tare_profile_column_name(now, same_column(diff, shown, now)));
    copy_comments(diff, base, base_prefix);
    copy_comments(diff, now, "");
    struct tare_profile_meta *meta = tare_profile_meta(diff);
    meta->time_ns = said->time_ns;
    meta->duration_ns = said->duration_ns;
    meta->default_column = name;
    meta->estimated = said->estimated | tare_profile_meta_const(base)->estimated;
    meta->kind = said->kind == TARE_PROFILE_PAIRS ? TARE_PROFILE_DIFF_PAIRS : TARE_PROFILE_DIFF;
}

static int check_kinds(const struct tare_profile *base, const struct tare_profile *now,
                       struct tare_error *err)
{
    uint32_t a = tare_profile_meta_const(base)->kind, b = tare_profile_meta_const(now)->kind;
    if (a > TARE_PROFILE_PAIRS || b > TARE_PROFILE_PAIRS)
        return tare_fail(err, TARE_E_USAGE, 0, "a difference cannot be compared again");
    if (a != b)
        return tare_fail(
            err, TARE_E_INPUT, 0,
            "one profile holds caller pairs and the other whole stacks: compare two of one kind");
    return 0;
}

static int diff_with(const struct tare_profile *base, const struct tare_profile *now,
                     const struct tare_diff_options *options, bool exact, struct tare_profile **ret_diff,
                     struct tare_error *err)
{
    struct tare_profile *diff = NULL;
    uint32_t *maps[2] = {NULL, NULL};
    struct columns columns;
    int rc = -1;

    if (check_kinds(base, now, err) < 0)
        return -1;
    bool pairs = tare_profile_meta_const(now)->kind == TARE_PROFILE_PAIRS;
    if (pairs && options->column && tare_profile_find_column(now, options->column) == TARE_NONE)
        return tare_fail(err, TARE_E_USAGE, 0, "caller pairs have no column '%s'", options->column);
    if (tare_profile_create(0, &diff, err) < 0 ||
        choose_columns(diff, base, now, pairs ? NULL : options->column, &columns, err) < 0 ||
        tare_diff_match(diff, base, now, exact, &maps, err) < 0)
        goto out;
    struct tare_reframe from_base = {.frames = maps[0], .columns = columns.base};
    struct tare_reframe from_now = {.frames = maps[1], .columns = columns.now};
    if (tare_reframe(diff, base, &from_base, err) < 0 || tare_reframe(diff, now, &from_now, err) < 0)
        goto out;
    describe(diff, base, now, options->column);
    if (options->normalise)
        normalise(diff);
    if (tare_profile_check(diff, err) < 0)
        goto out;
    *ret_diff = diff;
    diff = NULL;
    rc = 0;
out:
    free(maps[0]);
    free(maps[1]);
    tare_profile_destroy(diff);
    return rc;
}

int tare_profile_diff(const struct tare_profile *base, const struct tare_profile *now,
                      const struct tare_diff_options *options, struct tare_profile **ret_diff,
                      struct tare_error *err)
{
    static const struct tare_diff_options plain = {0};
    return diff_with(base, now, options ? options : &plain, false, ret_diff, err);
}

int tare_diff_side(const struct tare_profile *diff, bool base, struct tare_profile **ret_side,
                   struct tare_error *err)
{
    struct tare_profile *side = NULL;
    uint32_t frame_count = tare_profile_frames(diff);
    uint32_t columns[TARE_COLUMNS_MAX];
    uint32_t *frames = malloc(((size_t)frame_count + 1) * sizeof *frames);
    int rc = -1;
    if (!frames) {
        tare_fail_memory(err);
        goto out;
    }
    if (tare_profile_create(0, &side, err) < 0)
        goto out;
    for (uint32_t c = 0; c < tare_profile_columns(diff); c++) {
        bool wanted = (c % 2 == 0) == base;
        const char *name = tare_profile_column_name(diff, c | 1);
        columns[c] =
            wanted ? tare_profile_add_column(side, name, tare_profile_column_unit(diff, c)) : TARE_NONE;
    }
    for (uint32_t f = 0; f < frame_count; f++) {
        struct tare_frame frame = tare_reframe_copy(side, diff, tare_profile_frame_at(diff, f));
        frames[f] = tare_profile_frame(side, &frame);
    }
    struct tare_reframe how = {.frames = frames, .columns = columns};
    if (tare_reframe(side, diff, &how, err) < 0)
        goto out;
    const struct tare_profile_meta *said = tare_profile_meta_const(diff);
    uint32_t name = tare_profile_intern(side, tare_profile_text(diff, said->default_column));
    struct tare_profile_meta *meta = tare_profile_meta(side);
    meta->kind = said->kind == TARE_PROFILE_DIFF_PAIRS ? TARE_PROFILE_PAIRS : TARE_PROFILE_TREE;
    meta->default_column = name;
    meta->estimated = said->estimated;
    if (tare_profile_check(side, err) < 0)
        goto out;
    *ret_side = side;
    side = NULL;
    rc = 0;
out:
    free(frames);
    tare_profile_destroy(side);
    return rc;
}

int tare_diff_estimate(const struct tare_profile *diff, uint32_t max_nodes, struct tare_profile **ret_tree,
                       struct tare_error *err)
{
    static const struct tare_diff_options plain = {0};
    struct tare_profile *sides[2] = {NULL, NULL}, *trees[2] = {NULL, NULL};
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        rc = tare_diff_side(diff, i == 0, &sides[i], err);
        if (rc == 0)
            rc = tare_pairs_estimate(sides[i], max_nodes, &trees[i], err);
    }
    if (rc == 0)
        rc = diff_with(trees[0], trees[1], &plain, true, ret_tree, err);
    if (rc == 0)
        copy_comments(*ret_tree, diff, "");
    for (int i = 0; i < 2; i++) {
        tare_profile_destroy(sides[i]);
        tare_profile_destroy(trees[i]);
    }
    return rc;
}
