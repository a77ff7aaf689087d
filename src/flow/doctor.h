/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What works on this machine and what does not. A check really tries what it is about where that is possible,
 * in a process of its own, and reads the settings to say why it failed. The result is a table; nothing is
 * printed and nothing on the machine is changed. Takes under two seconds unless
 * something hangs, which then has its own deadline.
 * To add a check: a function in a doctor_*.c file that calls tare_doctor_add, a declaration in doctor_part.h
 * and a row in doctor.c. Starts processes; call it from one thread.
 */
#ifndef TARE_FLOW_DOCTOR_H
#define TARE_FLOW_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "core/machine.h"

enum tare_doctor_status {
    TARE_DOCTOR_OK,
    TARE_DOCTOR_DEGRADED, /* works, with less than it could */
    TARE_DOCTOR_MISSING,  /* does not work */
};

struct tare_doctor_check {
    const char *name; /* two words at most */
    enum tare_doctor_status status;
    const char *found; /* what is so, one sentence without a full stop */
    const char *why;   /* why it matters */
    const char *fix;   /* the one command that fixes it; NULL when nothing is wrong or no command can */
};

/** A Python interpreter. */
struct tare_doctor_python {
    const char *path;
    const char *version; /* NULL when it did not answer */
    const char *error;   /* why not */
    const char *source;  /* where it was found: VIRTUAL_ENV, CONDA_PREFIX, PATH, pyenv, conda */
    const char *tare;    /* the version of tareprof in it, or NULL */
    const char *other;   /* the version of the unrelated package called tare, or NULL */
    const char *ort;     /* the folder with its ONNX Runtime library, or NULL */
    bool supported;      /* tare runs on this version */
    bool managed;        /* the system forbids pip to install into it */
};

/** The ONNX Runtime that would be used. */
struct tare_doctor_ort {
    const char *path;    /* NULL when there is none */
    const char *version; /* NULL when it does not load */
    const char *source;  /* --ort, TARE_ORT, VIRTUAL_ENV, CONDA_PREFIX, PATH, system */
    const char *error;   /* why it does not load */
};

struct tare_doctor_options {
    const char *root;   /* where settings are read: "" or a folder with proc and sys trees; NULL is "" */
    const char *ort;    /* --ort; may be NULL */
    const char *output; /* the folder of results; NULL for $PROFILE_OUTPUT_DIR or profiling_results */
};

struct tare_doctor_report {
    struct tare_machine machine;
    const struct tare_doctor_check *checks;
    size_t check_count;
    size_t ok, degraded, missing;
    const struct tare_doctor_python *pythons; /* the active one first */
    size_t python_count;
    struct tare_doctor_ort ort;
};

/** Look. Fails only for want of memory. */
int tare_doctor_run(const struct tare_doctor_options *options, struct tare_arena *arena,
                    struct tare_doctor_report *ret_report, struct tare_error *err);

/** "ok", "degraded", "missing". */
const char *tare_doctor_status_name(enum tare_doctor_status status);

/** The report as one JSON object. */
void tare_doctor_write(const struct tare_doctor_report *report, struct tare_json *json);

#endif
