/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verdict.h"

#include <math.h>
#include <string.h>

enum tare_verdict_kind tare_verdicts_worst(const struct tare_verdicts *verdicts)
{
    enum tare_verdict_kind worst = TARE_VERDICT_SAME;
    for (size_t i = 0; i < verdicts->count; i++)
        if (verdicts->rows[i].kind > worst)
            worst = verdicts->rows[i].kind;
    return worst;
}

static double size_of_change(const struct tare_verdict *row)
{
    return isfinite(row->ratio) && row->ratio > 0 ? fabs(log(row->ratio)) : 0;
}

static bool comes_before(const struct tare_verdict *a, const struct tare_verdict *b)
{
    if (a->kind != b->kind)
        return a->kind > b->kind;
    return size_of_change(a) > size_of_change(b);
}

void tare_verdicts_sort(struct tare_verdicts *verdicts)
{
    for (size_t i = 1; i < verdicts->count; i++) {
        struct tare_verdict row = verdicts->rows[i];
        size_t at = i;
        for (; at > 0 && comes_before(&row, &verdicts->rows[at - 1]); at--)
            verdicts->rows[at] = verdicts->rows[at - 1];
        verdicts->rows[at] = row;
    }
}

const char *tare_verdict_word(enum tare_verdict_kind kind)
{
    static const char *const words[] = {"same", "improved", "passed", "inconclusive", "regressed", "failed"};
    return words[kind];
}

/* Is this word, "seq=128", among those of a name? */
static bool has_word(const char *name, const char *word, size_t length)
{
    for (const char *at = name; (at = strstr(at, word)); at++) {
        /* word is part of a longer text: compare only its own length, at both edges. */
        bool starts = at == name || at[-1] == ' ';
        if (starts && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool everywhere(const struct tare_verdicts *verdicts, const char *word, size_t length)
{
    for (size_t i = 0; i < verdicts->count; i++)
        if (*verdicts->rows[i].configuration && !has_word(verdicts->rows[i].configuration, word, length))
            return false;
    return true;
}

void tare_verdicts_label(struct tare_verdicts *verdicts)
{
    static const char batch[] = "batch=";
    for (size_t i = 0; i < verdicts->count; i++) {
        struct tare_verdict *row = &verdicts->rows[i];
        size_t size = strlen(row->configuration) + 1, at = 0;
        char *label = tare_arena_alloc(verdicts->arena, size);
        row->label = row->configuration;
        if (!label)
            continue;
        for (const char *from = row->configuration; *from;) {
            size_t length = strcspn(from, " ");
            const char *word = tare_arena_text(verdicts->arena, from, length);
            if (strncmp(word, batch, sizeof batch - 1) == 0 || !everywhere(verdicts, word, length)) {
                if (at)
                    label[at++] = ' ';
                memcpy(label + at, from, length);
                at += length;
            }
            from += length + (from[length] == ' ');
        }
        row->label = label;
    }
}
