/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to the spans of a name: the outermost ones, on every thread, without the machinery. */
#include "check.h"
#include "core/spans.h"

enum { CALLS, WALL };

static uint32_t put(struct tare_profile *profile, uint32_t parent, enum tare_frame_kind kind,
                    const char *name, const char *file, int64_t calls, int64_t wall)
{
    uint32_t frame = tare_profile_function(profile, kind, name, file, 0);
    uint32_t node = tare_profile_child(profile, parent, frame, 0);
    tare_profile_add(profile, node, CALLS, calls);
    tare_profile_add(profile, node, WALL, wall);
    return node;
}

static struct tare_profile *make(void)
{
    struct tare_profile *profile = NULL;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    tare_profile_add_column(profile, "calls", "count");
    tare_profile_add_column(profile, "wall", "nanoseconds");
    return profile;
}

static int64_t sum(const struct tare_profile *profile, uint32_t column)
{
    int64_t all = 0;
    for (uint32_t n = 0; n < tare_profile_nodes(profile); n++)
        all += tare_profile_values(profile, n)[column];
    return all;
}

static void outermost_spans_on_every_thread(void)
{
    struct tare_profile *profile = make(), *part = NULL;
    for (int64_t tid = 1; tid <= 2; tid++) {
        struct tare_label label = {.key = tare_profile_intern(profile, "tid"), .numeric = 1, .number = tid};
        uint32_t root = tare_profile_root(profile, tare_profile_labels(profile, &label, 1));
        uint32_t outside = put(profile, root, TARE_FRAME_PYTHON, "main", "m.py", 1, 1000);
        uint32_t span = put(profile, outside, TARE_FRAME_SPAN, "load", "", 3, 10);
        uint32_t work = put(profile, span, TARE_FRAME_PYTHON, "work", "m.py", 3, 100);
        put(profile, put(profile, work, TARE_FRAME_SPAN, "load", "", 2, 20), TARE_FRAME_PYTHON, "work",
            "m.py", 2, 200);
        put(profile, put(profile, root, TARE_FRAME_SPAN, "other", "", 1, 5), TARE_FRAME_PYTHON, "work",
            "m.py", 1, 7);
    }
    CHECK_INT(tare_profile_span(profile, "load", NULL, &part, NULL), 0);
    CHECK_INT(sum(part, CALLS), 2 * (3 + 3 + 2 + 2));
    CHECK_INT(sum(part, WALL), 2 * (10 + 100 + 20 + 200));
    CHECK_INT(tare_profile_nodes(part), 1 + 2 * 5);
    CHECK_TEXT(tare_profile_column_name(part, WALL), "wall");
    tare_profile_destroy(part);
    CHECK_INT(tare_profile_span(profile, "never", NULL, &part, NULL), 0);
    CHECK_INT(tare_profile_nodes(part), 1);
    tare_profile_destroy(part);
    tare_profile_destroy(profile);
}

static void machinery_melts_until_the_next_span(void)
{
    struct tare_profile *profile = make(), *part = NULL;
    uint32_t span = put(profile, 0, TARE_FRAME_SPAN, "load", "", 1, 1);
    uint32_t wrapper = put(profile, span, TARE_FRAME_PYTHON, "made", "/lib/tare/_profile.py", 9, 2);
    put(profile, wrapper, TARE_FRAME_BUILTIN, "<built-in method posix.getpid>", "~", 9, 4);
    uint32_t inner = put(profile, wrapper, TARE_FRAME_SPAN, "inner", "", 9, 8);
    put(profile, inner, TARE_FRAME_PYTHON, "work", "/lib/tarefoot/x.py", 9, 16);
    put(profile, span, TARE_FRAME_BUILTIN, "<method '__exit__' of 'tare._core.Span' objects>", "~", 1, 32);
    CHECK_INT(tare_profile_span(profile, "load", "/lib/tare", &part, NULL), 0);
    CHECK_INT(tare_profile_nodes(part), 4);
    CHECK_INT(sum(part, WALL), 63);
    CHECK_INT(sum(part, CALLS), 1 + 9 + 9);
    CHECK_INT(tare_profile_values(part, 1)[WALL], 1 + 2 + 4 + 32);
    tare_profile_destroy(part);
    tare_profile_destroy(profile);
}

int main(void)
{
    RUN(outermost_spans_on_every_thread);
    RUN(machinery_melts_until_the_next_span);
    return check_done();
}
