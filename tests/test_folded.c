/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks: what is recognised, what is read from a line, what is refused, what is written. */
#include <stdlib.h>

#include "check.h"
#include "core/pairs.h"
#include "report/report.h"

static bool recognised(const char *text)
{
    return tare_reader_folded.recognise((const uint8_t *)text, strlen(text), true);
}

/* NULL, with the message in err, if the text is refused. */
static struct tare_profile *read_bytes(const char *text, size_t length, struct tare_error *err)
{
    struct tare_in *in = NULL;
    struct tare_profile *profile = NULL;
    *err = (struct tare_error){0};
    if (tare_in_open_memory(text, length, "x", &in, err) == 0 && tare_profile_create(0, &profile, err) == 0 &&
        tare_reader_folded.read(in, profile, err) < 0) {
        tare_profile_destroy(profile);
        profile = NULL;
    }
    tare_in_close(in);
    return profile;
}

static struct tare_profile *read_text(const char *text)
{
    struct tare_error err;
    struct tare_profile *profile = read_bytes(text, strlen(text), &err);
    CHECK_TEXT(err.msg, "");
    return profile;
}

/* What the writer makes of a profile; free() it. */
static char *viewed(const struct tare_profile *profile, const struct tare_view *view)
{
    struct tare_out out;
    struct tare_error err = {0};
    tare_out_init_memory(&out, 1 << 20);
    tare_writer_folded.write(profile, view, &out);
    CHECK_INT(tare_out_commit(&out, &err), 0);
    CHECK_TEXT(err.msg, "");
    char *text = strdup(out.buf.data);
    tare_out_finish(&out);
    return text;
}

static char *written(const struct tare_profile *profile, const char *column)
{
    struct tare_view view = {.column = column};
    return viewed(profile, &view);
}

/* Read, write, and compare. */
static void check_round(const char *text, const char *want)
{
    struct tare_profile *profile = read_text(text);
    char *got = profile ? written(profile, NULL) : NULL;
    CHECK_TEXT(got, want);
    free(got);
    tare_profile_destroy(profile);
}

static void check_refused(const char *text, const char *message)
{
    struct tare_error err;
    CHECK(read_bytes(text, strlen(text), &err) == NULL);
    CHECK_TEXT(err.msg, message);
}

static void looks_like_folded(void)
{
    CHECK(recognised("main;a;b 12\n"));
    CHECK(recognised("main 5"));
    CHECK(recognised("\xef\xbb\xbfmain;a 5\r\nmain 2\r\n"));
    CHECK(recognised("# made by somebody\n\na;b 1\n"));
    CHECK(recognised("<module> (a.py:1);f (a.py:2) 3\n 4\n"));
    CHECK(recognised("a;b 1.5\n"));
    CHECK(recognised("[unknown];read 3\n"));
    CHECK(recognised("\"a\";b 3\n"));
    CHECK(recognised("a;\x1b[31m 3\n"));
}

static void looks_like_something_else(void)
{
    CHECK(!recognised(""));
    CHECK(!recognised("\n\n"));
    CHECK(!recognised("# only a comment\n"));
    CHECK(!recognised("name,count\na,1\n"));
    CHECK(!recognised("a, b, 12\n"));
    CHECK(!recognised("a;b;12\n"));
    CHECK(!recognised("{\"a\": 1}\n"));
    CHECK(!recognised("{ \"a\": 12\n}\n"));
    CHECK(!recognised("[1, 2, 3]\n"));
    CHECK(!recognised("\"a;b\": 12\n"));
    CHECK(!recognised("In the year 1999\nwe had 12\n"));
    CHECK(!recognised("To be; or not to be\n"));
    CHECK(!recognised("# TYPE requests counter\nrequests 12\n"));
    CHECK(!recognised("requests{code=\"200\"} 12\n"));
    CHECK(!recognised("| a | 12\n"));
    CHECK(!tare_reader_folded.recognise((const uint8_t *)"a;b\0c 12\n", 9, true));
}

static void long_head_is_judged_by_whole_lines(void)
{
    char head[4096];
    memset(head, 'a', sizeof head);
    for (size_t i = 10; i < sizeof head; i += 10)
        head[i] = ';';
    CHECK(tare_reader_folded.recognise((const uint8_t *)head, sizeof head, false));
    memset(head, 'a', sizeof head);
    CHECK(!tare_reader_folded.recognise((const uint8_t *)head, sizeof head, false));
    memcpy(head, "main;f 12\n", 10);
    CHECK(tare_reader_folded.recognise((const uint8_t *)head, sizeof head, false));
    memcpy(head, "main;f no\n", 10);
    CHECK(!tare_reader_folded.recognise((const uint8_t *)head, sizeof head, false));
}

