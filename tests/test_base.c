/* SPDX-License-Identifier: Apache-2.0 */
/* error, arena, buf: the small things that everything else leans on. */
#include <errno.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/sha256.h"
#include "check.h"

static void error_keeps_message(void)
{
    struct tare_error err = {0};
    CHECK_INT(tare_fail(&err, TARE_E_IO, ENOENT, "cannot open '%s'", "x"), -1);
    CHECK_TEXT(err.msg, "cannot open 'x': No such file or directory");
    CHECK_INT(err.sys, ENOENT);
    tare_fail(&err, TARE_E_INPUT, 0, "inside: %s", err.msg);
    CHECK_TEXT(err.msg, "inside: cannot open 'x': No such file or directory");
    CHECK_INT(tare_fail(NULL, TARE_E_IO, 0, "nobody listens"), -1);
}

static void error_long_message_is_marked(void)
{
    struct tare_error err;
    char text[400];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tare_fail(&err, TARE_E_INPUT, ENOENT, "%s", text);
    CHECK_INT(strlen(err.msg), sizeof err.msg - 1);
    CHECK_TEXT(err.msg + sizeof err.msg - 4, "...");
}

static void error_is_one_printable_line(void)
{
    struct tare_error err;
    tare_fail(&err, TARE_E_INPUT, 0, "'%s' is bad", "a\nb\x1b[2J\x7f\xc2\x9b\xc3\xa9");
    CHECK_TEXT(err.msg, "'a?b?[2J???\xc3\xa9' is bad");
}

static void arena_is_zeroed_and_capped(void)
{
    struct tare_arena arena;
    struct tare_error err;
    tare_arena_init(&arena, 1 << 20);
    for (size_t size = 1; size < 100000; size = size * 3 + 1) {
        unsigned char *memory = tare_arena_alloc(&arena, size);
        CHECK(memory != NULL);
        CHECK_INT((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; memory && i < size; i++)
            CHECK_INT(memory[i], 0);
        if (memory)
            memset(memory, 0xff, size);
    }
    CHECK_TEXT(tare_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    CHECK_INT(tare_arena_check(&arena, &err), 0);
    CHECK(tare_arena_alloc(&arena, 2 << 20) == NULL);
    CHECK(tare_arena_array(&arena, SIZE_MAX / 2, 16) == NULL);
    CHECK_TEXT(tare_arena_copy(&arena, "still works"), "still works");
    CHECK_INT(tare_arena_check(&arena, &err), -1);
    tare_arena_finish(&arena);
}

static void buf_grows_to_its_cap(void)
{
    struct tare_buf buf;
    struct tare_error err;
    tare_buf_init(&buf, 10);
    CHECK_TEXT(buf.data, "");
    tare_buf_printf(&buf, "%s", "12345");
    tare_buf_add_text(&buf, "67890");
    CHECK_TEXT(buf.data, "1234567890");
    CHECK_INT(tare_buf_check(&buf, &err), 0);
    tare_buf_add_byte(&buf, 'x');
    CHECK_INT(tare_buf_check(&buf, &err), -1);
    CHECK_TEXT(buf.data, "1234567890");
    tare_buf_clear(&buf);
    CHECK_INT(tare_buf_check(&buf, &err), 0);
    tare_buf_finish(&buf);
}

/* The examples of FIPS 180-4, and a million bytes given in pieces of every length. */
static void sha256_is_the_standard_one(void)
{
    struct tare_sha256 sha;
    char text[TARE_SHA256_TEXT], many[997];
    tare_sha256_init(&sha);
    tare_sha256_end(&sha, text);
    CHECK_TEXT(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    tare_sha256_init(&sha);
    tare_sha256_add(&sha, "abc", 3);
    tare_sha256_end(&sha, text);
    CHECK_TEXT(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    tare_sha256_init(&sha);
    tare_sha256_add(&sha, "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56);
    tare_sha256_end(&sha, text);
    CHECK_TEXT(text, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(many, 'a', sizeof many);
    tare_sha256_init(&sha);
    for (size_t left = 1000000, size = 1; left > 0; size = size % sizeof many + 1) {
        size_t part = left < size ? left : size;
        tare_sha256_add(&sha, many, part);
        left -= part;
    }
    tare_sha256_end(&sha, text);
    CHECK_TEXT(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    RUN(error_keeps_message);
    RUN(error_long_message_is_marked);
    RUN(error_is_one_printable_line);
    RUN(arena_is_zeroed_and_capped);
    RUN(buf_grows_to_its_cap);
    RUN(sha256_is_the_standard_one);
    return check_done();
}
