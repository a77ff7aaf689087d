/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder in which the processes of one recording leave their captures: beside the results, because there
 * is room and a right to write there, and hidden. It is removed when its captures have become a result.
 */
#ifndef TARE_FLOW_RECORDING_H
#define TARE_FLOW_RECORDING_H

#include "base/arena.h"
#include "base/error.h"

/**
 * Make one: in the folder of output (may be NULL), else in the current one, else in $TMPDIR or /tmp; the
 * first that may be written to and has room. ret_note says what was passed over, or is NULL.
 */
int tare_recording_make(const char *output, struct tare_arena *arena, const char **ret_folder,
                        const char **ret_note, struct tare_error *err);

/** Remove it with what is in it. */
void tare_recording_remove(const char *folder);

#endif
