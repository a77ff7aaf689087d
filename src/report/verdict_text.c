/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts for a terminal, and for the log of a CI job that understands annotations. */
#include "report/verdict_report.h"

static void text_write(const struct tare_verdicts *verdicts, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_run_grid *thresholds, *compared;
    struct tare_error err;
    tare_arena_init(&arena, 0);
    tare_verdict_grids(verdicts, &arena, &thresholds, &compared);
    if (verdicts->a && verdicts->b) {
        tare_out_text(out, "Base  ");
        tare_text_put(out, verdicts->a);
        tare_out_text(out, "\nNew   ");
        tare_text_put(out, verdicts->b);
        tare_out_text(out, "\n");
    }
    if (thresholds)
        tare_text_grid(out, &arena, thresholds);
    if (compared)
        tare_text_grid(out, &arena, compared);
    tare_out_printf(out, "\n%s.\n", tare_verdict_summary(verdicts, &arena));
    for (size_t i = 0; i < verdicts->count; i++) {
        if (!verdicts->rows[i].note)
            continue;
        tare_text_put(out, tare_arena_printf(&arena, "%s%s%s: %s", verdicts->rows[i].metric,
                                             *verdicts->rows[i].label ? " @ " : "", verdicts->rows[i].label,
                                             verdicts->rows[i].note));
        tare_out_text(out, "\n");
    }
    for (size_t i = 0; i < verdicts->notes_count; i++) {
        tare_out_text(out, "Note: ");
        tare_text_put(out, verdicts->notes[i]);
        tare_out_text(out, "\n");
    }
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

/* What GitHub would take for its own syntax is written as it asks for it: %25, %0D, %0A. */
static void put_annotation(struct tare_out *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at == '%')
            tare_out_text(out, "%25");
        else if (*at == '\r')
            tare_out_text(out, "%0D");
        else if (*at == '\n')
            tare_out_text(out, "%0A");
        else
            tare_out_add(out, at, 1);
    }
}

static void github_write(const struct tare_verdicts *verdicts, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_error err;
    tare_arena_init(&arena, 0);
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct tare_verdict *row = &verdicts->rows[i];
        const char *level = row->kind >= TARE_VERDICT_REGRESSED      ? "error"
                            : row->kind == TARE_VERDICT_INCONCLUSIVE ? "warning"
                            : row->kind == TARE_VERDICT_IMPROVED     ? "notice"
                                                                     : NULL;
        if (!level)
            continue;
        tare_out_printf(out, "::%s title=tare::", level);
        put_annotation(out, tare_verdict_sentence(row, &arena));
        tare_out_text(out, "\n");
    }
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

const struct tare_verdict_writer tare_verdict_writer_text = {
    .name = "text", .extensions = ".txt", .summary = "tables to read in a terminal", .write = text_write};

const struct tare_verdict_writer tare_verdict_writer_github = {
    .name = "github", .summary = "annotations of GitHub Actions", .write = github_write};
