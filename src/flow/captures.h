/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The captures of a folder, one per process, read and added up. This is the one place where a capture becomes
 * figures that are shown: whatever corrects them does it here, capture by capture, before they are added up.
 * Each process keeps its labels (process, role, rank, local_rank, thread, tid); an image that replaced
 * another in the same process continues it. What is damaged, was refused, is still running or was cut is said
 * in notes of the profile, and stops nothing. Reads files only; not thread-safe per call.
 */
#ifndef TARE_FLOW_CAPTURES_H
#define TARE_FLOW_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/in.h"
#include "core/capture.h"
#include "core/profile.h"

struct tare_capture_process {
    const char *path; /* of the capture */
    struct tare_capture_info info;
    const char *role, *rank; /* "" when it is not known */
    bool live;               /* it is still running */
};

struct tare_captures_options {
    int64_t ended_pid;   /* a process that is known to have ended */
    uint64_t end_ticks;  /* when; 0: not known. What is still running is read as of then, too */
    bool raw;            /* figures as they were recorded */
    int64_t patience_ns; /* how long to wait for others that are just ending */
    /* Told each process with its own figures; may be NULL. */
    int (*each)(void *context, const struct tare_capture_process *process, const struct tare_profile *profile,
                struct tare_error *err);
    void *context;
};

struct tare_captures {
    size_t processes; /* captures that were read */
    size_t live;      /* of them: still running */
    size_t damaged;   /* captures that could not be read */
    size_t refused;   /* processes that could not be recorded */
    size_t starting;  /* captures of processes whose program had not begun: not counted above */
};

/** Is it the name of a folder? */
bool tare_captures_recognise(const char *path);

/** Read every capture of a folder. Fails when there is none that can be read. */
int tare_captures_read(const char *folder, const struct tare_captures_options *options,
                       struct tare_profile **ret_profile, struct tare_captures *ret_captures,
                       struct tare_error *err);

/** Read one capture. */
int tare_captures_read_one(struct tare_in *in, struct tare_profile **ret_profile, struct tare_error *err);

#endif
