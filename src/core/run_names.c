/* SPDX-License-Identifier: Apache-2.0 */
/* Names of configurations, cut down to what tells them apart. */
#include <string.h>

#include "core/run.h"

/* Is this word, "seq=128", among those of a name? */
static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; (at = strstr(at, word)); at++)
        if ((at == name || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static bool everywhere(const char *const *names, size_t count, const char *word, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (*names[i] && !has_word(names[i], word, length))
            return false;
    return true;
}

static const char *shorten(const char *name, const char *const *names, size_t count, struct tare_arena *arena)
{
    static const char batch[] = "batch=";
    char *label = tare_arena_alloc(arena, strlen(name) + 1);
    size_t at = 0;
    if (!label)
        return name;
    for (const char *from = name; *from;) {
        size_t length = strcspn(from, " ");
        const char *word = tare_arena_text(arena, from, length);
        if (strncmp(word, batch, sizeof batch - 1) == 0 || !everywhere(names, count, word, length)) {
            if (at)
                label[at++] = ' ';
            memcpy(label + at, from, length);
            at += length;
        }
        from += length + (from[length] == ' ');
    }
    return label;
}

void tare_run_short_names(const char **names, size_t count, struct tare_arena *arena)
{
    const char **made = tare_arena_array(arena, count + 1, sizeof *made);
    if (!made)
        return;
    for (size_t i = 0; i < count; i++)
        made[i] = shorten(names[i], names, count, arena);
    if (count)
        memcpy(names, made, count * sizeof *made);
}
