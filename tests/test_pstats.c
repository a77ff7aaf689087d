/* SPDX-License-Identifier: Apache-2.0 */
/* The .prof reader and writer: every form marshal can give a profile, and what must be refused. */
#include <stdlib.h>

#include "base/marshal.h"
#include "check.h"
#include "core/functions.h"
#include "report/report.h"

/* Bytes under construction, from literals (which may hold NULs) and from the writer's own functions. */
#define RAW(out, literal) tare_out_add(out, literal, sizeof(literal) - 1)

static int read_bytes(const void *data, size_t size, struct tare_profile **ret_profile,
                      struct tare_error *err)
{
    struct tare_in *in;
    CHECK_INT(tare_in_open_memory(data, size, "it.prof", &in, err), 0);
    CHECK_INT(tare_profile_create(0, ret_profile, err), 0);
    int rc = tare_reader_pstats.read(in, *ret_profile, err);
    tare_in_close(in);
    return rc;
}

static void write_profile(const struct tare_profile *profile, struct tare_out *out)
{
    const struct tare_view view = {0};
    tare_out_init_memory(out, 1 << 20);
    tare_writer_pstats.write(profile, &view, out);
    CHECK_INT(tare_out_commit(out, NULL), 0);
}

/* Reading must fail with exactly this message. */
static void check_refused(int line, struct tare_out *out, const char *message)
{
    struct tare_profile *profile;
    struct tare_error err = {0};
    if (read_bytes(out->buf.data, out->buf.length, &profile, &err) == 0 || strcmp(err.msg, message) != 0) {
        check_report(__FILE__, line, "not refused as it should be");
        fprintf(stderr, "    got  %s\n    want %s\n", err.msg, message);
    }
    tare_profile_destroy(profile);
    tare_out_finish(out);
}

static void put_key(struct tare_out *out, const char *file, int64_t line, const char *name)
{
    tare_marshal_put_tuple(out, 3);
    tare_marshal_put_text(out, file, strlen(file));
    tare_marshal_put_int(out, line);
    tare_marshal_put_text(out, name, strlen(name));
}

static void put_figures(struct tare_out *out, uint32_t length, int64_t first, int64_t second, double self,
                        double total)
{
    tare_marshal_put_tuple(out, length);
    tare_marshal_put_int(out, first);
    tare_marshal_put_int(out, second);
    tare_marshal_put_real(out, self);
    tare_marshal_put_real(out, total);
}

/* The beginning of a file with one function, up to its figures. */
static void begin(struct tare_out *out)
{
    tare_out_init_memory(out, 1 << 20);
    tare_marshal_put_dict(out);
    put_key(out, "a.py", 7, "f");
}

static const struct tare_function *find(const struct tare_functions *functions, const char *name)
{
    for (uint32_t i = 0; i < functions->count; i++)
        if (strcmp(functions->items[i].name, name) == 0)
            return &functions->items[i];
    return NULL;
}

