/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a mistyped name may have meant. Pure functions.
 */
#ifndef TARE_BASE_SUGGEST_H
#define TARE_BASE_SUGGEST_H

#include <stddef.h>

/* The best candidate so far: start from zero, offer each name, read best (NULL if nothing is close). */
struct tare_suggest {
    const char *best;
    size_t distance;
};

/** Consider a name for what was typed. */
void tare_suggest_offer(struct tare_suggest *suggest, const char *typed, const char *name);

#endif
