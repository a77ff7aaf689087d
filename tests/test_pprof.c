/* SPDX-License-Identifier: Apache-2.0 */
/* pprof: what is written is read back equal. */
#include "base/gz.h"
#include "pprof_check.h"

static void empty_profiles(void)
{
    struct tare_profile *profile = fresh();
    check_round_trip(profile);
    tare_profile_add_column(profile, "samples", "count");
    check_round_trip(profile);
    tare_profile_add(profile, 0, 0, 7);
    check_round_trip(profile);
    tare_profile_destroy(profile);
}

static void everything_a_frame_has(void)
{
    static const struct {
        enum tare_frame_kind kind;
        const char *name, *qualname, *file, *module;
        uint32_t line, twin;
    } frames[] = {
        {TARE_FRAME_PYTHON, "forward", "Net.forward", "/src/net.py", "net", 12, 0},
        {TARE_FRAME_PYTHON, "forward", "Net.forward", "/src/net.py", "net", 12, 1},
        {TARE_FRAME_PYTHON, "forward", "Net.forward", "/src/net.py", "net", 12, 7},
        {TARE_FRAME_PYTHON, "forward", "forward", "/src/net.py", "", 12, 0},
        {TARE_FRAME_PYTHON, "forward", "", "/src/net.py", "", 12, 0},
        {TARE_FRAME_PYTHON, "<module>", "<module>", "/src/net.py", "__main__", 1, 0},
        {TARE_FRAME_PYTHON, "<module>", "", "/src/net.py", "", 1, 0},
        {TARE_FRAME_PYTHON, "<lambda>", "f.<locals>.<lambda>", "<string>", "", 1, 0},
        {TARE_FRAME_PYTHON, "", "only.qualname", "/src/net.py", "", 1, 0},
        {TARE_FRAME_PYTHON, "in a notebook", "", "cell 7", "", 1, 0},
        {TARE_FRAME_PYTHON, "importlib", "", "<frozen importlib._bootstrap>", "", 3, 0},
        {TARE_FRAME_BUILTIN, "<built-in method builtins.len>", "", "~", "", 0, 0},
        {TARE_FRAME_BUILTIN, "<method 'append' of 'list' objects>", "", "~", "builtins", 0, 0},
        {TARE_FRAME_BUILTIN, "len", "len", "", "builtins", 0, 0},
        {TARE_FRAME_NATIVE, "std::vector<int>::push_back", "_ZNSt6vectorIiE9push_backEi", "v.cc", "", 9, 0},
        {TARE_FRAME_OTHER, "main.main", "main.main", "main.go", "", 3, 0},
        {TARE_FRAME_OTHER, "a python file, but not Python", "", "x.py", "", 3, 0},
        {TARE_FRAME_SPAN, "load <batch>", "load <batch>", "", "", 0, 0},
        {TARE_FRAME_MARK, "<truncated>", "", "", "", 0, 0},
        {TARE_FRAME_MARK, "<gap>", "", "", "", 0, 0},
        {TARE_FRAME_NATIVE, "", "", "", "", 0, 0},
        {TARE_FRAME_OTHER, "", "", "", "", 0, 0},
        {TARE_FRAME_MARK, "", "", "", "", 0, 0},
        {TARE_FRAME_OTHER, "", "", "", "", 77, 3},
    };
    struct tare_profile *profile = fresh();
    uint32_t column = tare_profile_add_column(profile, "wall", "nanoseconds");
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        struct tare_frame frame = {.kind = (uint8_t)frames[i].kind,
                                   .name = tare_profile_intern(profile, frames[i].name),
                                   .qualname = tare_profile_intern(profile, frames[i].qualname),
                                   .file = tare_profile_intern(profile, frames[i].file),
                                   .module = tare_profile_intern(profile, frames[i].module),
                                   .first_line = frames[i].line,
                                   .twin = frames[i].twin};
        uint32_t node = tare_profile_child(profile, 0, tare_profile_frame(profile, &frame), 0);
        tare_profile_add(profile, node, column, (int64_t)i + 1);
        frame.address = 0x400000 + i;
        node = tare_profile_child(profile, node, tare_profile_frame(profile, &frame), (uint32_t)i * 3);
        tare_profile_add(profile, node, column, -(int64_t)i);
    }
    check_round_trip(profile);
    tare_profile_destroy(profile);
}