static void equal_stacks_are_added(void)
{
    check_round("b;c 2\na 1\nb;c 3\nb 4\n", "a 1\nb 4\nb;c 5\n");
    check_round("a;b 0\na 1\n", "a 1\n");
    check_round("a;b;  7  \r\n\r\n# x 9\n a;b 1", "a;b 8\n");
    check_round("a;b -3\na 5\n", "a 5\na;b -3\n");
}

static void odd_stacks_are_kept(void)
{
    check_round("a;;b 1\n", "a;[unknown];b 1\n");
    check_round("; 1\n", "[unknown] 1\n");
    check_round("a;b 3\n 4\n", " 4\na;b 3\n");
    check_round("a 2;b 3 4\n", "a 2;b 3 4\n");
    check_round("a\xff;b\tc 1\n", "a\xef\xbf\xbd;b c 1\n");
}

static void decimals_are_exact(void)
{
    check_round("a;b 1.5\na .25\na 3\n", "a 3.250\na;b 1.500\n");
    check_round("a 1.0000001\n", "a 1.000000100\n");
    check_round("a 2.000\n", "a 2\n");
    struct tare_profile *profile = read_text("a 0.5\n");
    CHECK_TEXT(tare_profile_column_unit(profile, 0), "count/1000");
    CHECK_INT(tare_profile_values(profile, 1)[0], 500);
    CHECK_INT(tare_profile_notes(profile), 1);
    tare_profile_destroy(profile);
}

static void bad_lines_name_their_number(void)
{
    check_refused("a;b 1\n\nno count here\n", "'x' line 3 is not a folded stack: it does not end in a count");
    check_refused("a;b 1.2.3\n", "'x' line 1 is not a folded stack: it does not end in a count");
    check_refused("a;b -\n", "'x' line 1 is not a folded stack: it does not end in a count");
    check_refused("a;b .\n", "'x' line 1 is not a folded stack: it does not end in a count");
    check_refused("a;b 1e3\n", "'x' line 1 is not a folded stack: it does not end in a count");
    check_refused("12\n", "'x' line 1 is not a folded stack: there is no stack before the count");
    check_refused("a 9223372036854775808\n", "'x' line 1 is not a folded stack: its count is too large");
    check_refused("b 1.5\na 9223372036854775807\n",
                  "'x' line 2 is not a folded stack: its count is too large");
    check_refused("", "'x' holds no stack");
    check_refused("# a 1\n", "'x' holds no stack");
    struct tare_error err;
    CHECK(read_bytes("a;b\0c 1\n", 8, &err) == NULL);
    CHECK_TEXT(err.msg, "'x' line 1 is not a folded stack: it holds a zero byte");
}

static void sizes_are_bounded(void)
{
    size_t size = (1 << 20) + 100;
    char *text = malloc(size);
    struct tare_error err;
    memset(text, 'a', size);
    memcpy(text + size - 3, " 1\n", 3);
    CHECK(read_bytes(text, size, &err) == NULL);
    CHECK_TEXT(err.msg, "'x' line 1 is longer than 1048576 bytes");
    size = 2 * 20000 + 3;
    for (size_t i = 0; i < size; i++)
        text[i] = i % 2 ? ';' : 'a';
    memcpy(text + size - 3, " 1\n", 3);
    CHECK(read_bytes(text, size, &err) == NULL);
    CHECK_TEXT(err.msg, "'x' line 1 is a stack of more than 16384 frames");
    free(text);
}

/* The parts of the only frame of a line. */
static void check_parts(const char *text, enum tare_frame_kind kind, const char *name, const char *file,
                        const char *module, uint32_t line)
{
    char folded[200];
    snprintf(folded, sizeof folded, "%s 1\n", text);
    struct tare_profile *profile = read_text(folded);
    if (!profile)
        return;
    const struct tare_frame *frame = tare_profile_frame_at(profile, 0);
    CHECK_INT(frame->kind, kind);
    CHECK_TEXT(tare_profile_text(profile, frame->name), name);
    CHECK_TEXT(tare_profile_text(profile, frame->file), file);
    CHECK_TEXT(tare_profile_text(profile, frame->module), module);
    CHECK_INT(frame->first_line, 0);
    CHECK_INT(tare_profile_node_at(profile, 1)->line, line);
    char *again = written(profile, NULL);
    if (kind != TARE_FRAME_PYTHON || line == 0 || strchr(text, ' '))
        CHECK_TEXT(again, folded);
    free(again);
    tare_profile_destroy(profile);
}

