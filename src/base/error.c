/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Names come from other people's files: whatever they hold, a message stays one line and moves no cursor. */
static void make_printable(char *msg)
{
    for (unsigned char *at = (unsigned char *)msg; *at; at++) {
        bool c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;
        if (c1)
            *at++ = '?';
        if (c1 || *at < 0x20 || *at == 0x7f)
            *at = '?';
    }
}

int(tare_fail)(struct tare_error *err, enum tare_code code, int sys, const char *fmt, ...)
{
    if (!err)
        return -1;
    /* The arguments may point into err->msg itself (a message that wraps another), so build it apart. */
    char msg[sizeof err->msg];
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    if (length < 0)
        length = 0;
    if (sys != 0 && (size_t)length < sizeof msg) {
        char text[128];
        const char *words = strerror_r(sys, text, sizeof text);
        int more = snprintf(msg + length, sizeof msg - (size_t)length, ": %s", words);
        length = more < 0 ? length : length + more;
    }
    if ((size_t)length >= sizeof msg)
        memcpy(msg + sizeof msg - 4, "...", 4);
    make_printable(msg);
    err->code = code;
    err->sys = sys;
    memcpy(err->msg, msg, sizeof msg);
    return -1;
}

int(tare_fail_memory)(struct tare_error *err)
{
    return tare_fail(err, TARE_E_MEMORY, 0, "out of memory");
}
