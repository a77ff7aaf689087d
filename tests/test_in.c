/* SPDX-License-Identifier: Apache-2.0 */
/* in: files of any size, gzip or plain, pipes, and what is damaged. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <zlib.h>

#include "base/hash.h"
#include "base/in.h"
#include "scratch.h"

enum { SIZE = 200 * 1000 };

static uint8_t plain[SIZE];
static uint8_t packed[SIZE + 1000];
static size_t packed_size;

/* Bytes that do not compress to nothing, so that there are several windows of both. */
static void make_data(void)
{
    for (size_t i = 0; i < SIZE; i++)
        plain[i] = (uint8_t)(tare_hash_mix(i) & 0x3f);
}

static size_t pack(const uint8_t *data, size_t size, uint8_t *to, size_t room)
{
    z_stream z = {0};
    CHECK_INT(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    uint8_t none[1];
    z.next_in = size ? plain + (data - plain) : none;
    z.avail_in = (uInt)size;
    z.next_out = to;
    z.avail_out = (uInt)room;
    CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static struct tare_in *from_memory(const void *data, size_t size)
{
    struct tare_in *in = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_in_open_memory(data, size, "memory", &in, &err), 0);
    CHECK_TEXT(err.msg, "");
    return in;
}

/* Everything that is left equals the plain bytes from a place on. */
static void rest_is_plain(struct tare_in *in, size_t from)
{
    struct tare_buf buf;
    struct tare_error err = {0};
    tare_buf_init(&buf, SIZE * 3);
    CHECK_INT(tare_in_position(in), from);
    CHECK_INT(tare_in_all(in, &buf, &err), 0);
    CHECK_INT(buf.length, SIZE - from);
    CHECK(buf.length == SIZE - from && memcmp(buf.data, plain + from, buf.length) == 0);
    CHECK_INT(tare_in_position(in), SIZE);
    int byte = 0;
    CHECK_INT(tare_in_byte(in, &byte, &err), 0);
    CHECK_INT(byte, -1);
    tare_buf_finish(&buf);
}

static void walk(struct tare_in *in)
{
    struct tare_error err = {0};
    const uint8_t *data;
    size_t length, at = 0;
    /* Odd steps, so that peeks straddle every window's edge. */
    while (at + 5000 < SIZE) {
        CHECK_INT(tare_in_peek(in, 4096, &data, &length, &err), 0);
        CHECK_INT(length, 4096);
        CHECK_INT(memcmp(data, plain + at, length), 0);
        uint8_t piece[777];
        CHECK_INT(tare_in_read(in, piece, sizeof piece, &length, &err), 0);
        CHECK(length > 0);
        CHECK_INT(memcmp(piece, plain + at, length), 0);
        at += length;
        CHECK_INT(tare_in_skip(in, 1234, &err), 0);
        at += 1234;
        int byte;
        CHECK_INT(tare_in_byte(in, &byte, &err), 0);
        CHECK_INT(byte, plain[at]);
        at++;
        CHECK_INT(tare_in_position(in), at);
    }
    rest_is_plain(in, at);
    CHECK_INT(tare_in_skip(in, 1, &err), -1);
    CHECK_INT(tare_in_rewind(in, &err), 0);
    rest_is_plain(in, 0);
}

static void memory_plain_and_packed(void)
{
    struct tare_in *in = from_memory(plain, SIZE);
    CHECK(!tare_in_compressed(in));
    walk(in);
    tare_in_close(in);
    in = from_memory(packed, packed_size);
    CHECK(tare_in_compressed(in));
    walk(in);
    tare_in_close(in);
}

static void files_plain_and_packed(void)
{
    scratch_enter();
    scratch_write("plain", plain, SIZE);
    scratch_write("packed", packed, packed_size);
    for (int i = 0; i < 2; i++) {
        struct tare_in *in = NULL;
        CHECK_INT(tare_in_open(i ? "packed" : "plain", &in, NULL), 0);
        CHECK_INT(tare_in_compressed(in), i);
        walk(in);
        tare_in_close(in);
    }
    scratch_leave();
}

static void short_input(void)
{
    static const char *const texts[] = {"", "\x1f", "a"};
    for (size_t i = 0; i < 3; i++) {
        struct tare_in *in = from_memory(texts[i], strlen(texts[i]));
        const uint8_t *data;
        size_t length = 99;
        CHECK_INT(tare_in_peek(in, 10, &data, &length, NULL), 0);
        CHECK_INT(length, strlen(texts[i]));
        CHECK_INT(tare_in_rewind(in, NULL), 0);
        uint8_t byte;
        CHECK_INT(tare_in_read(in, &byte, 1, &length, NULL), 0);
        CHECK_INT(length, strlen(texts[i]));
        tare_in_close(in);
    }
    uint8_t empty[64];
    struct tare_in *in = from_memory(empty, pack(plain, 0, empty, sizeof empty));
    int byte = 0;
    CHECK(tare_in_compressed(in));
    CHECK_INT(tare_in_byte(in, &byte, NULL), 0);
    CHECK_INT(byte, -1);
    tare_in_close(in);
}

/* Read to the end: 0, or -1 with the message. */
static int drain(const void *data, size_t size, struct tare_error *err)
{
    struct tare_in *in = NULL;
    struct tare_buf buf;
    tare_buf_init(&buf, SIZE * 3);
    int rc = tare_in_open_memory(data, size, "x.gz", &in, err);
    if (rc == 0)
        rc = tare_in_all(in, &buf, err);
    tare_in_close(in);
    tare_buf_finish(&buf);
    return rc;
}

static void every_truncation_is_seen(void)
{
    static const uint8_t small[] = "a small text that is packed";
    uint8_t text[256];
    memcpy(plain, small, sizeof small);
    size_t size = pack(plain, sizeof small, text, sizeof text);
    make_data();
    for (size_t cut = 2; cut < size; cut++) {
        struct tare_error err = {0};
        CHECK_INT(drain(text, cut, &err), -1);
        CHECK_TEXT(err.msg, "'x.gz' is cut short: its gzip data ends early");
        CHECK_INT(err.code, TARE_E_INPUT);
    }
    for (size_t cut = packed_size / 3; cut < packed_size; cut += packed_size / 3)
        CHECK_INT(drain(packed, cut, NULL), -1);
}

static void damage_is_seen(void)
{
    uint8_t *copy = malloc(packed_size + 100);
    CHECK(copy != NULL);
    if (!copy)
        return;
    for (size_t at = 20; at < packed_size; at += 997) {
        memcpy(copy, packed, packed_size);
        copy[at] ^= 0x10;
        struct tare_error err = {0};
        CHECK_INT(drain(copy, packed_size, &err), -1);
    }
    /* The checksum alone. */
    memcpy(copy, packed, packed_size);
    copy[packed_size - 8] ^= 1;
    struct tare_error err = {0};
    CHECK_INT(drain(copy, packed_size, &err), -1);
    CHECK_TEXT(err.msg, "'x.gz' is damaged: its gzip data cannot be read");
    /* Zeros after the end are padding (tapes, block devices); anything else is not. */
    memcpy(copy, packed, packed_size);
    memset(copy + packed_size, 0, 100);
    CHECK_INT(drain(copy, packed_size + 100, NULL), 0);
    copy[packed_size + 50] = 'x';
    CHECK_INT(drain(copy, packed_size + 100, &err), -1);
    CHECK_TEXT(err.msg, "'x.gz' is damaged: something follows its gzip data");
    free(copy);
}

static void members_are_joined(void)
{
    uint8_t *joined = malloc(2 * sizeof packed);
    CHECK(joined != NULL);
    if (!joined)
        return;
    size_t size = 0;
    static const size_t cuts[] = {0, 1, 1, 70 * 1000, SIZE};
    for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++)
        size += pack(plain + cuts[i], cuts[i + 1] - cuts[i], joined + size, 2 * sizeof packed - size);
    struct tare_in *in = from_memory(joined, size);
    walk(in);
    tare_in_close(in);
    free(joined);
}

