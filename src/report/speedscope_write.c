/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope's own JSON: one sampled profile per thread and column, in which every context with a value of
 * its own is one sample. The view's column alone if it names one, else all of them, with the main one shown
 * first. Values below zero cannot be drawn; they are left out, and the profile's name says so.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "core/pairs.h"
#include "report/report.h"
#include "report/stacks.h"

/* Frames in all stacks together: beyond this no browser opens the file. */
#define ENTRIES_MAX ((uint64_t)200 << 20)

struct speedscope {
    const struct tare_stacks *stacks;
    struct tare_json json;
    uint32_t *stack; /* frames from the root to where the walk is */
    uint32_t stack_size;
    uint64_t entries;
    uint32_t profiles; /* written so far */
};

/* Walk one child of node 0 and all below it. */
static struct tare_walk walk_below(const struct tare_stacks *stacks, uint32_t node)
{
    return (struct tare_walk){.tree = &stacks->tree, .node = node, .depth = 1};
}

static bool walk_step(struct tare_walk *walk, uint32_t top)
{
    if (!walk->started) {
        walk->started = walk->entering = true;
        return true;
    }
    if (walk->node == top && !walk->entering)
        return false;
    return tare_walk_next(walk);
}

static bool is_thread(const struct tare_stacks *stacks, uint32_t node)
{
    return tare_stacks_frame(stacks, node)->kind == TARE_FRAME_ROOT;
}

/* What a pass over the samples of a thread does with them. */
enum pass { PASS_SUM, PASS_SAMPLES, PASS_WEIGHTS };

struct sums {
    uint64_t weight;
    uint64_t entries;
    bool negative;
};

static int push_frame(struct speedscope *speedscope, uint32_t depth, uint32_t frame, struct tare_error *err)
{
    if (depth >= speedscope->stack_size) {
        uint32_t size = speedscope->stack_size ? 2 * speedscope->stack_size : 256;
        while (size <= depth)
            size *= 2;
        uint32_t *stack = realloc(speedscope->stack, size * sizeof *stack);
        if (!stack)
            return tare_fail_memory(err);
        speedscope->stack = stack;
        speedscope->stack_size = size;
    }
    speedscope->stack[depth] = frame;
    return 0;
}

/* One context: the frames stack[from] up to stack[to], and its own value. */
static void pass_context(struct speedscope *speedscope, uint32_t from, uint32_t to, int64_t value,
                         enum pass pass, struct sums *sums)
{
    struct tare_json *json = &speedscope->json;
    if (value < 0)
        sums->negative = true;
    if (value <= 0)
        return;
    if (pass == PASS_SUM) {
        if (__builtin_add_overflow(sums->weight, (uint64_t)value, &sums->weight))
            sums->weight = UINT64_MAX;
        sums->entries += to - from;
    } else if (pass == PASS_WEIGHTS) {
        tare_json_int(json, value);
    } else {
        tare_json_row(json);
        for (uint32_t i = from; i < to; i++)
            tare_json_uint(json, speedscope->stack[i]);
        tare_json_end(json);
    }
}

static int pass_below(struct speedscope *speedscope, uint32_t top, uint32_t column, enum pass pass,
                      struct sums *sums, struct tare_error *err)
{
    const struct tare_profile *profile = speedscope->stacks->profile;
    uint32_t from = is_thread(speedscope->stacks, top) ? 1 : 0; /* a thread is no frame */
    struct tare_walk walk = walk_below(speedscope->stacks, top);
    while (walk_step(&walk, top)) {
        if (!walk.entering)
            continue;
        uint32_t frame = tare_profile_node_at(profile, walk.node)->frame;
        if (push_frame(speedscope, walk.depth - 1, frame, err) < 0)
            return -1;
        pass_context(speedscope, from, walk.depth, tare_profile_values(profile, walk.node)[column], pass,
                     sums);
    }
    return 0;
}

/* The samples of one thread, or (TARE_NONE) of all that belong to none. */
static int pass_thread(struct speedscope *speedscope, uint32_t thread, uint32_t column, enum pass pass,
                       struct sums *sums, struct tare_error *err)
{
    const struct tare_tree *tree = &speedscope->stacks->tree;
    if (thread != TARE_NONE)
        return pass_below(speedscope, thread, column, pass, sums, err);
    /* What has no stack at all is a sample without frames. */
    pass_context(speedscope, 0, 0, tare_profile_values(speedscope->stacks->profile, 0)[column], pass, sums);
    for (uint32_t i = tree->first[0]; i < tree->first[1]; i++)
        if (!is_thread(speedscope->stacks, tree->children[i]) &&
            pass_below(speedscope, tree->children[i], column, pass, sums, err) < 0)
            return -1;
    return 0;
}

static const char *speedscope_unit(const char *unit)
{
    static const char *const known[] = {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(unit, known[i]) == 0)
            return known[i];
    return "none";
}

static void write_name(struct speedscope *speedscope, uint32_t thread, uint32_t column, bool negative)
{
    const struct tare_stacks *stacks = speedscope->stacks;
    struct tare_buf name;
    tare_buf_init(&name, 1 << 16);
    if (thread != TARE_NONE) {
        uint32_t text = tare_stacks_frame(stacks, thread)->name;
        tare_buf_add(&name, tare_profile_text(stacks->profile, text),
                     tare_profile_text_length(stacks->profile, text));
        tare_buf_add_text(&name, ": ");
    }
    tare_buf_add_text(&name, tare_profile_column_name(stacks->profile, column));
    if (tare_stacks_estimated(stacks))
        tare_buf_add_text(&name, ", " TARE_PAIRS_ESTIMATED);
    if (negative)
        tare_buf_add_text(&name, ", values below zero left out");
    tare_json_key(&speedscope->json, "name");
    tare_json_span(&speedscope->json, name.data, name.length);
    tare_buf_finish(&name);
}