static void frames_are_taken_apart(void)
{
    check_parts("step (train.py:12)", TARE_FRAME_PYTHON, "step", "train.py", "", 12);
    check_parts("A.__call__ (/a b (copy)/x.py:7)", TARE_FRAME_PYTHON, "A.__call__", "/a b (copy)/x.py", "",
                7);
    check_parts("f (<string>:1)", TARE_FRAME_PYTHON, "f", "<string>", "", 1);
    check_parts("f (x.py)", TARE_FRAME_PYTHON, "f", "x.py", "", 0);
    check_parts("train.py:12", TARE_FRAME_PYTHON, "train.py:12", "train.py", "", 12);
    check_parts("/a/train.py:step:12", TARE_FRAME_PYTHON, "step", "/a/train.py", "", 12);
    check_parts("main (main.go:40)", TARE_FRAME_OTHER, "main", "main.go", "", 40);
    check_parts("malloc (libc.so.6)", TARE_FRAME_NATIVE, "malloc", "", "libc.so.6", 0);
    check_parts("<built-in method builtins.len>", TARE_FRAME_BUILTIN, "<built-in method builtins.len>", "",
                "", 0);
    check_parts("<method 'append' of 'list' objects>", TARE_FRAME_BUILTIN,
                "<method 'append' of 'list' objects>", "", "", 0);
    check_parts("<module>", TARE_FRAME_PYTHON, "<module>", "", "", 0);
    check_parts("operator()", TARE_FRAME_OTHER, "operator()", "", "", 0);
    check_parts("thread (0x7F00)", TARE_FRAME_OTHER, "thread (0x7F00)", "", "", 0);
    check_parts("std::vector", TARE_FRAME_OTHER, "std::vector", "", "", 0);
    check_parts("Foo::bar:12", TARE_FRAME_OTHER, "Foo::bar:12", "", "", 0);
    check_parts("f (x.py:99999999999)", TARE_FRAME_OTHER, "f (x.py:99999999999)", "", "", 0);
    check_parts(":12", TARE_FRAME_OTHER, ":12", "", "", 0);
    check_parts("(:1)", TARE_FRAME_OTHER, "(:1)", "", "", 0);
}

static void names_cannot_break_the_format(void)
{
    struct tare_profile *profile;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    uint32_t column = tare_profile_add_column(profile, "wall", "nanoseconds");
    uint32_t bad = tare_profile_function(profile, TARE_FRAME_PYTHON, "a;b\nc\x7f", "d;e.py", 3);
    uint32_t plain = tare_profile_function(profile, TARE_FRAME_BUILTIN, "<built-in len>", "~", 0);
    uint32_t node = tare_profile_child(profile, 0, bad, 5);
    tare_profile_add(profile, node, column, 7);
    tare_profile_add(profile, tare_profile_child(profile, 0, bad, 6), column, 1);
    tare_profile_add(profile, tare_profile_child(profile, node, plain, 0), column, 2);
    char *got = written(profile, NULL);
    CHECK_TEXT(got, "a:b c  (d:e.py:3) 8\na:b c  (d:e.py:3);<built-in len> 2\n");
    free(got);
    tare_profile_destroy(profile);
}

static uint32_t thread_root(struct tare_profile *profile, const char *name, int64_t bytes)
{
    struct tare_label labels[] = {
        {.key = tare_profile_intern(profile, "thread"), .text = tare_profile_intern(profile, name)},
        {.key = tare_profile_intern(profile, "bytes"), .numeric = 1, .number = bytes},
    };
    return tare_profile_root(profile, tare_profile_labels(profile, labels, 2));
}

static void threads_are_first_frames_when_there_are_two(void)
{
    struct tare_profile *profile;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    uint32_t column = tare_profile_add_column(profile, "samples", "count");
    uint32_t frame = tare_profile_function(profile, TARE_FRAME_PYTHON, "f", "", 0);
    uint32_t roots[] = {thread_root(profile, "main", 1), thread_root(profile, "main", 2)};
    for (int i = 0; i < 2; i++)
        tare_profile_add(profile, tare_profile_child(profile, roots[i], frame, 0), column, 1);
    char *got = written(profile, NULL);
    CHECK_TEXT(got, "f 2\n"); /* one thread, and labels that do not name one */
    free(got);
    uint32_t other = tare_profile_child(profile, thread_root(profile, "loader", 1), frame, 0);
    tare_profile_add(profile, other, column, 5);
    got = written(profile, NULL);
    CHECK_TEXT(got, "thread loader;f 5\nthread main;f 2\n");
    free(got);
    tare_profile_destroy(profile);
}

