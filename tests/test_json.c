/* SPDX-License-Identifier: Apache-2.0 */
/* json and utf8: what is written is JSON whatever goes in, and reads back equal. */
#include <float.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "check.h"

static struct tare_out out;
static struct tare_json json;

static void begin(unsigned indent)
{
    tare_out_init_memory(&out, 1 << 20);
    tare_json_init(&json, &out, indent);
}

static void ends_as(const char *want)
{
    struct tare_error err;
    CHECK_INT(tare_out_commit(&out, &err), 0);
    CHECK_TEXT(out.buf.data, want);
    tare_out_finish(&out);
}

static void fails_with(enum tare_code code)
{
    struct tare_error err = {0};
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK_INT(err.code, code);
    tare_out_finish(&out);
}

static void write_sample(void)
{
    tare_json_object(&json);
    tare_json_put_text(&json, "name", "x");
    tare_json_put_text(&json, "none", NULL);
    tare_json_put_int(&json, "low", INT64_MIN);
    tare_json_put_uint(&json, "high", UINT64_MAX);
    tare_json_put_bool(&json, "yes", true);
    tare_json_key(&json, "empty");
    tare_json_object(&json);
    tare_json_end(&json);
    tare_json_key(&json, "list");
    tare_json_array(&json);
    tare_json_real(&json, 0.1);
    tare_json_row(&json);
    tare_json_int(&json, 1);
    tare_json_array(&json);
    tare_json_int(&json, 2);
    tare_json_int(&json, 3);
    tare_json_end(&json);
    tare_json_end(&json);
    tare_json_record(&json);
    tare_json_put_int(&json, "a", 1);
    tare_json_put_int(&json, "b", 2);
    tare_json_end(&json);
    tare_json_end(&json);
    tare_json_end(&json);
}

static void on_one_line(void)
{
    begin(0);
    write_sample();
    ends_as("{\"name\":\"x\",\"none\":null,\"low\":-9223372036854775808,\"high\":18446744073709551615,"
            "\"yes\":true,\"empty\":{},\"list\":[0.1,[1,[2,3]],{\"a\":1,\"b\":2}]}");
}

static void indented(void)
{
    begin(2);
    write_sample();
    ends_as("{\n  \"name\": \"x\",\n  \"none\": null,\n  \"low\": -9223372036854775808,\n"
            "  \"high\": 18446744073709551615,\n  \"yes\": true,\n  \"empty\": {},\n"
            "  \"list\": [\n    0.1,\n    [1, [2, 3]],\n    {\"a\": 1, \"b\": 2}\n  ]\n}");
}

static void strings_are_escaped(void)
{
    begin(0);
    tare_json_span(&json, "a\"\\\n\t\x01\0b\x7f/\xc3\xa9\xf0\x9f\x98\x80", 16);
    ends_as("\"a\\\"\\\\\\n\\t\\u0001\\u0000b\x7f/\xc3\xa9\xf0\x9f\x98\x80\"");
}

static void bad_utf8_is_replaced(void)
{
    static const char *const bad[] = {
        "\xff",             /* never a first byte */
        "\x80",             /* a continuation alone */
        "\xc0\x80",         /* overlong NUL */
        "\xc1\xbf",         /* overlong */
        "\xe0\x80\x80",     /* overlong */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf0\x80\x80\x80", /* overlong */
        "\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xf5\x80\x80\x80", /* never a first byte */
        "\xe2\x82",         /* cut short */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char want[64] = "\"<";
        size_t length = 2;
        for (size_t j = 0; j < strlen(bad[i]); j++, length += 3)
            memcpy(want + length, TARE_UTF8_REPLACEMENT, 3);
        memcpy(want + length, ">\"", 3);
        char text[16];
        snprintf(text, sizeof text, "<%s>", bad[i]);
        begin(0);
        tare_json_text(&json, text);
        ends_as(want);
    }
}

