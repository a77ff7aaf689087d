/* SPDX-License-Identifier: Apache-2.0 */
/* pprof files made by others: what they hold is kept, and bad ones end early, in one clear line. */
#include <sys/resource.h>
#include <time.h>

#include "base/gz.h"
#include "base/pb.h"
#include "pprof_check.h"

struct file {
    struct tare_buf buf, message, inner;
};

static struct file file_begin(void)
{
    struct file file;
    tare_buf_init(&file.buf, SIZE_MAX);
    tare_buf_init(&file.message, SIZE_MAX);
    tare_buf_init(&file.inner, SIZE_MAX);
    return file;
}

static void file_end(struct file *file)
{
    tare_buf_finish(&file->buf);
    tare_buf_finish(&file->message);
    tare_buf_finish(&file->inner);
}

static void put(struct file *file, uint32_t field)
{
    tare_pb_put_bytes(&file->buf, field, file->message.data, file->message.length);
    tare_buf_clear(&file->message);
}

static void put_type(struct file *file, uint64_t type, uint64_t unit)
{
    tare_pb_put_uint(&file->message, 1, type);
    tare_pb_put_uint(&file->message, 2, unit);
    put(file, 1);
}

static void put_function(struct file *file, uint64_t id, uint64_t name)
{
    tare_pb_put_uint(&file->message, 1, id);
    tare_pb_put_uint(&file->message, 2, name);
    put(file, 5);
}

static void put_location(struct file *file, uint64_t id, uint64_t function)
{
    tare_pb_put_uint(&file->message, 1, id);
    if (function) {
        tare_buf_clear(&file->inner);
        tare_pb_put_uint(&file->inner, 1, function);
        tare_pb_put_uint(&file->inner, 2, 5);
        tare_pb_put_bytes(&file->message, 4, file->inner.data, file->inner.length);
    }
    put(file, 4);
}

static void put_sample(struct file *file, uint64_t leaf, uint64_t root, int64_t value)
{
    tare_pb_put_uint(&file->message, 1, leaf);
    tare_pb_put_uint(&file->message, 1, root);
    tare_pb_put_int(&file->message, 2, value);
    put(file, 2);
}

static void put_text(struct file *file, const char *text)
{
    tare_pb_put_bytes(&file->buf, 6, text, strlen(text));
}

static void put_texts(struct file *file)
{
    put_text(file, "");
    put_text(file, "cpu");
    put_text(file, "nanoseconds");
    put_text(file, "alpha");
    put_text(file, "beta");
}

/* Read it; "" if that went well, else the message. */
static const char *reading(const struct file *file, struct tare_profile *profile)
{
    static char message[sizeof(((struct tare_error *)0)->msg)];
    struct tare_error err = {0};
    int rc = read_bytes(file->buf.data, file->buf.length, profile, &err);
    CHECK((rc == 0) == (err.msg[0] == '\0'));
    CHECK(strchr(err.msg, '\n') == NULL);
    memcpy(message, err.msg, sizeof message);
    return message;
}

static const char *refused(const struct file *file)
{
    struct tare_profile *profile = fresh();
    const char *message = reading(file, profile);
    tare_profile_destroy(profile);
    return message;
}

static void ids_may_be_anything(void)
{
    struct file file = file_begin();
    put_type(&file, 1, 2);
    put_sample(&file, UINT64_MAX, 77, 5);
    put_sample(&file, 77, UINT64_MAX, -6);
    put_location(&file, UINT64_MAX, 3);
    put_location(&file, 77, UINT64_MAX - 1);
    put_function(&file, UINT64_MAX - 1, 3);
    put_function(&file, 3, 4);
    put_texts(&file);
    struct tare_profile *profile = fresh();
    CHECK_TEXT(reading(&file, profile), "");
    CHECK_INT(tare_profile_nodes(profile), 5);
    const struct tare_node *leaf = tare_profile_node_at(profile, 2);
    CHECK_TEXT(tare_profile_text(profile, tare_profile_frame_at(profile, leaf->frame)->name), "beta");
    CHECK_INT(leaf->line, 5);
    CHECK_INT(leaf->parent, 1);
    CHECK_INT(tare_profile_values(profile, 2)[0], 5);
    CHECK_INT(tare_profile_values(profile, 4)[0], -6);
    tare_profile_destroy(profile);
    file_end(&file);
}