/* main calls f, which calls itself; g's caller has no entry of its own. */
static void pairs_survive(void)
{
    struct tare_out out, again;
    struct tare_profile *profile;
    struct tare_functions functions;
    begin(&out);
    put_figures(&out, 5, 2, 7, 0.25, 0.5);
    tare_marshal_put_dict(&out);
    put_key(&out, "a.py", 7, "f");
    put_figures(&out, 4, 5, 1, 0.125, 0.375);
    put_key(&out, "a.py", 1, "main");
    put_figures(&out, 4, 2, 2, 0.125, 0.5);
    tare_marshal_put_end(&out);
    put_key(&out, "a.py", 1, "main");
    put_figures(&out, 5, 1, 1, 1 * (1 / 1e9), 500000001 * (1 / 1e9));
    tare_marshal_put_dict(&out);
    tare_marshal_put_end(&out);
    put_key(&out, "~", 0, "<built-in method builtins.len>");
    put_figures(&out, 5, 3000000000, 3000000000, 0, 0);
    tare_marshal_put_dict(&out);
    put_key(&out, "gone.py", 3, "ghost");
    put_figures(&out, 4, 3000000000, 3000000000, 0, 0);
    tare_marshal_put_end(&out);
    tare_marshal_put_end(&out);
    CHECK(tare_reader_pstats.recognise((const uint8_t *)out.buf.data, out.buf.length, true));

    CHECK_INT(read_bytes(out.buf.data, out.buf.length, &profile, NULL), 0);
    CHECK_INT(tare_profile_meta(profile)->kind, TARE_PROFILE_PAIRS);
    CHECK_INT(tare_functions_init(&functions, profile, TARE_NONE, false, NULL), 0);
    CHECK_INT(functions.count, 4);
    const struct tare_function *f = find(&functions, "f"), *ghost = find(&functions, "ghost");
    CHECK_INT(f->figures.calls, 7);
    CHECK_INT(f->figures.primitive, 2);
    CHECK_INT(f->figures.self, 250000000);
    CHECK_INT(f->figures.total, 500000000);
    CHECK(ghost->unlisted);
    CHECK(!f->unlisted);
    CHECK_INT(tare_profile_frame_at(profile, find(&functions, "<built-in method builtins.len>")->frame)->kind,
              TARE_FRAME_BUILTIN);
    tare_functions_finish(&functions);

    write_profile(profile, &again);
    CHECK_INT(again.buf.length, out.buf.length);
    CHECK(again.buf.length == out.buf.length && memcmp(again.buf.data, out.buf.data, out.buf.length) == 0);
    tare_out_finish(&out);
    tare_out_finish(&again);
    tare_profile_destroy(profile);
}

/* Weeks, in nanoseconds, use all digits of a double: reading and writing again must not wander off. */
static void long_times_stay(void)
{
    struct tare_out once, twice;
    struct tare_profile *profile;
    for (double seconds = 1e6; seconds < 8e6; seconds += 98765) {
        begin(&once);
        put_figures(&once, 5, 1, 1, seconds, seconds);
        RAW(&once, "{00");
        for (int trip = 0; trip < 3; trip++) {
            CHECK_INT(read_bytes(once.buf.data, once.buf.length, &profile, NULL), 0);
            CHECK_REAL((double)tare_profile_values(profile, 1)[3], round(seconds * 1e9), 0);
            write_profile(profile, &twice);
            tare_profile_destroy(profile);
            tare_out_finish(&once);
            once = twice;
        }
        tare_out_finish(&once);
    }
}

