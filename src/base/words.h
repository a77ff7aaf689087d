/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about strings that several rooms ask. Pure functions. */
#ifndef TARE_BASE_WORDS_H
#define TARE_BASE_WORDS_H

#include <stdbool.h>
#include <string.h>

/** Does the text end in this, with something before it? */
static inline bool tare_words_end(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length > tail && strcmp(text + length - tail, end) == 0;
}

/** Words as exec wants them: it takes them as they are, only its declaration lacks the const. */
static inline char *const *tare_words_argv(const char *const *argv)
{
    union {
        const char *const *given;
        char *const *taken;
    } words = {.given = argv};
    return words.taken;
}

#endif
