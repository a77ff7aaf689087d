/* SPDX-License-Identifier: Apache-2.0 */
#include "report/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "core/diff.h"
#include "core/pairs.h"
#include "core/reframe.h"

enum {
    NAME_BYTES = 4096,
    ESTIMATE_NODES = 20000, /* a guess need not be finer than a picture can show */
};

/* Does a label say which thread this is, and not what it was doing? */
static bool names_a_thread(const char *key)
{
    static const char *const keys[] = {"process",   "pid",         "process_name", "thread", "tid",
                                       "thread_id", "thread_name", "thread name",  "rank",   "worker"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

/* "process 12, thread MainThread": the part of a set of labels that names the thread; empty if none does. */
static void thread_name(const struct tare_profile *profile, uint32_t set, struct tare_buf *name)
{
    size_t count;
    const struct tare_label *labels = tare_profile_labels_at(profile, set, &count);
    tare_buf_clear(name);
    for (size_t i = 0; i < count; i++) {
        const char *key = tare_profile_text(profile, labels[i].key);
        if (!names_a_thread(key))
            continue;
        tare_buf_printf(name, "%s%s ", name->length ? ", " : "", key);
        if (labels[i].numeric)
            tare_buf_printf(name, "%" PRId64, labels[i].number);
        else
            tare_buf_add_text(name, tare_profile_text(profile, labels[i].text));
    }
}

/* Do the roots have at least two different names? */
static bool has_threads(const struct tare_profile *profile, struct tare_buf *name, struct tare_buf *first)
{
    bool found = false;
    for (uint32_t f = 0; f < tare_profile_frames(profile); f++) {
        const struct tare_frame *frame = tare_profile_frame_at(profile, f);
        if (frame->kind != TARE_FRAME_ROOT)
            continue;
        thread_name(profile, frame->labels, name);
        if (found && strcmp(name->data, first->data) != 0)
            return true;
        if (!found)
            tare_buf_add(first, name->data, name->length);
        found = true;
    }
    return false;
}

/* The frame that a root becomes; TARE_NONE: none. */
static uint32_t root_frame(struct tare_profile *to, const struct tare_profile *from,
                           const struct tare_frame *frame, struct tare_buf *name)
{
    thread_name(from, frame->labels, name);
    if (name->length == 0)
        return TARE_NONE;
    struct tare_label label = {.key = tare_profile_intern(to, "thread"),
                               .text = tare_profile_string(to, name->data, name->length)};
    struct tare_frame root = {.kind = TARE_FRAME_ROOT, .name = label.text};
    root.labels = tare_profile_labels(to, &label, 1);
    return tare_profile_frame(to, &root);
}

static uint32_t function_frame(struct tare_profile *to, const struct tare_profile *from,
                               const struct tare_frame *frame, bool strip_dirs)
{
    struct tare_frame copy = tare_reframe_copy(to, from, frame);
    const char *file = tare_profile_text(from, frame->file), *slash = strrchr(file, '/');
    copy.flags = 0;
    if (strip_dirs && slash)
        copy.file = tare_profile_intern(to, slash + 1);
    if (copy.qualname)
        copy.name = copy.qualname;
    copy.qualname = 0;
    if (strcmp(file, "~") == 0)
        copy.file = 0; /* cProfile's way to say that there is none */
    if (!copy.name && frame->address) {
        char address[24];
        int length = snprintf(address, sizeof address, "0x%" PRIx64, frame->address);
        copy.name = tare_profile_string(to, address, (size_t)length);
    } else if (!copy.name) {
        copy.name = tare_profile_intern(to, "[unknown]");
    }
    return tare_profile_frame(to, &copy);
}

/* Does a function's "file:line(name)" contain the text? */
static bool is_wanted(const struct tare_profile *profile, const struct tare_frame *frame, const char *text,
                      struct tare_buf *label)
{
    tare_buf_clear(label);
    tare_buf_printf(label, "%s:%" PRIu32 "(%s)", tare_profile_text(profile, frame->file), frame->first_line,
                    tare_profile_text(profile, frame->qualname ? frame->qualname : frame->name));
    return strstr(label->data, text) != NULL;
}

static uint32_t line_without_first_line(const struct tare_frame *frame, uint32_t line)
{
    return frame->first_line ? 0 : line;
}

static int simplify(struct tare_profile *to, const struct tare_profile *from, const struct tare_view *view,
                    bool keep_lines, struct tare_error *err)
{
    uint32_t frame_count = tare_profile_frames(from);
    uint32_t columns[TARE_COLUMNS_MAX];
    uint32_t *frames = malloc(((size_t)frame_count + 1) * sizeof *frames);
    bool *wanted = calloc((size_t)frame_count + 1, sizeof *wanted);
    struct tare_buf name, first;
    tare_buf_init(&name, NAME_BYTES);
    tare_buf_init(&first, NAME_BYTES);
    int rc = -1;
    if (!frames || !wanted) {
        tare_fail_memory(err);
        goto out;
    }
    for (uint32_t c = 0; c < tare_profile_columns(from); c++)
        columns[c] =
            tare_profile_add_column(to, tare_profile_column_name(from, c), tare_profile_column_unit(from, c));
    bool threads = has_threads(from, &name, &first);
    for (uint32_t f = 0; f < frame_count; f++) {
        const struct tare_frame *frame = tare_profile_frame_at(from, f);
        if (frame->kind != TARE_FRAME_ROOT)
            frames[f] = function_frame(to, from, frame, view->strip_dirs);
        else
            frames[f] = threads ? root_frame(to, from, frame, &name) : TARE_NONE;
        wanted[f] = view->match && is_wanted(from, frame, view->match, &name);
    }
    struct tare_reframe how = {
        .frames = frames,
        .columns = columns,
        .wanted = view->match ? wanted : NULL,
        .line = keep_lines ? line_without_first_line : NULL,
    };
    rc = tare_reframe(to, from, &how, err);
out:
    free(frames);
    free(wanted);
    tare_buf_finish(&name);
    tare_buf_finish(&first);
    return rc;
}

struct order {
    const struct tare_stacks *stacks;
    const int64_t *totals; /* NULL: by name alone */
};

static int compare_text(const struct tare_profile *profile, uint32_t a, uint32_t b)
{
    size_t a_length = tare_profile_text_length(profile, a), b_length = tare_profile_text_length(profile, b);
    int order = a == b ? 0
                       : memcmp(tare_profile_text(profile, a), tare_profile_text(profile, b),
                                a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_nodes(const void *a_pointer, const void *b_pointer, void *context)
{
    const struct order *order = context;
    const struct tare_profile *profile = order->stacks->profile;
    uint32_t a = *(const uint32_t *)a_pointer, b = *(const uint32_t *)b_pointer;
    if (order->totals && order->totals[a] != order->totals[b])
        return order->totals[a] < order->totals[b] ? 1 : -1;
    const struct tare_frame *fa = tare_stacks_frame(order->stacks, a);
    const struct tare_frame *fb = tare_stacks_frame(order->stacks, b);
    int by = compare_text(profile, fa->name, fb->name);
    if (by == 0)
        by = compare_text(profile, fa->file, fb->file);
    if (by == 0)
        by = compare_text(profile, fa->module, fb->module);
    if (by == 0)
        by = (fa->first_line > fb->first_line) - (fa->first_line < fb->first_line);
    if (by == 0) {
        uint32_t la = tare_profile_node_at(profile, a)->line, lb = tare_profile_node_at(profile, b)->line;
        by = (la > lb) - (la < lb);
    }
    return by ? by : (a > b) - (a < b);
}

void tare_stacks_sort(struct tare_stacks *stacks, const int64_t *totals)
{
    struct tare_tree *tree = &stacks->tree;
    struct order order = {.stacks = stacks, .totals = totals};
    for (uint32_t n = 0; n < tree->count; n++) {
        uint32_t first = tree->first[n], count = tree->first[n + 1] - first;
        if (count > 1)
            qsort_r(tree->children + first, count, sizeof *tree->children, compare_nodes, &order);
        for (uint32_t i = first; i < first + count; i++)
            tree->place[tree->children[i]] = i;
    }
}

/* The column of the prepared profile that the view asks for. */
static int choose_column(struct tare_stacks *stacks, const struct tare_profile *original,
                         const struct tare_view *view, struct tare_error *err)
{
    const struct tare_profile *profile = stacks->profile;
    struct tare_view asked = *view;
    /* With the times below it, a stack's tottime is its cumtime. */
    uint32_t kind = tare_profile_meta_const(original)->kind;
    if ((kind == TARE_PROFILE_PAIRS || kind == TARE_PROFILE_DIFF_PAIRS) && asked.column &&
        strcmp(asked.column, "cumtime") == 0)
        asked.column = "tottime";
    stacks->column = tare_view_column(&asked, profile, err);
    if (stacks->column == TARE_NONE)
        return -1;
    stacks->base = TARE_NONE;
    if (tare_profile_meta_const(profile)->kind == TARE_PROFILE_DIFF)
        stacks->base = tare_diff_base(profile, stacks->column);
    return 0;
}

int tare_stacks_init(struct tare_stacks *stacks, const struct tare_profile *profile,
                     const struct tare_view *view, bool keep_lines, struct tare_error *err)
{
    struct tare_stacks made = {0};
    struct tare_profile *estimate = NULL;
    const struct tare_profile *from = profile;
    uint32_t kind = tare_profile_meta_const(profile)->kind;
    int rc = -1;

    if (kind == TARE_PROFILE_PAIRS && tare_pairs_estimate(profile, ESTIMATE_NODES, &estimate, err) < 0)
        goto out;
    if (kind == TARE_PROFILE_DIFF_PAIRS && tare_diff_estimate(profile, ESTIMATE_NODES, &estimate, err) < 0)
        goto out;
    if (estimate)
        from = estimate;
    if (tare_profile_create(0, &made.profile, err) < 0 ||
        simplify(made.profile, from, view, keep_lines, err) < 0)
        goto out;
    const struct tare_profile_meta *said = tare_profile_meta_const(from);
    uint32_t column = tare_profile_intern(made.profile, tare_profile_text(from, said->default_column));
    struct tare_profile_meta *meta = tare_profile_meta(made.profile);
    meta->kind = said->kind;
    meta->estimated = said->estimated;
    meta->default_column = column;
    if (choose_column(&made, profile, view, err) < 0 || tare_profile_check(made.profile, err) < 0 ||
        tare_tree_init(&made.tree, made.profile, err) < 0)
        goto out;
    *stacks = made;
    tare_stacks_sort(stacks, NULL);
    rc = 0;
out:
    if (rc < 0)
        tare_profile_destroy(made.profile);
    tare_profile_destroy(estimate);
    return rc;
}

void tare_stacks_finish(struct tare_stacks *stacks)
{
    tare_tree_finish(&stacks->tree);
    tare_profile_destroy(stacks->profile);
    stacks->profile = NULL;
}

const struct tare_frame *tare_stacks_frame(const struct tare_stacks *stacks, uint32_t node)
{
    return tare_profile_frame_at(stacks->profile, tare_profile_node_at(stacks->profile, node)->frame);
}

bool tare_stacks_estimated(const struct tare_stacks *stacks)
{
    return tare_profile_meta_const(stacks->profile)->estimated;
}