/* References, interned and short texts, small tuples, floats as text, integers as long, bare callers. */
static void every_form_is_read(void)
{
    struct tare_out out;
    struct tare_profile *profile;
    struct tare_functions functions;
    tare_out_init_memory(&out, 4096);
    RAW(&out, "\xfb"                                          /* a dictionary, number 0 */
              "\xa9\x03\xda\x04"                              /* a small tuple, 1; a short interned text, 2 */
              "a.py\xe9\x07\x00\x00\x00\xf5\x01\x00\x00\x00g" /* an integer, 3; a text, 4 */
              "\x29\x05");
    RAW(&out, "l\x01\x00\x00\x00\x02\x00"                                 /* 2 as a long of one digit */
              "l\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00" /* 2^60 */
              "f\x04"
              "0.25"
              "\xe7\x00\x00\x00\x00\x00\x00\xe0\x3f"); /* 0.5, number 5 */
    RAW(&out,
        "{r\x01\x00\x00\x00\xa9\x04r\x03\x00\x00\x00"); /* its own caller; figures, number 6; calls: 7 */
    RAW(&out, "i\x01\x00\x00\x00r\x05\x00\x00\x00r\x05\x00\x00\x00"
              "\x29\x03t\x01\x00\x00\x00mi\x01\x00\x00\x00u\x02\x00\x00\x00mm" /* another caller */
              "r\x06\x00\x00\x00"
              "0");
    RAW(&out, "\x29\x03Z\x01zi\x00\x00\x00\x00"
              "R\x00\x00\x00\x00" /* Python 2's reference to its first interned text, m */
              "\x29\x05r\x03\x00\x00\x00I\x09\x00\x00\x00\x00\x00\x00\x00"
              "i\x00\x00\x00\x00i\x02\x00\x00\x00" /* whole seconds */
              "{r\x01\x00\x00\x00i\x09\x00\x00\x00"
              "00");
    struct tare_error err = {0};
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, &profile, &err), 0);
    CHECK_TEXT(err.msg, "");
    CHECK_INT(tare_functions_init(&functions, profile, TARE_NONE, false, NULL), 0);
    CHECK_INT(functions.count, 3);
    const struct tare_function *g = find(&functions, "g"), *m = find(&functions, "m");
    CHECK_TEXT(g->file, "a.py");
    CHECK_INT(g->line, 7);
    CHECK_INT(g->figures.primitive, 2);
    CHECK_INT(g->figures.calls, (int64_t)1 << 60);
    CHECK_INT(g->figures.self, 250000000);
    CHECK_INT(g->figures.total, 500000000);
    CHECK_TEXT(m->file, "z");
    CHECK_INT(m->figures.primitive, 7);
    CHECK_INT(m->figures.calls, 9);
    CHECK_INT(m->figures.total, 2000000000);
    uint32_t counted = 0;
    for (uint32_t i = 0; i < functions.pair_count; i++) {
        const struct tare_function_pair *pair = &functions.pairs[i];
        if (tare_functions_counted(&functions, pair)) {
            counted++;
            CHECK_INT(pair->figures.calls, 9);
        } else {
            CHECK_INT(pair->figures.calls, 7);
            CHECK_INT(pair->figures.primitive, 1);
            CHECK_INT(pair->figures.self, 500000000);
        }
    }
    CHECK_INT(functions.pair_count, 3);
    CHECK_INT(counted, 1);
    tare_functions_finish(&functions);
    tare_profile_destroy(profile);

    /* Cut anywhere, it is refused; nothing else happens. */
    for (size_t size = 0; size < out.buf.length; size++) {
        CHECK_INT(read_bytes(out.buf.data, size, &profile, &err), -1);
        CHECK_TEXT(err.msg, "'it.prof' is cut short");
        tare_profile_destroy(profile);
    }
    tare_out_finish(&out);
}

static void impossible_figures_are_refused(void)
{
    struct tare_out out;
    const struct {
        double self, total;
        const char *message;
    } times[] = {
        {-0.5, 1, "'it.prof': a.py:7(f) has a negative time"},
        {1, -1e-9, "'it.prof': a.py:7(f) has a negative time"},
        {NAN, 1, "'it.prof': a.py:7(f) has a time that is not a number"},
        {1, INFINITY, "'it.prof': a.py:7(f) has a time of more than 290 years"},
        {-INFINITY, 1, "'it.prof': a.py:7(f) has a negative time"},
        {1e10, 1, "'it.prof': a.py:7(f) has a time of more than 290 years"},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        begin(&out);
        put_figures(&out, 5, 1, 1, times[i].self, times[i].total);
        check_refused(__LINE__, &out, times[i].message);
    }
    begin(&out);
    put_figures(&out, 5, -1, 1, 0, 0);
    check_refused(__LINE__, &out, "'it.prof': a.py:7(f) has a number of calls that cannot be");
    begin(&out);
    tare_marshal_put_tuple(&out, 5);
    RAW(&out, "l\x06\x00\x00\x00\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00\x01\x00"); /* 2^75 and more */
    check_refused(__LINE__, &out, "'it.prof': a.py:7(f) has a number of calls that cannot be");
    begin(&out);
    tare_marshal_put_tuple(&out, 5);
    RAW(&out, "l\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00"); /* 2^64 */
    check_refused(__LINE__, &out, "'it.prof': a.py:7(f) has a number of calls that cannot be");
    begin(&out);
    put_figures(&out, 5, 1, 1, 0, 0);
    tare_marshal_put_dict(&out);
    for (int i = 0; i < 3; i++) {
        put_key(&out, "a.py", i, "caller");
        put_figures(&out, 4, INT64_MAX / 2, 1, 0, 0);
    }
    check_refused(__LINE__, &out, "'it.prof': a.py:7(f) has callers whose figures are too large");
}