static void meta_labels_and_mappings(void)
{
    struct tare_profile *profile = fresh();
    uint32_t calls = tare_profile_add_column(profile, "calls", "count");
    uint32_t wall = tare_profile_add_column(profile, "wall", "nanoseconds");
    struct tare_profile_meta *meta = tare_profile_meta(profile);
    meta->time_ns = 1700000000000000000;
    meta->duration_ns = 12345;
    meta->period = -3;
    meta->estimated = 1;
    meta->kind = TARE_PROFILE_DIFF;
    uint32_t texts[6];
    static const char *const words[] = {"cpu", "cycles", "calls", "drop.*", "keep", "https://example.org"};
    for (int i = 0; i < 6; i++)
        texts[i] = tare_profile_intern(profile, words[i]);
    meta = tare_profile_meta(profile);
    meta->period_type = texts[0];
    meta->period_unit = texts[1];
    meta->default_column = texts[2];
    meta->drop_frames = texts[3];
    meta->keep_frames = texts[4];
    meta->doc_url = texts[5];
    tare_profile_add_comment(profile, "one", 3);
    tare_profile_add_comment(profile, "two\nlines", 9);
    tare_profile_add_comment(profile, "one", 3);
    tare_profile_add_comment(profile, "", 0);
    struct tare_mapping mapping = {.start = 0x1000, .limit = UINT64_MAX, .offset = 3, .flags = 5};
    mapping.file = tare_profile_intern(profile, "/lib/libc.so");
    mapping.build_id = tare_profile_intern(profile, "abc");
    tare_profile_add_mapping(profile, &mapping);
    mapping.flags = 10;
    tare_profile_add_mapping(profile, &mapping);
    struct tare_frame frame = {.kind = TARE_FRAME_NATIVE, .mapping = 2, .address = UINT64_MAX};
    uint32_t bare = tare_profile_frame(profile, &frame);
    uint32_t key = tare_profile_intern(profile, "thread"), text = tare_profile_intern(profile, "main");
    uint32_t rank = tare_profile_intern(profile, "rank"), unit = tare_profile_intern(profile, "bytes");
    struct tare_label sets[][3] = {
        {{.key = key, .text = text}},
        {{.key = key, .text = 0}},
        {{.key = key, .numeric = 1}},
        {{.key = key, .numeric = 1, .unit = unit}},
        {{.key = key, .text = text}, {.key = rank, .numeric = 1, .number = -4, .unit = unit}},
        {{.key = key, .text = text}, {.key = key, .text = unit}, {.key = key, .numeric = 1, .number = 9}},
    };
    static const size_t counts[] = {1, 1, 1, 1, 2, 3};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t root = tare_profile_root(profile, tare_profile_labels(profile, sets[i], counts[i]));
        tare_profile_add(profile, root, calls, i % 2 ? 5 : 0);
        uint32_t node = tare_profile_child(profile, root, bare, 0);
        tare_profile_add(profile, node, wall, INT64_MIN + (int64_t)i);
        tare_profile_child(profile, node, bare, 4); /* weighs nothing, and is kept */
    }
    tare_profile_add(profile, tare_profile_child(profile, 0, bare, 0), wall, INT64_MAX);
    check_round_trip(profile);
    meta = tare_profile_meta(profile);
    meta->kind = TARE_PROFILE_PAIRS;
    meta->estimated = 0;
    check_round_trip(profile);
    tare_profile_destroy(profile);
}

static void inlined_frames_share_a_location(void)
{
    struct tare_profile *profile = fresh();
    uint32_t column = tare_profile_add_column(profile, "cpu", "nanoseconds");
    struct tare_frame outer = {
        .kind = TARE_FRAME_NATIVE, .name = tare_profile_intern(profile, "outer"), .address = 64};
    struct tare_frame inner = {.kind = TARE_FRAME_NATIVE,
                               .flags = TARE_FRAME_INLINED,
                               .name = tare_profile_intern(profile, "inner"),
                               .address = 64};
    uint32_t a = tare_profile_frame(profile, &outer), b = tare_profile_frame(profile, &inner);
    uint32_t plain = tare_profile_function(profile, TARE_FRAME_NATIVE, "leaf", "", 0);
    uint32_t node = tare_profile_child(profile, 0, a, 10);
    uint32_t first = tare_profile_child(profile, node, b, 20);
    uint32_t second = tare_profile_child(profile, first, b, 30);
    uint32_t other = tare_profile_child(profile, node, b, 40);
    tare_profile_add(profile, second, column, 1);
    tare_profile_add(profile, other, column, 2);
    tare_profile_add(profile, tare_profile_child(profile, second, plain, 0), column, 3);
    tare_profile_add(profile, tare_profile_child(profile, node, plain, 0), column, 4);
    check_round_trip(profile);
    tare_profile_add(profile, node, column, 5);
    check_round_trip(profile);
    tare_profile_destroy(profile);
}