static void a_claim_is_bounded(void)
{
    struct tare_error err = {0};
    struct tare_in *in = from_memory(packed, packed_size);
    struct tare_buf buf;
    tare_buf_init(&buf, SIZE - 1);
    CHECK_INT(tare_in_all(in, &buf, &err), -1);
    CHECK_INT(err.code, TARE_E_LIMIT);
    CHECK_TEXT(err.msg, "'memory' holds more than 199999 bytes");
    tare_buf_finish(&buf);
    tare_in_close(in);
}

/* Fork something that writes to a descriptor, at odd sizes and slowly at first. */
static pid_t feed(int fd, const uint8_t *data, size_t size)
{
    fflush(NULL);
    pid_t child = fork();
    if (child != 0)
        return child;
    for (size_t at = 0; at < size;) {
        size_t piece = at < 10 ? 1 : 4321;
        ssize_t n = write(fd, data + at, piece < size - at ? piece : size - at);
        if (n < 0)
            _exit(1);
        at += (size_t)n;
        if (at < 10)
            usleep(1000);
    }
    _exit(0);
}

static void pipes_can_be_rewound(void)
{
    for (int i = 0; i < 2; i++) {
        int ends[2], status = -1;
        char name[64];
        struct tare_in *in = NULL;
        CHECK_INT(pipe(ends), 0);
        pid_t child = feed(ends[1], i ? packed : plain, i ? packed_size : SIZE);
        close(ends[1]);
        snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
        CHECK_INT(tare_in_open(name, &in, NULL), 0);
        walk(in);
        tare_in_close(in);
        close(ends[0]);
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK_INT(status, 0);
    }
}