static void wrong_shapes_are_refused(void)
{
    struct tare_out out;
    const struct {
        const char *bytes;
        size_t size;
        const char *message;
    } files[] = {
#define FILE_OF(literal, message) {literal, sizeof(literal) - 1, message}
        FILE_OF("i\x01\x00\x00\x00", "'it.prof' is not a cProfile file: a dictionary expected at byte 5"),
        FILE_OF("{i\x01\x00\x00\x00",
                "'it.prof' is not a cProfile file: a function (file, line, name) expected at byte 6"),
        FILE_OF("{(\xff\xff\xff\x7f",
                "'it.prof' is not a cProfile file: a function (file, line, name) expected at byte 6"),
        FILE_OF("{)\x03u\xff\xff\xff\x7f",
                "'it.prof' has a text of 2147483647 bytes; a name has at most 1048576"),
        FILE_OF("{)\x03u\x00\x00\x08\x00", "'it.prof' is cut short"),
        FILE_OF("{)\x03r\x00\x00\x00\x00", "'it.prof' is not a cProfile file: a name expected at byte 8"),
        FILE_OF("{\xa9\x03r\x00\x00\x00\x00", "'it.prof' is not a cProfile file: a name expected at byte 8"),
        FILE_OF("{)\x03R\x00\x00\x00\x00", "'it.prof' is not a cProfile file: a name expected at byte 8"),
        FILE_OF("{)\x03z\x01"
                "ai\xff\xff\xff\xffz\x01"
                "b",
                "'it.prof' is not a cProfile file: a line number expected at byte 14"),
        FILE_OF("{)\x03z\x01"
                "af\x03"
                "x.y",
                "'it.prof' is damaged: a float cannot be read"),
        FILE_OF("{)\x03z\x01"
                "al\x01\x00\x00\x00\x00\x80",
                "'it.prof' is damaged: an integer has an impossible digit"),
        FILE_OF("{)\x03z\x01"
                "ai\x01\x00\x00\x00"
                "c",
                "'it.prof' has code in place of a name, as 'python -m profile' writes it; use cProfile"),
#undef FILE_OF
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        tare_out_init_memory(&out, 4096);
        tare_out_add(&out, files[i].bytes, files[i].size);
        check_refused(__LINE__, &out, files[i].message);
    }
    begin(&out);
    put_figures(&out, 5, 1, 1, 0, 0);
    RAW(&out, "{0");
    put_key(&out, "a.py", 7, "f");
    check_refused(__LINE__, &out, "'it.prof': a.py:7(f) appears twice");
    begin(&out);
    put_figures(&out, 5, 1, 1, 0, 0);
    tare_marshal_put_dict(&out);
    for (int i = 0; i < 2; i++) {
        put_key(&out, "a.py", 1, "main");
        put_figures(&out, 4, 1, 1, 0, 0);
    }
    check_refused(__LINE__, &out, "'it.prof': a.py:7(f) names a caller twice");
}

/* A million opening brackets are as deep as one. */
static void nesting_costs_nothing(void)
{
    struct tare_out out;
    tare_out_init_memory(&out, 2 << 20);
    tare_marshal_put_dict(&out);
    for (int i = 0; i < 1000000; i++)
        RAW(&out, ")");
    check_refused(__LINE__, &out,
                  "'it.prof' is not a cProfile file: a function (file, line, name) expected at byte 3");
}