/* Large tables are paid for by the file that held them, in the second pass too. */
static void large_tables_are_read(void)
{
    struct tare_profile *profile = fresh(), *back = fresh();
    uint32_t column = tare_profile_add_column(profile, "a", "count");
    for (uint32_t i = 1; i <= 270000; i++) {
        char name[24];
        snprintf(name, sizeof name, "f%u", (unsigned)i);
        uint32_t frame = tare_profile_function(profile, TARE_FRAME_PYTHON, name, "a.py", i);
        tare_profile_add(profile, tare_profile_child(profile, i / 10, frame, i), column, i);
    }
    struct tare_out out;
    struct tare_error err = {0};
    struct tare_view view = {0};
    tare_out_init_memory(&out, SIZE_MAX);
    tare_writer_pprof.write(profile, &view, &out);
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, back, &err), 0);
    CHECK_TEXT(err.msg, "");
    CHECK_INT(tare_profile_nodes(back), 270001);
    tare_out_finish(&out);
    tare_profile_destroy(profile);
    tare_profile_destroy(back);
}

static void equal_functions_are_twins(void)
{
    struct file file = file_begin();
    put_type(&file, 1, 2);
    for (uint64_t i = 1; i <= 3; i++) {
        put_function(&file, i, 3);
        put_location(&file, i, i);
        put_sample(&file, i, i, 1);
    }
    put_texts(&file);
    struct tare_profile *profile = fresh();
    CHECK_TEXT(reading(&file, profile), "");
    CHECK_INT(tare_profile_frames(profile), 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_INT(tare_profile_frame_at(profile, i)->twin, i);
    check_round_trip(profile);
    tare_profile_destroy(profile);
    file_end(&file);
}

static void what_is_dropped_is_said(void)
{
    struct file file = file_begin();
    put_type(&file, 1, 2);
    put_type(&file, 1, 2);
    tare_pb_put_uint(&file.buf, 99, 1);
    put_function(&file, 1, 3);
    tare_pb_put_uint(&file.inner, 1, 1);
    tare_pb_put_int(&file.inner, 2, -1);
    tare_pb_put_uint(&file.inner, 3, 8);
    tare_pb_put_uint(&file.message, 1, 1);
    tare_pb_put_uint(&file.message, 5, 1);
    tare_pb_put_bytes(&file.message, 4, file.inner.data, file.inner.length);
    put(&file, 4);
    put_text(&file, "");
    put_text(&file, "cpu");
    put_text(&file, "nanoseconds");
    put_text(&file, "alpha");
    struct tare_profile *profile = fresh();
    CHECK_TEXT(reading(&file, profile), "");
    CHECK_INT(tare_profile_notes(profile), 5);
    CHECK_TEXT(tare_profile_note_at(profile, 0),
               "dropped value 2: it is called cpu/nanoseconds like one before it");
    CHECK_TEXT(tare_profile_note_at(profile, 1), "dropped 1 column numbers: only lines are kept");
    CHECK_TEXT(tare_profile_note_at(profile, 2), "dropped the mark of 1 locations whose code was folded");
    CHECK_TEXT(tare_profile_note_at(profile, 3), "dropped 1 line numbers out of range");
    CHECK_TEXT(tare_profile_note_at(profile, 4), "dropped 1 fields that this version does not know");
    tare_profile_destroy(profile);
    file_end(&file);
}

static void broken_files_are_refused(void)
{
#define WHY "'x.pb.gz' cannot be read as pprof: "
    struct file file = file_begin();
    CHECK_TEXT(refused(&file), WHY "it has no string table");
    put_type(&file, 1, 2);
    CHECK_TEXT(refused(&file), WHY "it has no string table");
    put_texts(&file);
    CHECK_TEXT(refused(&file), "");
    size_t good = file.buf.length;

    put_sample(&file, 1, 1, 1);
    CHECK_TEXT(refused(&file), WHY "a sample is at location 1, which is missing");
    put_location(&file, 1, 1);
    CHECK_TEXT(refused(&file), WHY "a location is in function 1, which is missing");
    put_function(&file, 1, 1);
    CHECK_TEXT(refused(&file), "");
    put_function(&file, 1, 1);
    CHECK_TEXT(refused(&file), WHY "two functions have the id 1");

    file.buf.length = good;
    put_function(&file, 0, 1);
    CHECK_TEXT(refused(&file), WHY "a function has the id 0");
    file.buf.length = good;
    put_function(&file, 1, 1000);
    CHECK_TEXT(refused(&file), WHY "it refers to string 1000 of 5; it may be cut short");
    file.buf.length = good;
    put_function(&file, 1, UINT64_MAX);
    CHECK_TEXT(refused(&file), WHY "it refers to a string that no table can hold");
    file.buf.length = good;
    put_location(&file, 9, 0);
    put_location(&file, 9, 0);
    CHECK_TEXT(refused(&file), WHY "two locations have the id 9");
    file.buf.length = good;
    tare_pb_put_uint(&file.message, 1, 1);
    tare_pb_put_uint(&file.message, 2, 4);
    put(&file, 4);
    CHECK_TEXT(refused(&file), WHY "a location is in mapping 4, which is missing");
    file.buf.length = good;
    tare_pb_put_uint(&file.message, 1, 1);
    tare_pb_put_bytes(&file.message, 4, "", 0);
    put(&file, 4);
    CHECK_TEXT(refused(&file), WHY "a location has a line without a function");
    file.buf.length = good;
    tare_pb_put_uint(&file.message, 2, 4);
    tare_pb_put_uint(&file.message, 2, 4);
    put(&file, 2);
    CHECK_TEXT(refused(&file), WHY "a sample has more than its 1 values");
    file.buf.length = good;
    put(&file, 2);
    CHECK_TEXT(refused(&file), WHY "a sample has 0 values instead of 1");
    file.buf.length = good;
    tare_pb_put_uint(&file.buf, 2, 4);
    CHECK_TEXT(refused(&file), WHY "a field of a profile has the wrong type");
    file.buf.length = good - 1;
    CHECK_TEXT(refused(&file), WHY "damaged protobuf: the file ends inside a field");

    file.buf.length = 0;
    put_text(&file, "not empty");
    CHECK_TEXT(refused(&file), WHY "its first string is not empty");
    file.buf.length = 0;
    put_text(&file, "");
    put(&file, 2);
    CHECK_TEXT(refused(&file), WHY "it has samples, but does not say what they measure");
    file_end(&file);
}

/* ---- hostile sizes ---- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* A sanitizer's own memory and time are not ours. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

/* gzip of start, then piece over and over up to so many bytes. */
static void check_bomb(const struct tare_buf *start, const void *piece, size_t length, uint64_t bytes,
                       const char *why)
{
    struct tare_out out;
    tare_out_init_memory(&out, SIZE_MAX);
    struct tare_gz *gz = tare_gz_create(&out, 9);
    tare_gz_add(gz, start->data, start->length);
    for (uint64_t done = 0; done < bytes; done += length)
        tare_gz_add(gz, piece, length);
    tare_gz_finish(gz);
    long before_kib = peak_kib();
    double begun = seconds();
    struct tare_profile *profile = fresh();
    struct tare_error err = {0};
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, profile, &err), -1);
    CHECK_TEXT(err.msg, why);
    CHECK(SANITIZED || seconds() - begun < 1.0);
    CHECK(SANITIZED || peak_kib() - before_kib < 48 * 1024);
    tare_profile_destroy(profile);
    tare_out_finish(&out);
}

