/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 taken apart, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. Names come from
 * other people's files and processes, so whatever is written into a format that promises UTF-8 passes here.
 * Pure functions.
 */
#ifndef TARE_BASE_UTF8_H
#define TARE_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* What stands in the place of bytes that are not UTF-8. */
#define TARE_UTF8_REPLACEMENT "\xef\xbf\xbd"

/**
 * The bytes of the character at text, of which length (at least 1) bytes may be read; its code point goes to
 * *ret_point, which may be NULL. 0 means that no valid character starts here: put TARE_UTF8_REPLACEMENT in
 * the place of this byte and go on with the next.
 */
size_t tare_utf8_next(const char *text, size_t length, uint32_t *ret_point);

#endif