static int write_profile(struct speedscope *speedscope, uint32_t thread, uint32_t column, bool always,
                         struct tare_error *err)
{
    struct tare_json *json = &speedscope->json;
    struct sums sums = {0};
    if (pass_thread(speedscope, thread, column, PASS_SUM, &sums, err) < 0)
        return -1;
    if (sums.weight == 0 && !always)
        return 0;
    speedscope->entries += sums.entries;
    if (speedscope->entries > ENTRIES_MAX)
        return tare_fail(err, TARE_E_LIMIT, 0,
                         "the profile is too large for speedscope (more than %" PRIu64
                         " frames in its stacks): choose one column, or write pprof",
                         ENTRIES_MAX);
    tare_json_object(json);
    tare_json_put_text(json, "type", "sampled");
    write_name(speedscope, thread, column, sums.negative);
    tare_json_put_text(json, "unit",
                       speedscope_unit(tare_profile_column_unit(speedscope->stacks->profile, column)));
    tare_json_put_uint(json, "startValue", 0);
    tare_json_put_uint(json, "endValue", sums.weight);
    tare_json_key(json, "samples");
    tare_json_array(json);
    int rc = pass_thread(speedscope, thread, column, PASS_SAMPLES, &sums, err);
    tare_json_end(json);
    tare_json_key(json, "weights");
    tare_json_row(json);
    if (rc == 0)
        rc = pass_thread(speedscope, thread, column, PASS_WEIGHTS, &sums, err);
    tare_json_end(json);
    tare_json_end(json);
    speedscope->profiles++;
    return rc;
}

static int write_column(struct speedscope *speedscope, uint32_t column, struct tare_error *err)
{
    const struct tare_tree *tree = &speedscope->stacks->tree;
    bool threads = false;
    for (uint32_t i = tree->first[0]; i < tree->first[1]; i++) {
        if (!is_thread(speedscope->stacks, tree->children[i]))
            continue;
        threads = true;
        if (write_profile(speedscope, tree->children[i], column, false, err) < 0)
            return -1;
    }
    return write_profile(speedscope, TARE_NONE, column, !threads, err);
}

static void write_frames(struct speedscope *speedscope)
{
    const struct tare_profile *profile = speedscope->stacks->profile;
    struct tare_json *json = &speedscope->json;
    tare_json_key(json, "shared");
    tare_json_object(json);
    tare_json_key(json, "frames");
    tare_json_array(json);
    for (uint32_t f = 0; f < tare_profile_frames(profile); f++) {
        const struct tare_frame *frame = tare_profile_frame_at(profile, f);
        uint32_t file = frame->file ? frame->file : frame->module;
        tare_json_record(json);
        tare_json_key(json, "name");
        tare_json_span(json, tare_profile_text(profile, frame->name),
                       tare_profile_text_length(profile, frame->name));
        if (file) {
            tare_json_key(json, "file");
            tare_json_span(json, tare_profile_text(profile, file), tare_profile_text_length(profile, file));
        }
        if (file && frame->first_line)
            tare_json_put_uint(json, "line", frame->first_line);
        tare_json_end(json);
    }
    tare_json_end(json);
    tare_json_end(json);
}

static int write_all(struct speedscope *speedscope, const struct tare_view *view, struct tare_error *err)
{
    const struct tare_stacks *stacks = speedscope->stacks;
    struct tare_json *json = &speedscope->json;
    uint32_t active = 0;
    int rc = 0;
    tare_json_object(json);
    tare_json_put_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    tare_json_put_text(json, "exporter", "tare " TARE_VERSION);
    tare_json_put_text(json, "name", view->title ? view->title : "tare");
    write_frames(speedscope);
    tare_json_key(json, "profiles");
    tare_json_array(json);
    for (uint32_t c = 0; c < tare_profile_columns(stacks->profile) && rc == 0; c++) {
        if (view->column && c != stacks->column && c != stacks->base)
            continue;
        if (c == stacks->column)
            active = speedscope->profiles;
        rc = write_column(speedscope, c, err);
    }
    tare_json_end(json);
    tare_json_put_uint(json, "activeProfileIndex", active);
    tare_json_end(json);
    tare_out_add(json->out, "\n", 1);
    return rc;
}

static void speedscope_write(const struct tare_profile *profile, const struct tare_view *view,
                             struct tare_out *out)
{
    struct tare_stacks stacks;
    struct tare_error err;
    if (tare_stacks_init(&stacks, profile, view, false, &err) < 0) {
        tare_out_fail(out, &err);
        return;
    }
    struct speedscope speedscope = {.stacks = &stacks};
    tare_json_init(&speedscope.json, out, 1);
    if (write_all(&speedscope, view, &err) < 0)
        tare_out_fail(out, &err);
    free(speedscope.stack);
    tare_stacks_finish(&stacks);
}

const struct tare_writer tare_writer_speedscope = {
    .name = "speedscope",
    .extensions = ".speedscope.json",
    .summary = "speedscope JSON, for speedscope.app",
    .write = speedscope_write,
};