static void only_profiles_are_recognised(void)
{
    const struct {
        const char *bytes;
        size_t size;
        bool whole, want;
    } heads[] = {
        {"{(\3\0\0\0u", 7, false, true},
        {"\xfb\xa9\3\xda", 4, false, true},
        {"{0", 2, true, true},
        {"{0", 2, false, false},
        {"{0, 1}", 6, true, false},
        {"{\"a\": 1}", 8, true, false},
        {"{(\4\0\0\0u", 7, false, false},
        {"{(\3\0\0\1u", 7, false, false},
        {"{", 1, true, false},
        {"", 0, true, false},
        {"{)", 2, true, false},
        {"(\3\0\0\0\0", 6, true, false},
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        CHECK_INT(
            tare_reader_pstats.recognise((const uint8_t *)heads[i].bytes, heads[i].size, heads[i].whole),
            heads[i].want);
}

/* Names with NULs, surrogates and stray bytes come back; what Python could not decode is escaped. */
static void odd_names_survive(void)
{
    struct tare_out out, once, twice;
    struct tare_profile *profile, *copy;
    static const char name[] = "nul\0 here \xed\xb2\x80 \xff \xc3\xa4";
    static const char want[] = "nul\0 here \xed\xb2\x80 \xed\xb3\xbf \xc3\xa4";
    tare_out_init_memory(&out, 4096);
    RAW(&out, "{)\x03z\x00i\x00\x00\x00\x00s\x12\x00\x00\x00");
    CHECK_INT(sizeof name - 1, 18);
    tare_out_add(&out, name, sizeof name - 1);
    put_figures(&out, 5, 1, 1, 0, 0);
    RAW(&out, "{00");
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, &profile, NULL), 0);
    write_profile(profile, &once);
    CHECK(memmem(once.buf.data, once.buf.length, want, sizeof want - 1) != NULL);
    CHECK_INT(read_bytes(once.buf.data, once.buf.length, &copy, NULL), 0);
    write_profile(copy, &twice);
    CHECK(once.buf.length == twice.buf.length && memcmp(once.buf.data, twice.buf.data, once.buf.length) == 0);
    tare_out_finish(&out);
    tare_out_finish(&once);
    tare_out_finish(&twice);
    tare_profile_destroy(profile);
    tare_profile_destroy(copy);
}

static void what_follows_is_noted(void)
{
    struct tare_profile *profile;
    CHECK_INT(read_bytes("{0more", 6, &profile, NULL), 0);
    CHECK_INT(tare_profile_notes(profile), 1);
    CHECK_TEXT(tare_profile_note_at(profile, 0), "'it.prof' goes on after the profile; the rest was ignored");
    tare_profile_destroy(profile);
}

/* A tree of samples, with names that have no file: written, read, and still the same figures. */
static void samples_are_written(void)
{
    struct tare_profile *profile, *copy;
    struct tare_out out;
    struct tare_functions functions;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    tare_profile_add_column(profile, "samples", "count");
    uint32_t top =
        tare_profile_child(profile, 0, tare_profile_function(profile, TARE_FRAME_OTHER, "a", "", 0), 0);
    uint32_t low =
        tare_profile_child(profile, top, tare_profile_function(profile, TARE_FRAME_OTHER, "b", "", 0), 0);
    tare_profile_add(profile, top, 0, 2);
    tare_profile_add(profile, low, 0, 40);
    write_profile(profile, &out);
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, &copy, NULL), 0);
    CHECK_INT(tare_functions_init(&functions, copy, TARE_NONE, false, NULL), 0);
    CHECK_INT(functions.count, 2);
    CHECK_INT(find(&functions, "a")->figures.total, 42000000000);
    CHECK_INT(find(&functions, "a")->figures.calls, 0);
    CHECK_TEXT(find(&functions, "b")->file, "~");
    tare_functions_finish(&functions);
    tare_out_finish(&out);
    tare_profile_destroy(profile);
    tare_profile_destroy(copy);
}

/* One view of a profile, as text. */
static void check_view(const struct tare_writer *writer, const struct tare_profile *profile,
                       const struct tare_view *view, const char *want)
{
    struct tare_out out;
    tare_out_init_memory(&out, 1 << 20);
    writer->write(profile, view, &out);
    CHECK_INT(tare_out_commit(&out, NULL), 0);
    CHECK_TEXT(out.buf.data, want);
    tare_out_finish(&out);
}

