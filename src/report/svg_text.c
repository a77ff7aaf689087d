/* SPDX-License-Identifier: Apache-2.0 */
#include "report/svg_text.h"

#include <stdbool.h>

#include "base/utf8.h"

static bool is_between(uint32_t point, uint32_t first, uint32_t last)
{
    return point >= first && point <= last;
}

/* Must it not stand in our file? C1 controls, characters that turn the direction of text, non-characters. */
static bool is_unwanted(uint32_t point)
{
    return is_between(point, 0x80, 0x9f) || is_between(point, 0x202a, 0x202e) ||
           is_between(point, 0x2066, 0x2069) || is_between(point, 0xfdd0, 0xfdef) ||
           (point & 0xfffe) == 0xfffe;
}

/* How many columns it takes, rather too many than too few. */
static unsigned columns_of(uint32_t point)
{
    if (is_between(point, 0x300, 0x36f) || is_between(point, 0x200b, 0x200f) ||
        is_between(point, 0xfe00, 0xfe0f))
        return 0;
    if (point < 0x590 || is_between(point, 0x2010, 0x22ff) || is_between(point, 0x2400, 0x25ff))
        return 1;
    return 2;
}

/* The character at text: its bytes, and its code point, or UINT32_MAX where a sign has to stand for it. */
static size_t next_character(const char *text, size_t length, uint32_t *ret_point)
{
    size_t n = tare_utf8_next(text, length, ret_point);
    if (n == 0 || is_unwanted(*ret_point)) {
        *ret_point = UINT32_MAX;
        n = n ? n : 1;
    }
    return n;
}

static void put_character(struct tare_out *out, const char *text, size_t n, uint32_t point)
{
    if (point == UINT32_MAX)
        tare_out_text(out, TARE_UTF8_REPLACEMENT);
    else if (point < 0x20 || point == 0x7f) /* the picture of a control character, U+2400 on */
        tare_out_printf(out, "\xe2\x90%c", (int)(0x80 + (point == 0x7f ? 0x21 : point)));
    else if (point == '&')
        tare_out_text(out, "&amp;");
    else if (point == '<')
        tare_out_text(out, "&lt;");
    else if (point == '>')
        tare_out_text(out, "&gt;");
    else if (point == '"')
        tare_out_text(out, "&quot;");
    else
        tare_out_add(out, text, n);
}

void tare_svg_escape(struct tare_out *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint32_t point;
        size_t n = next_character(text + i, length - i, &point);
        put_character(out, text + i, n, point);
        i += n;
    }
}

void tare_svg_label(struct tare_out *out, const char *text, size_t length, unsigned columns)
{
    size_t all = 0, cut = 0; /* where the columns are used up; the same with room for the ellipsis */
    unsigned used = 0;
    while (all < length) {
        uint32_t point;
        size_t n = next_character(text + all, length - all, &point);
        unsigned width = point == UINT32_MAX ? 1 : columns_of(point);
        if (used + width > columns)
            break;
        used += width;
        all += n;
        if (used < columns)
            cut = all;
    }
    if (all == length) {
        tare_svg_escape(out, text, length);
        return;
    }
    tare_svg_escape(out, text, cut);
    tare_out_text(out, "\xe2\x80\xa6");
}
