/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of two profiles are the same; a part of core/diff.h, where the rules stand. */
#ifndef TARE_CORE_DIFF_MATCH_H
#define TARE_CORE_DIFF_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/profile.h"

/**
 * Add the frames of both profiles to diff. (*ret_maps)[0] and [1] say what each frame of base and of now
 * became (TARE_NONE for one that carries labels); free() both. exact: lines have not moved.
 */
int tare_diff_match(struct tare_profile *diff, const struct tare_profile *base,
                    const struct tare_profile *now, bool exact, uint32_t *(*ret_maps)[2],
                    struct tare_error *err);

#endif
