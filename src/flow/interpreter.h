/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Python runs the user's program: the one that was named, else the one that runs this command
 * (`python -m tare` says so in TARE_PYTHON), else that of the active environment, else the
 * one beside this command (unless that is an environment made for the command alone), else the first on PATH.
 * It is asked whether tare is in it, in a process of its own and with a deadline; nothing is started by a
 * shell. Starts a process; call it from one thread.
 */
#ifndef TARE_FLOW_INTERPRETER_H
#define TARE_FLOW_INTERPRETER_H

#include "base/arena.h"
#include "base/error.h"

struct tare_interpreter {
    const char *path;
    const char
        *source; /* "--python", "python -m tare", "VIRTUAL_ENV", "CONDA_PREFIX", "beside tare", "PATH" */
    const char *version; /* of Python; NULL until asked */
    const char *tare;    /* of the package in it; NULL until asked */
};

/** Find it; named may be NULL, else it is a path or a name on PATH. Texts live in the arena. A
 * TARE_E_UNSUPPORTED error means that there is none. */
int tare_interpreter_find(const char *named, struct tare_arena *arena,
                          struct tare_interpreter *ret_interpreter, struct tare_error *err);

/**
 * Ask it for its version and whether it records. arguments are those of the program to run, of which the
 * flags that decide where packages come from matter. A TARE_E_UNSUPPORTED error says with which command tare
 * is installed there.
 */
int tare_interpreter_ask(struct tare_interpreter *interpreter, const char *const *arguments, size_t count,
                         struct tare_arena *arena, struct tare_error *err);

#endif
