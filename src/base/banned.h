/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that cannot be used safely, or that hide an error. The build includes this file before every
 * source of ours, so that using one of them is a compile error that names the replacement.
 */
#ifndef TARE_BASE_BANNED_H
#define TARE_BASE_BANNED_H

/* Everything that declares these names comes first, so that only our own uses are hit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__GNUC__)
#pragma GCC poison strcpy strcat strncpy strncat stpcpy /* tare_buf_*, memcpy with a known length */
#pragma GCC poison sprintf vsprintf                     /* snprintf, tare_buf_printf */
#pragma GCC poison gets strtok atoi atol atof           /* tare_count_parse, tare_real_parse */
#pragma GCC poison gmtime localtime asctime ctime       /* the _r variants */
#pragma GCC poison tmpnam tempnam mktemp                /* tare_out_open */
#pragma GCC poison system popen                         /* fork and exec, without a shell */
#endif

#endif
