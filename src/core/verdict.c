/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verdict.h"

#include <math.h>

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

void tare_verdicts_label(struct tare_verdicts *verdicts)
{
    const char **names = tare_arena_array(verdicts->arena, verdicts->count + 1, sizeof *names);
    if (!names)
        return;
    for (size_t i = 0; i < verdicts->count; i++)
        names[i] = verdicts->rows[i].configuration;
    tare_run_short_names(names, verdicts->count, verdicts->arena);
    for (size_t i = 0; i < verdicts->count; i++)
        verdicts->rows[i].label = names[i];
}