static void utf8_round_trips(void)
{
    for (uint32_t point = 0x80; point <= 0x10ffff; point += point < 0x3000 ? 1 : 97) {
        unsigned char text[4];
        size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        for (size_t i = length; i-- > 1;)
            text[i] = (unsigned char)(0x80 | (point >> (6 * (length - 1 - i)) & 0x3f));
        text[0] = (unsigned char)((0xf00 >> length & 0xff) | point >> (6 * (length - 1)));
        uint32_t got = 0;
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        size_t n = tare_utf8_next((const char *)text, length, &got);
        if (n != (surrogate ? 0 : length) || got != (surrogate ? 0 : point))
            CHECK_INT(point, -1);
        if (tare_utf8_next((const char *)text, length - 1, NULL) != 0)
            CHECK_INT(point, -2);
    }
}

/* Digits from the first that is not 0 to the last that is not 0. */
static int significant(const char *text)
{
    int digits = 0, count = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            continue;
        digits += digits || *text != '0';
        if (*text != '0')
            count = digits;
    }
    return count;
}

/* Read what was written for a number, and see that no shorter text would have done. */
static double back(double value)
{
    struct tare_error err = {0};
    yyjson_doc *doc = NULL;
    begin(0);
    tare_json_real(&json, value);
    CHECK_INT(tare_out_commit(&out, &err), 0);
    CHECK_INT(tare_json_read(out.buf.data, out.buf.length, "number", &doc, &err), 0);
    double got = yyjson_get_real(yyjson_doc_get_root(doc));
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    if (significant(out.buf.data) != significant(text))
        CHECK_TEXT(out.buf.data, text);
    yyjson_doc_free(doc);
    tare_out_finish(&out);
    return got;
}

static void reals_read_back_equal(void)
{
    static const double some[] = {0.1,         1.0 / 3,
                                  DBL_MAX,     DBL_MIN,
                                  -DBL_MAX,    5e-324,
                                  DBL_EPSILON, 1e21,
                                  1e-7,        123456789012345680.0,
                                  1e22,        9007199254740993.0,
                                  -0.5,        299792458.0,
                                  3.14e-5,     2.2250738585072011e-308};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        CHECK_REAL(back(some[i]), some[i], 0);
    for (uint64_t i = 1; i < 20000; i++) {
        uint64_t bits = tare_hash_mix(i);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value) && back(value) != value)
            CHECK_REAL(back(value), value, 0);
    }
    CHECK(signbit(back(-0.0)));
    begin(0);
    tare_json_row(&json);
    tare_json_real(&json, 1);
    tare_json_real(&json, 0.3);
    tare_json_real(&json, NAN);
    tare_json_real(&json, -INFINITY);
    tare_json_end(&json);
    ends_as("[1.0,0.3,null,null]");
}

static void a_locale_changes_nothing(void)
{
    if (!check_comma_locale(__func__))
        return;
    begin(0);
    tare_json_real(&json, 1.5);
    ends_as("1.5");
    setlocale(LC_ALL, "C");
}

static void nesting_is_bounded(void)
{
    begin(2);
    for (int i = 0; i < TARE_JSON_DEPTH; i++)
        tare_json_array(&json);
    for (int i = 0; i < TARE_JSON_DEPTH; i++)
        tare_json_end(&json);
    CHECK_INT(tare_out_commit(&out, NULL), 0);
    tare_out_finish(&out);

    begin(2);
    for (int i = 0; i < 10 * TARE_JSON_DEPTH; i++)
        tare_json_array(&json);
    for (int i = 0; i < 10 * TARE_JSON_DEPTH; i++)
        tare_json_end(&json);
    fails_with(TARE_E_LIMIT);
}

static void calls_out_of_order_fail(void)
{
    begin(0);
    tare_json_object(&json);
    tare_json_int(&json, 1);
    fails_with(TARE_E_USAGE);
    begin(0);
    tare_json_array(&json);
    tare_json_key(&json, "k");
    fails_with(TARE_E_USAGE);
    begin(0);
    tare_json_key(&json, "k");
    fails_with(TARE_E_USAGE);
    begin(0);
    tare_json_end(&json);
    fails_with(TARE_E_USAGE);
    begin(0);
    tare_json_object(&json);
    tare_json_key(&json, "k");
    tare_json_end(&json);
    fails_with(TARE_E_USAGE);
}