/* `(read line; tare report -) <file` starts where the shell stopped, also the second time. */
static void standard_input_keeps_its_place(void)
{
    scratch_enter();
    scratch_write("file", "line\nthe rest", 13);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open("file", O_RDONLY);
        if (fd < 0 || lseek(fd, 5, SEEK_SET) != 5 || dup2(fd, STDIN_FILENO) < 0)
            _exit(2);
        struct tare_in *in = NULL;
        struct tare_buf buf;
        check_bad = false;
        tare_buf_init(&buf, 100);
        CHECK_INT(tare_in_open("-", &in, NULL), 0);
        CHECK_TEXT(tare_in_name(in), "standard input");
        CHECK_INT(tare_in_all(in, &buf, NULL), 0);
        CHECK_TEXT(buf.data, "the rest");
        tare_buf_clear(&buf);
        CHECK_INT(tare_in_rewind(in, NULL), 0);
        CHECK_INT(tare_in_all(in, &buf, NULL), 0);
        CHECK_TEXT(buf.data, "the rest");
        tare_in_close(in);
        CHECK(fcntl(STDIN_FILENO, F_GETFD) >= 0);
        tare_buf_finish(&buf);
        _exit(check_bad ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    scratch_leave();
}

static void what_cannot_be_opened(void)
{
    struct tare_in *in = NULL;
    struct tare_error err = {0};
    scratch_enter();
    CHECK_INT(tare_in_open("none", &in, &err), -1);
    CHECK_TEXT(err.msg, "cannot open 'none': No such file or directory");
    CHECK_INT(tare_in_open(".", &in, &err), -1);
    CHECK_TEXT(err.msg, "'.' is a folder; name a file in it");
    CHECK(in == NULL);
    tare_in_close(NULL);
    scratch_leave();
}

int main(void)
{
    make_data();
    packed_size = pack(plain, SIZE, packed, sizeof packed);
    RUN(memory_plain_and_packed);
    RUN(files_plain_and_packed);
    RUN(short_input);
    RUN(every_truncation_is_seen);
    RUN(damage_is_seen);
    RUN(members_are_joined);
    RUN(a_claim_is_bounded);
    RUN(pipes_can_be_rewound);
    RUN(standard_input_keeps_its_place);
    RUN(what_cannot_be_opened);
    return check_done();
}
