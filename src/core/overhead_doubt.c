/* SPDX-License-Identifier: Apache-2.0 */
/* Functions whose corrected time is little more than a guess: most of what was recorded for them was
 * recording itself, or the machine was too unsteady. */
#include <stdio.h>
#include <string.h>

#include "core/overhead.h"

/* A function is named when it has so much of the time that is left, and its error so much of its own. */
#define WORTH_NAMING 0.01
#define DOUBTFUL     0.5

/* Keep it if it is among those with most time. */
static void keep(struct tare_overhead *overhead, const struct tare_overhead_doubt *doubt)
{
    struct tare_overhead_doubt kept = *doubt;
    for (unsigned i = 0; i < overhead->doubts; i++) {
        struct tare_overhead_doubt *at = &overhead->doubtful[i];
        if (strcmp(at->name, kept.name) != 0)
            continue;
        kept.own_ns += at->own_ns;
        kept.error_ns += at->error_ns;
        memmove(at, at + 1, (--overhead->doubts - i) * sizeof *at);
        break;
    }
    unsigned place = overhead->doubts;
    while (place > 0 && overhead->doubtful[place - 1].own_ns < kept.own_ns)
        place--;
    if (place == TARE_OVERHEAD_DOUBTS)
        return;
    if (overhead->doubts < TARE_OVERHEAD_DOUBTS)
        overhead->doubts++;
    memmove(&overhead->doubtful[place + 1], &overhead->doubtful[place],
            (overhead->doubts - place - 1) * sizeof kept);
    overhead->doubtful[place] = kept;
}

void tare_overhead_find_doubts(const struct tare_profile *profile, const double *own_ns,
                               const double *error_ns, struct tare_overhead *overhead)
{
    double left = overhead->recorded_ns - overhead->taken_ns;
    for (uint32_t i = 0; i < tare_profile_frames(profile); i++) {
        if (own_ns[i] < WORTH_NAMING * left || error_ns[i] < DOUBTFUL * own_ns[i] || own_ns[i] <= 0)
            continue;
        const struct tare_frame *frame = tare_profile_frame_at(profile, i);
        struct tare_overhead_doubt doubt = {.own_ns = own_ns[i], .error_ns = error_ns[i]};
        snprintf(doubt.name, sizeof doubt.name, "%s", tare_profile_text(profile, frame->name));
        keep(overhead, &doubt);
    }
}

void tare_overhead_add_doubts(struct tare_overhead *sum, const struct tare_overhead *other)
{
    for (unsigned i = 0; i < other->doubts; i++)
        keep(sum, &other->doubtful[i]);
}

void tare_overhead_note_doubts(struct tare_profile *profile, const struct tare_overhead *overhead)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1024);
    for (unsigned i = 0; i < overhead->doubts; i++) {
        const struct tare_overhead_doubt *doubt = &overhead->doubtful[i];
        tare_buf_printf(&buf, "%s%s %.3f \xc2\xb1 %.3f s", i ? ", " : "", doubt->name, doubt->own_ns / 1e9,
                        doubt->error_ns / 1e9);
    }
    if (overhead->doubts)
        tare_profile_note(profile, "own time no better than a guess: %s", buf.data);
    tare_buf_finish(&buf);
}