static void check_view_fails(const struct tare_writer *writer, const struct tare_profile *profile,
                             const struct tare_view *view, const char *message)
{
    struct tare_out out;
    struct tare_error err = {0};
    tare_out_init_memory(&out, 1 << 20);
    writer->write(profile, view, &out);
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK_TEXT(err.msg, message);
    tare_out_finish(&out);
}

/* What pstats has no word for: bytes, samples, and stacks that were estimated. */
static void values_have_a_table(void)
{
    struct tare_profile *profile;
    struct tare_view view = {0};
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    tare_profile_add_column(profile, "objects", "count");
    tare_profile_add_column(profile, "space", "bytes");
    uint32_t main_frame = tare_profile_function(profile, TARE_FRAME_PYTHON, "main", "/srv/a.py", 3);
    uint32_t load_frame = tare_profile_function(profile, TARE_FRAME_NATIVE, "load\x1b[31m", "", 0);
    uint32_t top = tare_profile_child(profile, 0, main_frame, 0);
    uint32_t low = tare_profile_child(profile, top, load_frame, 0);
    tare_profile_add(profile, top, 0, 1000);
    tare_profile_add(profile, low, 0, 2000);
    tare_profile_add(profile, top, 1, 1024);
    tare_profile_add(profile, low, 1, 3 * 1024);
    check_view(&tare_writer_table, profile, &view,
               "         space: 4.00 KiB in 2 functions\n\n"
               "   Ordered by: cumulative time\n\n"
               "      self   self %      total  total % filename:lineno(function)\n"
               "  1.00 KiB    25.0%   4.00 KiB   100.0% /srv/a.py:3(main)\n"
               "  3.00 KiB    75.0%   3.00 KiB    75.0% load\\x1b[31m\n\n\n");
    view.column = "objects";
    view.sort = "tottime";
    view.strip_dirs = true;
    view.title = "heap";
    tare_profile_meta(profile)->estimated = 1;
    check_view(&tare_writer_table, profile, &view,
               "heap\n\n"
               "         objects: 3,000 in 2 functions\n\n"
               "   Stacks are estimated from caller pairs\n"
               "   Ordered by: internal time\n\n"
               "      self   self %      total  total % filename:lineno(function)\n"
               "     2,000    66.7%      2,000    66.7% load\\x1b[31m\n"
               "     1,000    33.3%      3,000   100.0% a.py:3(main)\n\n\n");
    tare_profile_meta(profile)->estimated = 0;
    view.column = NULL;
    view.sort = NULL;
    check_view(&tare_writer_callers, profile, &view,
               "   Ordered by: cumulative time\n\n"
               "Function      was called by...\n"
               "                       self      total\n"
               "a.py:3(main)  <- \n"
               "load\\x1b[31m  <-   3.00 KiB   3.00 KiB  a.py:3(main)\n\n\n");
    view.sort = "ncalls";
    check_view_fails(&tare_writer_table, profile, &view,
                     "cannot sort by 'ncalls': this profile does not count calls; use cumulative or tottime");
    view.sort = "cum,n";
    check_view_fails(&tare_writer_callees, profile, &view, "sort key 'n' could mean name, ncalls or nfl");
    view.sort = "speed";
    check_view_fails(
        &tare_writer_table, profile, &view,
        "unknown sort key 'speed'; use calls, cumtime, cumulative, filename, line, module, name, "
        "ncalls, nfl, pcalls, stdname, time or tottime");
    view.sort = NULL;
    view.column = "wall";
    check_view_fails(&tare_writer_pstats, profile, &view,
                     "the profile has no column 'wall'; it has objects and space");
    tare_profile_destroy(profile);
}

int main(void)
{
    RUN(pairs_survive);
    RUN(long_times_stay);
    RUN(every_form_is_read);
    RUN(impossible_figures_are_refused);
    RUN(wrong_shapes_are_refused);
    RUN(nesting_costs_nothing);
    RUN(only_profiles_are_recognised);
    RUN(odd_names_survive);
    RUN(what_follows_is_noted);
    RUN(samples_are_written);
    RUN(values_have_a_table);
    return check_done();
}
