/* SPDX-License-Identifier: Apache-2.0 */
/* A file as it was in another commit. */
#ifndef TARE_FLOW_GITREF_H
#define TARE_FLOW_GITREF_H

#include "base/arena.h"
#include "base/error.h"

/**
 * Write the file at path, as it is in the commit that ref names, into folder, by the user's own git;
 * *ret_path is where it is. Files kept by Git LFS are fetched through it. A ref or a file that does not exist
 * is named.
 */
int tare_gitref_file(const char *ref, const char *path, const char *folder, struct tare_arena *arena,
                     const char **ret_path, struct tare_error *err);

#endif
