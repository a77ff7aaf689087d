/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One error: what kind, which errno if any, and a sentence for the user. It lives on the caller's stack;
 * nothing is allocated and nothing is thread-local. A function that can fail returns 0 or -1 and takes the
 * error last. A NULL error is allowed everywhere. The message names the thing, what is wrong with it, and the
 * remedy when there is one.
 */
#ifndef TARE_BASE_ERROR_H
#define TARE_BASE_ERROR_H

enum tare_code {
    TARE_OK = 0,
    TARE_E_USAGE,       /* the caller or the user asked for something that makes no sense */
    TARE_E_INPUT,       /* a file or another process holds something we cannot accept */
    TARE_E_IO,          /* the operating system refused; sys has the errno */
    TARE_E_MEMORY,      /* out of memory */
    TARE_E_LIMIT,       /* a stated bound was reached */
    TARE_E_UNSUPPORTED, /* right question, but not on this machine or in this build */
};

struct tare_error {
    enum tare_code code;
    int sys;
    char msg[240];
};

/**
 * Fill err and return -1. With a non-zero sys the system's own words follow the message after a colon.
 * A message that does not fit ends in "...", and control characters in it become "?": it is one line.
 */
int tare_fail(struct tare_error *err, enum tare_code code, int sys, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/** Out of memory, with one wording for all. */
int tare_fail_memory(struct tare_error *err);

/* Lets compilers and the static analyser see what the two functions always return. */
static inline int tare_fail_value(int value)
{
    if (value != -1)
        __builtin_unreachable();
    return value;
}
#define tare_fail(...)        tare_fail_value(tare_fail(__VA_ARGS__))
#define tare_fail_memory(err) tare_fail_value(tare_fail_memory(err))

#endif
