/* SPDX-License-Identifier: Apache-2.0 */
/* The sentences of a run: what was measured, above the tables, and what follows from it, below. */
#include <inttypes.h>

#include "report/run_rows.h"

/* "a, b, c" of what is known. */
static void join(struct tare_buf *buf, const char *text)
{
    if (text && *text)
        tare_buf_printf(buf, "%s%s", buf->length ? ", " : "", text);
}

static const char *joined(struct tare_run_make *make, struct tare_buf *buf)
{
    const char *text = buf->length ? tare_arena_copy(make->arena, buf->data) : NULL;
    tare_buf_clear(buf);
    return text;
}

/* "22.71 M parameters", "90.41 MB on disk"; a prefix stands for a power of 1000. */
static const char *with_prefix(struct tare_run_make *make, struct tare_run_int number, const char *words)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    double value = (double)number.value;
    size_t i = 0;
    if (!number.known)
        return NULL;
    for (; value >= 1000 && i + 1 < sizeof prefixes / sizeof prefixes[0]; i++)
        value /= 1000;
    return i ? tare_arena_printf(make->arena, "%s %s%s", tare_run_number(make->arena, value), prefixes[i],
                                 words)
             : tare_arena_printf(make->arena, "%" PRId64 " %s", number.value, words);
}

static void machine_words(struct tare_run_make *make, struct tare_buf *buf)
{
    const struct tare_machine *machine = make->run->machine;
    if (!machine)
        return;
    join(buf, machine->cpu_model);
    if (machine->cpu_affinity > 0)
        join(buf, tare_arena_printf(make->arena, "%" PRId64 " CPUs", machine->cpu_affinity));
    if (machine->cgroup_cpus > 0)
        join(buf, tare_arena_printf(make->arena, "quota %g", machine->cgroup_cpus));
    if (machine->kernel_release)
        join(buf, tare_arena_printf(make->arena, "Linux %s", machine->kernel_release));
}

void tare_run_make_lines(struct tare_run_make *make)
{
    const struct tare_run_model *model = &make->run->model;
    const struct tare_run_engine *engine = &make->run->engine;
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 16);
    join(&buf, engine->device);
    machine_words(make, &buf);
    make->rows->machine = joined(make, &buf);
    join(&buf, model->name ? model->name : model->path);
    join(&buf, with_prefix(make, model->size_bytes, "B on disk"));
    join(&buf, with_prefix(make, model->parameters, " parameters"));
    join(&buf, with_prefix(make, model->macs, "MACs per item"));
    make->rows->model = joined(make, &buf);
    if (engine->name)
        tare_buf_printf(&buf, "%s%s%s", engine->name, engine->version ? " " : "",
                        engine->version ? engine->version : "");
    join(&buf, engine->provider);
    make->rows->engine = joined(make, &buf);
    for (size_t i = 0; i < make->columns.count; i++)
        if (!tare_run_make_column(&make->columns.items[i]))
            tare_buf_printf(&buf, "%s%s=%s", buf.length ? " " : "", make->columns.items[i].name,
                            tare_run_make_key(make, &make->columns.items[i], 0));
    make->rows->constant = joined(make, &buf);
    tare_buf_finish(&buf);
}

static void remark(struct tare_run_make *make, const char *text)
{
    struct tare_run_rows *rows = make->rows;
    rows->remarks[rows->remarks_count++] = text;
}

/* One sentence for all that are: their rows say which. */
static void undecided_remark(struct tare_run_make *make)
{
    const struct tare_run *run = make->run;
    const char *names = "";
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        if (config->status == TARE_RUN_MEASURED && config->decided.known && !config->decided.value)
            names = tare_arena_printf(make->arena, "%s%s%s", names, *names ? "; " : "",
                                      tare_run_make_name(make, i));
    }
    if (*names)
        remark(make,
               tare_arena_printf(make->arena,
                                 "Undecided, because it ended before the median was sure enough: %s", names));
}

void tare_run_make_remarks(struct tare_run_make *make)
{
    const struct tare_run *run = make->run;
    make->rows->remarks = tare_arena_array(
        make->arena, 2 + run->configs_count + run->findings_count + run->advice_count + run->notes_count,
        sizeof *make->rows->remarks);
    if (!make->rows->remarks)
        return;
    if (run->configs_count == 0)
        remark(make, "It holds no configuration.");
    for (size_t i = 0; i < run->configs_count; i++) {
        const struct tare_run_config *config = &run->configs[i];
        const char *why = config->reason ? config->reason : "no reason given";
        if (config->status == TARE_RUN_NOT_MEASURED)
            remark(make,
                   tare_arena_printf(make->arena, "Not measured: %s: %s", tare_run_make_name(make, i), why));
        else if (config->status == TARE_RUN_UNSTABLE)
            remark(make,
                   tare_arena_printf(make->arena, "Unstable: %s: %s", tare_run_make_name(make, i), why));
    }
    undecided_remark(make);
    for (size_t i = 0; i < run->findings_count; i++) {
        bool limit = strcmp(run->findings[i].kind, "bottleneck") == 0;
        remark(make,
               tare_arena_printf(make->arena, "%s%s", limit ? "Bottleneck: " : "", run->findings[i].text));
    }
    for (size_t i = 0; i < run->advice_count; i++) {
        const struct tare_run_advice *advice = &run->advice[i];
        const char *how = "Not tried";
        if (advice->tried.known && advice->tried.value)
            how = !advice->helped.known ? "Tried" : advice->helped.value ? "Do" : "Tried, did not help";
        const char *gain = "";
        if (advice->gain.value.known)
            gain = tare_arena_printf(make->arena, " (%s)", tare_run_cell(make->arena, &advice->gain, 1, "x"));
        remark(make, tare_arena_printf(make->arena, "%s: %s%s", how, advice->text, gain));
    }
    for (size_t i = 0; i < run->notes_count; i++)
        remark(make, tare_arena_printf(make->arena, "Note: %s", run->notes[i]));
}