static void estimates_say_so(void)
{
    struct tare_profile *pairs;
    CHECK_INT(tare_profile_create(0, &pairs, NULL), 0);
    static const char *const names[] = {"calls", "primitive_calls", "tottime", "cumtime"};
    uint32_t columns[4];
    for (int i = 0; i < 4; i++)
        columns[i] = tare_profile_add_column(pairs, names[i], i < 2 ? "count" : "nanoseconds");
    uint32_t outer = tare_profile_function(pairs, TARE_FRAME_PYTHON, "outer", "a.py", 1);
    uint32_t inner = tare_profile_function(pairs, TARE_FRAME_PYTHON, "inner", "a.py", 9);
    uint32_t outer_node = tare_profile_child(pairs, 0, outer, 0);
    uint32_t pair = tare_profile_child(pairs, outer_node, inner, 0);
    static const int64_t outer_values[] = {1, 1, 30, 100}, pair_values[] = {2, 2, 70, 70};
    for (int i = 0; i < 4; i++) {
        tare_profile_add(pairs, outer_node, columns[i], outer_values[i]);
        tare_profile_add(pairs, pair, columns[i], pair_values[i]);
    }
    tare_profile_meta(pairs)->kind = TARE_PROFILE_PAIRS;
    const char *want = "# " TARE_PAIRS_ESTIMATED "\nouter (a.py:1) 30\nouter (a.py:1);inner (a.py:9) 70\n";
    char *got = written(pairs, "tottime");
    CHECK_TEXT(got, want);
    /* And the mark survives being read. */
    struct tare_profile *read = read_text(got);
    CHECK_INT(tare_profile_meta_const(read)->estimated, 1);
    free(got);
    got = written(read, NULL);
    CHECK_TEXT(got, want);
    free(got);
    got = written(pairs, "cumtime");
    CHECK_TEXT(got, want);
    free(got);
    tare_profile_destroy(read);
    tare_profile_destroy(pairs);
}

static void view_chooses_stacks(void)
{
    struct tare_profile *profile = read_text("m;f (x/a.py:1);g 1\nm;f (y/a.py:1);h 2\nm;g;k 4\nm 8\n");
    struct tare_view view = {.match = "g"};
    char *got = viewed(profile, &view);
    CHECK_TEXT(got, "m;f (x/a.py:1);g 1\nm;g;k 4\n");
    free(got);
    view = (struct tare_view){.match = "y/a.py:0(f)"};
    got = viewed(profile, &view);
    CHECK_TEXT(got, "m;f (y/a.py:1);h 2\n");
    free(got);
    view = (struct tare_view){.strip_dirs = true};
    got = viewed(profile, &view);
    CHECK_TEXT(got, "m 8\nm;f (a.py:1);g 1\nm;f (a.py:1);h 2\nm;g;k 4\n");
    free(got);
    view = (struct tare_view){.match = "nobody"};
    got = viewed(profile, &view);
    CHECK_TEXT(got, "");
    free(got);
    tare_profile_destroy(profile);
}

static void unknown_column_is_an_error(void)
{
    struct tare_profile *profile = read_text("a 1\n");
    struct tare_out out;
    struct tare_error err;
    struct tare_view view = {.column = "wall"};
    tare_out_init_memory(&out, 1 << 10);
    tare_writer_folded.write(profile, &view, &out);
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK(strstr(err.msg, "'wall'") != NULL);
    tare_out_finish(&out);
    tare_profile_destroy(profile);
}

int main(void)
{
    RUN(looks_like_folded);
    RUN(looks_like_something_else);
    RUN(long_head_is_judged_by_whole_lines);
    RUN(equal_stacks_are_added);
    RUN(odd_stacks_are_kept);
    RUN(decimals_are_exact);
    RUN(bad_lines_name_their_number);
    RUN(sizes_are_bounded);
    RUN(frames_are_taken_apart);
    RUN(names_cannot_break_the_format);
    RUN(threads_are_first_frames_when_there_are_two);
    RUN(estimates_say_so);
    RUN(view_chooses_stacks);
    RUN(unknown_column_is_an_error);
    return check_done();
}
