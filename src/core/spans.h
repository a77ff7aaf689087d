/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ran inside the spans of one name, as a profile of its own: the user's named regions are frames of kind
 * TARE_FRAME_SPAN, and what belongs to a name is what lies under the outermost of them. Reads the profile it
 * is given; as thread-safe as that is.
 */
#ifndef TARE_CORE_SPANS_H
#define TARE_CORE_SPANS_H

#include "base/error.h"
#include "core/profile.h"

/**
 * The part of a profile that ran inside spans of that name, with threads, columns, comments and times as they
 * were. tare's own machinery (Python code of the folder `own_folder`, C methods of tare's types, and what
 * they call) melts into what used it: not counted, its time its caller's. own_folder may be NULL. A name that
 * never ran gives a profile without contexts.
 */
int tare_profile_span(const struct tare_profile *profile, const char *name, const char *own_folder,
                      struct tare_profile **ret_part, struct tare_error *err);

#endif