static void bombs_end_early(void)
{
    static const char too_much[] = WHY "it unpacks to far more than a profile of its size holds";
    size_t length = 1 << 20;
    uint8_t *piece = calloc(1, length);
    struct file file = file_begin();
    put_type(&file, 1, 2);
    put_texts(&file);
    if (!piece)
        abort();
    check_bomb(&file.buf, piece, length, 40 << 20, WHY "damaged protobuf: a field number is out of range");

    /* Empty strings, empty locations, and fields nobody knows, long and short. */
    for (size_t i = 0; i < length; i += 2)
        piece[i] = 0x32;
    check_bomb(&file.buf, piece, length, 40 << 20, too_much);
    static const uint8_t location[] = {0x22, 0x02, 0x08, 0x01};
    for (size_t i = 0; i < length; i++)
        piece[i] = location[i % sizeof location];
    check_bomb(&file.buf, piece, length, 40 << 20, too_much);
    memset(piece, 0, length);
    tare_pb_put_bytes(&file.inner, 99, piece, length);
    check_bomb(&file.buf, file.inner.data, file.inner.length, 300 << 20, too_much);
    static const uint8_t unknown[] = {0x98, 0x06, 0x00};
    for (size_t i = 0; i < length; i++)
        piece[i] = unknown[i % sizeof unknown];
    check_bomb(&file.buf, piece, length / sizeof unknown * sizeof unknown, 60 << 20, too_much);

    /* Fields that claim gigabytes, in all tables. */
    for (uint32_t field = 1; field <= 6; field++) {
        struct file claim = file_begin();
        put_type(&claim, 1, 2);
        tare_pb_put_header(&claim.buf, field, (size_t)3 << 30);
        CHECK_TEXT(refused(&claim), WHY "damaged protobuf: a field claims more bytes than any real one has");
        file_end(&claim);
    }

    /* A stack of a million frames, and one made deep by inlining. */
    file.message.length = 0;
    memset(piece, 1, length);
    tare_pb_put_bytes(&file.message, 1, piece, length);
    tare_pb_put_uint(&file.message, 2, 1);
    put(&file, 2);
    put_location(&file, 1, 0);
    CHECK_TEXT(refused(&file), WHY "a stack is deeper than 262144 frames");
    file_end(&file);
    file = file_begin();
    put_type(&file, 1, 2);
    put_texts(&file);
    put_function(&file, 1, 3);
    tare_pb_put_uint(&file.message, 1, 1);
    for (int i = 0; i < 1000; i++)
        tare_pb_put_bytes(&file.message, 4, "\x08\x01", 2);
    put(&file, 4);
    tare_pb_put_bytes(&file.message, 1, piece, 300);
    tare_pb_put_uint(&file.message, 2, 1);
    put(&file, 2);
    CHECK_TEXT(refused(&file), WHY "a stack is deeper than 262144 frames");
    file_end(&file);
    free(piece);
}

