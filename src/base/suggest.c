/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <stdint.h>
#include <string.h>

/* Longer names are never mistyped; they are something else. */
enum { NAME_MAX_LENGTH = 40 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to add, take away, change, or swap with their neighbour. Case does not count. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) {
        before[j] = SIZE_MAX / 2;
        last[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(least(last[j], row[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == lower(b[j - 2]) && y == lower(a[i - 2]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
    }
    return last[b_length];
}

void tare_suggest_offer(struct tare_suggest *suggest, const char *typed, const char *name)
{
    size_t typed_length = strlen(typed), name_length = strlen(name);
    if (typed_length == 0 || typed_length > NAME_MAX_LENGTH || name_length > NAME_MAX_LENGTH)
        return;
    size_t found = distance(typed, typed_length, name, name_length);
    /* A beginning is as good as one wrong letter: --out for --output. */
    if (typed_length >= 2 && name_length > typed_length && strncmp(typed, name, typed_length) == 0)
        found = least(found, 1);
    size_t longer = typed_length > name_length ? typed_length : name_length;
    size_t allowed = longer <= 2 ? 0 : longer <= 5 ? 1 : longer / 3;
    if (found > allowed || (suggest->best && found >= suggest->distance))
        return;
    suggest->best = name;
    suggest->distance = found;
}
