/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts as JUnit XML: one test case a row; what is inconclusive is skipped, with the reason. */
#include <string.h>

#include "report/svg_text.h"
#include "report/verdict_report.h"

static void attribute(struct tare_out *out, const char *name, const char *value)
{
    tare_out_printf(out, " %s=\"", name);
    tare_svg_escape(out, value, strlen(value));
    tare_out_text(out, "\"");
}

static void put_case(struct tare_out *out, const struct tare_verdict *row, struct tare_arena *arena)
{
    const char *sentence = tare_verdict_sentence(row, arena);
    tare_out_text(out, "    <testcase");
    attribute(out, "classname", *row->label ? row->label : "model");
    attribute(out, "name", row->metric);
    tare_out_text(out, ">\n");
    if (row->kind >= TARE_VERDICT_REGRESSED) {
        tare_out_text(out, "      <failure");
        attribute(out, "type", tare_verdict_word(row->kind));
        attribute(out, "message", sentence);
        tare_out_text(out, "/>\n");
    } else if (row->kind == TARE_VERDICT_INCONCLUSIVE) {
        tare_out_text(out, "      <skipped");
        attribute(out, "message", sentence);
        tare_out_text(out, "/>\n");
    } else {
        tare_out_text(out, "      <system-out>");
        tare_svg_escape(out, sentence, strlen(sentence));
        tare_out_text(out, "</system-out>\n");
    }
    tare_out_text(out, "    </testcase>\n");
}

static void junit_write(const struct tare_verdicts *verdicts, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_error err;
    size_t failures = 0, skipped = 0;
    tare_arena_init(&arena, 0);
    for (size_t i = 0; i < verdicts->count; i++) {
        failures += verdicts->rows[i].kind >= TARE_VERDICT_REGRESSED;
        skipped += verdicts->rows[i].kind == TARE_VERDICT_INCONCLUSIVE;
    }
    tare_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    tare_out_printf(out, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                    verdicts->count, failures, skipped);
    tare_out_printf(
        out, "  <testsuite name=\"tare\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
        verdicts->count, failures, skipped);
    for (size_t i = 0; i < verdicts->count; i++)
        put_case(out, &verdicts->rows[i], &arena);
    tare_out_text(out, "  </testsuite>\n</testsuites>\n");
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}

const struct tare_verdict_writer tare_verdict_writer_junit = {
    .name = "junit", .extensions = ".xml", .summary = "JUnit XML for CI", .write = junit_write};