/* ---- recognising ---- */

static bool recognised(const void *data, size_t length, bool whole)
{
    return tare_reader_pprof.recognise(data, length, whole);
}

static void recognises_itself_only(void)
{
    struct file file = file_begin();
    put_type(&file, 1, 2);
    CHECK(!recognised(file.buf.data, file.buf.length, true));
    put_texts(&file);
    for (uint64_t i = 1; i <= 3; i++) {
        put_function(&file, i, 3);
        put_location(&file, i, i);
        put_sample(&file, i, i, 1);
    }
    CHECK(recognised(file.buf.data, file.buf.length, true));
    for (size_t cut = 6; cut < file.buf.length; cut++)
        CHECK(recognised(file.buf.data, cut, false));
    /* A first sample so deep that it is all one sees. */
    file.buf.length = 0;
    for (int i = 0; i < 5000; i++)
        tare_pb_put_varint(&file.inner, 1);
    tare_pb_put_bytes(&file.message, 1, file.inner.data, file.inner.length);
    put(&file, 2);
    CHECK(recognised(file.buf.data, 4096, false));
    file_end(&file);

    static const char *const others[] = {
        "",
        "\n",
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n",
        "main;run;step 12\nmain;run 3\n",
        "2 fast;2 furious 7\n",
        "\"quoted\";b 1\n",
        "*star;b 1\n",
        "Zebra 3\n",
        "java;lang 3\n",
        "{\"schema\": \"tare.run/1\"}",
        "[1, 2, 3]",
        "{(\x00\x00",
        "\xfb\xa9\x03",
        "<?xml version=\"1.0\"?>",
        "\x08\x07\x12\x07pytorch",          /* ONNX */
        "\x0a\x10\x40\x01\x50\x02\x32\x0a", /* Perfetto */
        "\177ELF\x02\x01\x01",
        "\x89PNG\r\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        /* As it is, and as the start of a longer file. */
        char head[4096];
        size_t length = strlen(others[i]);
        for (size_t at = 0; at < sizeof head; at++)
            head[at] = length ? others[i][at % length] : '\0';
        if (recognised(head, length, true) || recognised(head, sizeof head, false)) {
            fprintf(stderr, "taken for pprof: '%s'\n", others[i]);
            CHECK(false);
        }
    }
}

int main(void)
{
    RUN(bombs_end_early); /* first: it looks at the peak of memory */
    RUN(ids_may_be_anything);
    RUN(large_tables_are_read);
    RUN(equal_functions_are_twins);
    RUN(what_is_dropped_is_said);
    RUN(broken_files_are_refused);
    RUN(recognises_itself_only);
    return check_done();
}
