/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t tare_utf8_next(const char *text, size_t length, uint32_t *ret_point)
{
    const unsigned char *at = (const unsigned char *)text;
    uint32_t point;
    size_t bytes;
    if (at[0] < 0x80) {
        bytes = 1;
        point = at[0];
    } else if (at[0] >= 0xc2 && at[0] <= 0xdf) {
        bytes = 2;
        point = at[0] & 0x1fu;
    } else if (at[0] >= 0xe0 && at[0] <= 0xef) {
        bytes = 3;
        point = at[0] & 0x0fu;
    } else if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        bytes = 4;
        point = at[0] & 0x07u;
    } else {
        return 0;
    }
    if (bytes > length)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (at[i] & 0x3fu);
    }
    if (bytes == 3 && (point < 0x800 || (point >= 0xd800 && point <= 0xdfff)))
        return 0;
    if (bytes == 4 && (point < 0x10000 || point > 0x10ffff))
        return 0;
    if (ret_point)
        *ret_point = point;
    return bytes;
}
