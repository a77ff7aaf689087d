/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading the user's ONNX Runtime. Its C header is used to build, when the build finds one; the library is
 * never linked. The version is read first, because asking for an interface newer than the library prints to
 * standard error: what is asked for is the older of the header's and the library's. Loading runs the
 * library's code, so a broken one takes the process with it: call this in a process that may die. A library
 * stays loaded until the process ends. Not thread-safe.
 */
#ifndef TARE_BENCH_ORT_LOAD_H
#define TARE_BENCH_ORT_LOAD_H

#include "base/error.h"

enum { TARE_ORT_OLDEST = 16 }; /* the N of 1.N, below which it is refused */

struct OrtApi;

struct tare_ort {
    const struct OrtApi *api; /* has the entries of interface 1 to api_version and no more; NULL when tare was
                                 built without the header */
    int api_version;
    const char *version; /* "1.31.1" */
    const char *path;    /* the file that was really loaded */
    void *handle;
};

/** The interface version of the header that tare was built with; 0: built without. */
int tare_ort_header(void);

/** Load it; path NULL is the system's. Texts live as long as the process. Each error names the remedy. */
int tare_ort_load(const char *path, struct tare_ort *ret_ort, struct tare_error *err);

#endif
