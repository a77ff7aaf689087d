/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as Markdown: a comment on a pull request, or the summary of a CI job. */
#include "report/verdict_report.h"

static void put_table(struct tare_out *out, const struct tare_run_grid *grid)
{
    if (!grid)
        return;
    if (grid->title)
        tare_out_printf(out, "\n**%s**\n", grid->title);
    tare_out_text(out, "\n");
    tare_markdown_grid(out, grid);
}

static void markdown_write(const struct tare_verdicts *verdicts, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_run_grid *thresholds, *compared;
    struct tare_error err;
    tare_arena_init(&arena, 0);
    tare_verdict_grids(verdicts, &arena, &thresholds, &compared);
    tare_out_printf(out, "### tare: %s\n", tare_verdict_summary(verdicts, &arena));
    if (verdicts->a && verdicts->b) {
        tare_out_text(out, "\n");
        tare_markdown_put(out, verdicts->a);
        tare_out_text(out, " against ");
        tare_markdown_put(out, verdicts->b);
        tare_out_text(out, "\n");
    }
    put_table(out, thresholds);
    put_table(out, compared);
    bool first = true;
    for (size_t i = 0; i < verdicts->count; i++) {
        if (!verdicts->rows[i].note)
            continue;
        tare_out_text(out, first ? "\n- " : "- ");
        tare_markdown_put(out, tare_verdict_sentence(&verdicts->rows[i], &arena));
        tare_out_text(out, "\n");
        first = false;
    }
    for (size_t i = 0; i < verdicts->notes_count; i++) {
        tare_out_text(out, i || !first ? "- " : "\n- ");
        tare_markdown_put(out, verdicts->notes[i]);
        tare_out_text(out, "\n");
    }
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

const struct tare_verdict_writer tare_verdict_writer_markdown = {.name = "markdown",
                                                                 .extensions = ".md",
                                                                 .summary = "a comment on a pull request",
                                                                 .write = markdown_write};