static void values_are_copied_whole(void)
{
    static const char text[] =
        "{\"a\":[1,-2,3.5,true,null,\"\\u0000\\n\"],\"b\":{\"c\":[]},\"a\":18446744073709551615,"
        "\"q\\\"\":[[1],{}]}";
    struct tare_error err = {0};
    yyjson_doc *doc = NULL;
    CHECK_INT(tare_json_read(text, sizeof text - 1, "sample", &doc, &err), 0);
    begin(0);
    tare_json_value(&json, yyjson_doc_get_root(doc));
    ends_as(text);
    begin(1);
    tare_json_value(&json, yyjson_doc_get_root(doc));
    ends_as("{\n \"a\": [1, -2, 3.5, true, null, \"\\u0000\\n\"],\n \"b\": {\n  \"c\": []\n },\n"
            " \"a\": 18446744073709551615,\n \"q\\\"\": [\n  [1],\n  {}\n ]\n}");
    yyjson_doc_free(doc);
}

/* The words in the middle are yyjson's own. */
static void refuses(const char *text, const char *first, const char *last)
{
    struct tare_error err = {0};
    yyjson_doc *doc = NULL;
    CHECK_INT(tare_json_read(text, strlen(text), "x.json", &doc, &err), -1);
    CHECK(doc == NULL);
    CHECK_INT(err.code, TARE_E_INPUT);
    size_t length = strlen(err.msg);
    if (strncmp(err.msg, first, strlen(first)) != 0)
        CHECK_TEXT(err.msg, first);
    if (length < strlen(last) || strcmp(err.msg + length - strlen(last), last) != 0)
        CHECK_TEXT(err.msg, last);
    yyjson_doc_free(doc);
}

static void errors_say_where(void)
{
    static const char invalid[] = "'x.json' is not valid JSON: ";
    refuses("", "'x.json' is empty", "where JSON was expected");
    refuses(" \n ", "'x.json' is empty", "where JSON was expected");
    refuses("{\"a\": 1,\n \"\xc3\xa9\": tru}", invalid, " at line 2, column 7");
    refuses("[1", invalid, " at line 1, column 3");
    refuses("{} x", invalid, " at line 1, column 4");
    refuses("[NaN]", invalid, " at line 1, column 2");
}

static void deep_input_is_refused(void)
{
    size_t length = 1 << 20;
    char *text = malloc(length + 1);
    CHECK(text != NULL);
    if (!text)
        return;
    memset(text, '[', length);
    text[length] = '\0';
    refuses(text, "'x.json' is not valid JSON: nested too deep", " at line 1, column 65");
    /* Brackets in a string are not nesting. */
    text[0] = text[length - 1] = '"';
    yyjson_doc *doc = NULL;
    CHECK_INT(tare_json_read(text, length, "x.json", &doc, NULL), 0);
    yyjson_doc_free(doc);
    free(text);
}

static void byte_order_mark_is_passed_over(void)
{
    yyjson_doc *doc = NULL;
    CHECK_INT(tare_json_read("\xef\xbb\xbf[7]", 6, "x.json", &doc, NULL), 0);
    CHECK_INT(yyjson_get_int(yyjson_arr_get_first(yyjson_doc_get_root(doc))), 7);
    yyjson_doc_free(doc);
}

int main(void)
{
    RUN(on_one_line);
    RUN(indented);
    RUN(strings_are_escaped);
    RUN(bad_utf8_is_replaced);
    RUN(utf8_round_trips);
    RUN(reals_read_back_equal);
    RUN(a_locale_changes_nothing);
    RUN(nesting_is_bounded);
    RUN(calls_out_of_order_fail);
    RUN(values_are_copied_whole);
    RUN(errors_say_where);
    RUN(deep_input_is_refused);
    RUN(byte_order_mark_is_passed_over);
    return check_done();
}
