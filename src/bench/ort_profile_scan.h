/* SPDX-License-Identifier: Apache-2.0 */
/* One line of ONNX Runtime's profile, taken apart. Private to ort_profile.c. Nothing is allocated but shapes:
 * texts point into the line. */
#ifndef TARE_BENCH_ORT_PROFILE_SCAN_H
#define TARE_BENCH_ORT_PROFILE_SCAN_H

#include "bench/ort_profile.h"

enum tare_ort_line {
    TARE_ORT_LINE_NONE,    /* brackets, blank lines */
    TARE_ORT_LINE_ODD,     /* not understood */
    TARE_ORT_LINE_OTHER,   /* an event that is of no use here */
    TARE_ORT_LINE_NODE,    /* a node ran */
    TARE_ORT_LINE_EXECUTE, /* a graph ran: the model's, or a body */
    TARE_ORT_LINE_CALL,    /* a call of the model ended */
};

struct tare_ort_event {
    int64_t thread, start_us, length_us;
    const char *name; /* of a node, without what the profiler hangs on to it */
    size_t name_length;
    const char *args;
    size_t args_length;
};

/** What a line is, and its event. */
enum tare_ort_line tare_ort_scan_line(const char *line, size_t length, struct tare_ort_event *ret_event);

/** A text among the arguments; "" with length 0 if it is not there. */
const char *tare_ort_scan_text(const struct tare_ort_event *event, const char *key, size_t *ret_length);

/** A whole number among the arguments, quoted or not; -1 if it is not there. */
int64_t tare_ort_scan_int(const struct tare_ort_event *event, const char *key);

/** Was the work split among threads? */
bool tare_ort_scan_split(const struct tare_ort_event *event);

/** A list of types and shapes among the arguments. */
const struct tare_ort_shape *tare_ort_scan_shapes(const struct tare_ort_event *event, const char *key,
                                                  struct tare_arena *arena, size_t *ret_count);

#endif