/* Random trees, wide and deep, over frames that repeat. */
static void random_trees(void)
{
    uint64_t random = 42;
    for (int round = 0; round < 30; round++) {
        struct tare_profile *profile = fresh();
        for (int i = 0; i <= round % 3; i++)
            tare_profile_add_column(profile, i == 0 ? "a" : i == 1 ? "b" : "c", "count");
        uint32_t count = round < 25 ? 200 : round % 2 ? 3000 : 20000;
        for (uint32_t i = 0; i < count; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint32_t parent = (uint32_t)(random >> 33) % tare_profile_nodes(profile);
            if (round % 2)
                parent = tare_profile_nodes(profile) - 1 - parent % (parent < 8 ? parent + 1 : 8);
            char name[24];
            snprintf(name, sizeof name, "f%u", (unsigned)(random >> 50) % 40);
            uint32_t frame = tare_profile_function(profile, TARE_FRAME_PYTHON, name, "a.py", 1);
            uint32_t node = tare_profile_child(profile, parent, frame, (uint32_t)(random >> 60));
            if (random & 16)
                tare_profile_add(profile, node, (uint32_t)(round % 3),
                                 (int64_t)(random >> 20) * (i % 2 ? 1 : -1));
        }
        check_round_trip(profile);
        tare_profile_destroy(profile);
    }
}

/* One function calling itself packs better than anything else: no reason to take it for a bomb. */
static void deep_recursion(void)
{
    struct tare_profile *profile = fresh();
    uint32_t column = tare_profile_add_column(profile, "calls", "count");
    uint32_t frame = tare_profile_function(profile, TARE_FRAME_PYTHON, "f", "a.py", 1), node = 0;
    for (int i = 0; i < 10000; i++) {
        node = tare_profile_child(profile, node, frame, 3);
        tare_profile_add(profile, node, column, 1);
    }
    check_round_trip(profile);
    tare_profile_destroy(profile);
}

static void gzip_holds_no_time_or_name(void)
{
    struct tare_out out;
    tare_out_init_memory(&out, SIZE_MAX);
    struct tare_gz *gz = tare_gz_create(&out, 6);
    for (int i = 0; i < 100000; i++)
        tare_gz_add(gz, &i, sizeof i);
    tare_gz_finish(gz);
    static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0};
    CHECK(memcmp(out.buf.data, head, sizeof head) == 0);
    struct tare_in *in = NULL;
    CHECK_INT(tare_in_open_memory(out.buf.data, out.buf.length, "m", &in, NULL), 0);
    for (int i = 0; in && i < 100000; i++) {
        int got = -1;
        size_t have = 0, n = 0;
        while (have < sizeof got && tare_in_read(in, (char *)&got + have, sizeof got - have, &n, NULL) == 0 &&
               n)
            have += n;
        if (got != i) {
            CHECK_INT(got, i);
            break;
        }
    }
    tare_in_close(in);
    tare_out_finish(&out);
}

static void a_full_output_is_an_error(void)
{
    struct tare_profile *profile = fresh();
    uint32_t column = tare_profile_add_column(profile, "a", "count");
    for (uint32_t i = 1; i < 20000; i++)
        tare_profile_add(profile,
                         tare_profile_child(profile, i / 2,
                                            tare_profile_function(profile, TARE_FRAME_PYTHON, "f", "", i), 0),
                         column, i);
    struct tare_out out;
    struct tare_error err = {0};
    struct tare_view view = {0};
    tare_out_init_memory(&out, 1000);
    tare_writer_pprof.write(profile, &view, &out);
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK(err.msg[0] != '\0');
    tare_out_finish(&out);
    tare_profile_destroy(profile);
}

static void a_small_profile_cap_is_an_error(void)
{
    struct tare_profile *profile = fresh(), *small = NULL;
    uint32_t column = tare_profile_add_column(profile, "a", "count");
    for (uint32_t i = 1; i < 20000; i++)
        tare_profile_add(profile,
                         tare_profile_child(profile, i / 2,
                                            tare_profile_function(profile, TARE_FRAME_PYTHON, "f", "", i), 0),
                         column, i);
    struct tare_out out;
    struct tare_error err = {0};
    struct tare_view view = {0};
    tare_out_init_memory(&out, SIZE_MAX);
    tare_writer_pprof.write(profile, &view, &out);
    CHECK_INT(tare_profile_create(400 * 1024, &small, &err), 0);
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, small, &err), -1);
    CHECK(strncmp(err.msg, "'x.pb.gz' cannot be read as pprof: ", 35) == 0);
    tare_profile_destroy(small);
    tare_profile_destroy(profile);
    tare_out_finish(&out);
}

int main(void)
{
    RUN(empty_profiles);
    RUN(everything_a_frame_has);
    RUN(meta_labels_and_mappings);
    RUN(inlined_frames_share_a_location);
    RUN(random_trees);
    RUN(deep_recursion);
    RUN(gzip_holds_no_time_or_name);
    RUN(a_full_output_is_an_error);
    RUN(a_small_profile_cap_is_an_error);
    return check_done();
}
