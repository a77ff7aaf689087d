/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the estimate is made. Functions are the corners of a graph and pairs its edges; a call from nowhere is
 * an edge too. A search from the functions called from nowhere finds the edges that close a cycle; without
 * them the graph has an order. Each context of an edge holds a share of that edge, and all shares of an edge
 * add up to 1: the contexts of a function's calls are the contexts of the function, weighed by the edge that
 * each came in by. So a context's time is its share of its edge's time, and nothing is lost.
 *
 * Contexts are opened heaviest first, from a heap, until the tree is full.
 */
#include "core/pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/functions.h"

/* An edge; those of functions called from nowhere stand behind those of pairs. */
struct edge {
    uint32_t callee;
    bool back;        /* closes a cycle: shown, not followed */
    double passes_on; /* of the callee's shares, how much come in by this edge */
    double shared;    /* shares handed out so far */
    double self;      /* nanoseconds */
    int64_t calls;
    int64_t gave_self, gave_calls; /* handed out so far */
};

/* A context that waits to be opened. */
struct waiting {
    double weight; /* time below it */
    double share;  /* of its function's calls */
    uint32_t node, function, depth;
};

struct estimate {
    struct tare_functions functions;
    struct edge *edges;      /* pair_count, then one per function */
    uint32_t *calls, *first; /* pairs grouped by caller */
    uint32_t *order;         /* functions, every one behind those it calls */
    double *below;           /* per function: the time of all it calls, edge by edge */
    struct waiting *heap;
    uint32_t heap_count, heap_room;
    struct tare_profile *tree;
    uint32_t *frames; /* per function, in the tree */
    uint32_t column_calls, column_self;
    double cut; /* time below contexts that were not opened */
    int64_t gave_cut;
};

static void estimate_finish(struct estimate *estimate)
{
    tare_functions_finish(&estimate->functions);
    free(estimate->edges);
    free(estimate->calls);
    free(estimate->first);
    free(estimate->order);
    free(estimate->below);
    free(estimate->heap);
    free(estimate->frames);
    tare_profile_destroy(estimate->tree);
}

static int estimate_allocate(struct estimate *estimate, struct tare_error *err)
{
    size_t count = estimate->functions.count, pairs = estimate->functions.pair_count;
    estimate->edges = calloc(pairs + count + 1, sizeof *estimate->edges);
    estimate->calls = malloc((pairs + 1) * sizeof *estimate->calls);
    estimate->first = calloc(count + 2, sizeof *estimate->first);
    estimate->order = malloc((count + 1) * sizeof *estimate->order);
    estimate->below = calloc(count + 1, sizeof *estimate->below);
    estimate->frames = malloc((count + 1) * sizeof *estimate->frames);
    if (!estimate->edges || !estimate->calls || !estimate->first || !estimate->order || !estimate->below ||
        !estimate->frames)
        return tare_fail_memory(err);
    return 0;
}

static void group_by_caller(struct estimate *estimate)
{
    const struct tare_functions *functions = &estimate->functions;
    for (uint32_t i = 0; i < functions->pair_count; i++)
        estimate->first[functions->pairs[i].caller + 2]++;
    for (uint32_t i = 0; i < functions->count; i++)
        estimate->first[i + 1] += estimate->first[i];
    for (uint32_t i = 0; i < functions->pair_count; i++)
        estimate->calls[estimate->first[functions->pairs[i].caller + 1]++] = i;
}

/* Calls that no pair explains. */
static int64_t calls_from_nowhere(const struct tare_functions *functions, uint32_t function)
{
    int64_t calls = functions->items[function].figures.calls;
    for (uint32_t i = functions->first[function]; i < functions->first[function + 1]; i++)
        if (__builtin_sub_overflow(calls, functions->pairs[functions->callers[i]].figures.calls, &calls))
            return 0;
    return calls;
}

struct start {
    int64_t total;
    uint32_t function;
    bool nowhere;
};

static int start_order(const void *left, const void *right)
{
    const struct start *a = left, *b = right;
    if (a->nowhere != b->nowhere)
        return a->nowhere ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->function < b->function ? -1 : 1;
}

/* Search depth first from start: edges into a function that is still open close a cycle. The functions are
 * put in order as they are left. state: 0 new, 1 open, 2 left. */
static uint32_t search(struct estimate *estimate, uint32_t start, uint8_t *state, uint32_t *stack,
                       uint32_t *next, uint32_t ordered)
{
    uint32_t depth = 0;
    stack[0] = start;
    next[start] = estimate->first[start];
    state[start] = 1;
    for (;;) {
        uint32_t at = stack[depth];
        if (next[at] < estimate->first[at + 1]) {
            uint32_t edge = estimate->calls[next[at]++];
            uint32_t callee = estimate->functions.pairs[edge].callee;
            if (state[callee] == 1) {
                estimate->edges[edge].back = true;
            } else if (state[callee] == 0) {
                state[callee] = 1;
                next[callee] = estimate->first[callee];
                stack[++depth] = callee;
            }
            continue;
        }
        state[at] = 2;
        estimate->order[ordered++] = at;
        if (depth-- == 0)
            return ordered;
    }
}

/* Find the edges that close cycles, and the order of functions without them. */
static int find_order(struct estimate *estimate, struct tare_error *err)
{
    const struct tare_functions *functions = &estimate->functions;
    size_t count = functions->count;
    int rc = -1;
    struct start *starts = malloc((count + 1) * sizeof *starts);
    uint8_t *state = calloc(count + 1, sizeof *state);
    uint32_t *stack = malloc((count + 1) * sizeof *stack);
    uint32_t *next = malloc((count + 1) * sizeof *next);
    if (!starts || !state || !stack || !next) {
        rc = tare_fail_memory(err);
        goto out;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool nowhere = functions->first[i] == functions->first[i + 1] || calls_from_nowhere(functions, i) > 0;
        starts[i] = (struct start){functions->items[i].figures.total, i, nowhere};
    }
    qsort(starts, count, sizeof *starts, start_order);
    uint32_t ordered = 0;
    for (size_t i = 0; i < count; i++)
        if (state[starts[i].function] == 0)
            ordered = search(estimate, starts[i].function, state, stack, next, ordered);
    rc = 0;
out:
    free(starts);
    free(state);
    free(stack);
    free(next);
    return rc;
}

static double positive(int64_t value)
{
    return value > 0 ? (double)value : 0;
}

/* Divide a function's time and contexts among the edges that lead to it. */
static void divide(struct estimate *estimate, uint32_t function)
{
    const struct tare_functions *functions = &estimate->functions;
    const struct tare_figures *own = &functions->items[function].figures;
    struct edge *nowhere = &estimate->edges[functions->pair_count + function];
    uint32_t begin = functions->first[function], end = functions->first[function + 1];
    double total = 0, calls = 0, self = 0;
    uint32_t followed = 0;
    for (uint32_t i = begin; i < end; i++) {
        uint32_t pair = functions->callers[i];
        const struct tare_figures *figures = &functions->pairs[pair].figures;
        estimate->edges[pair].callee = function;
        estimate->edges[pair].calls = figures->calls > 0 ? figures->calls : 0;
        estimate->edges[pair].self = positive(figures->self);
        self += positive(figures->self);
        if (!estimate->edges[pair].back) {
            total += positive(figures->total);
            calls += positive(figures->calls);
            followed++;
        }
    }
    int64_t from_nowhere = calls_from_nowhere(functions, function);
    bool root = followed == 0 || from_nowhere > 0;
    double rest_self = positive(own->self) - self;
    nowhere->callee = function;
    nowhere->calls = from_nowhere > 0 ? from_nowhere : 0;
    nowhere->self = root && rest_self > 0 ? rest_self : 0;
    double rest_total = root && (double)own->total > total ? (double)own->total - total : 0;

    /* Weigh by time; where none was measured by calls; where none were counted, evenly. */
    double all_total = total + rest_total, all_calls = calls + (double)nowhere->calls;
    for (uint32_t i = begin; i <= end; i++) {
        bool last = i == end;
        uint32_t pair = last ? functions->pair_count + function : functions->callers[i];
        struct edge *edge = &estimate->edges[pair];
        if (last ? !root : edge->back)
            continue;
        const struct tare_figures *figures = last ? own : &functions->pairs[pair].figures;
        if (all_total > 0)
            edge->passes_on = (last ? rest_total : positive(figures->total)) / all_total;
        else if (all_calls > 0)
            edge->passes_on = (double)edge->calls / all_calls;
        else
            edge->passes_on = 1.0 / (followed + (root ? 1 : 0));
    }
    /* The edges' times must add up to the function's, whatever the file says. */
    double missing = positive(own->self) - self - nowhere->self;
    if (missing == 0)
        return;
    for (uint32_t i = begin; i <= end; i++) {
        struct edge *edge =
            &estimate->edges[i == end ? functions->pair_count + function : functions->callers[i]];
        if (self > 0)
            edge->self *= 1 + missing / self;
        else
            edge->self += missing * edge->passes_on;
    }
}

/* The time below each function: callees come before callers in the order. */
static void sum_below(struct estimate *estimate)
{
    for (uint32_t i = 0; i < estimate->functions.count; i++) {
        uint32_t function = estimate->order[i];
        for (uint32_t k = estimate->first[function]; k < estimate->first[function + 1]; k++) {
            const struct edge *edge = &estimate->edges[estimate->calls[k]];
            estimate->below[function] +=
                edge->self + (edge->back ? 0 : edge->passes_on * estimate->below[edge->callee]);
        }
    }
}

static bool heavier(const struct waiting *a, const struct waiting *b)
{
    return a->weight != b->weight ? a->weight > b->weight : a->node < b->node;
}

static int heap_push(struct estimate *estimate, const struct waiting *waiting, struct tare_error *err)
{
    if (estimate->heap_count == estimate->heap_room) {
        uint32_t room = estimate->heap_room ? estimate->heap_room * 2 : 256;
        struct waiting *moved = realloc(estimate->heap, room * sizeof *moved);
        if (!moved)
            return tare_fail_memory(err);
        estimate->heap = moved;
        estimate->heap_room = room;
    }
    uint32_t at = estimate->heap_count++;
    while (at && heavier(waiting, &estimate->heap[(at - 1) / 2])) {
        estimate->heap[at] = estimate->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    estimate->heap[at] = *waiting;
    return 0;
}

static struct waiting heap_pop(struct estimate *estimate)
{
    struct waiting *heap = estimate->heap, top = heap[0], last = heap[--estimate->heap_count];
    uint32_t at = 0, count = estimate->heap_count;
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heavier(&heap[child + 1], &heap[child]))
            child++;
        if (!heavier(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

/* The part of an amount that is due when shared of it has been handed out. Rounding the sum and not the parts
 * keeps the parts adding up. */
static int64_t due(double shared, double amount, int64_t *gave)
{
    double sum = round((shared < 1 ? shared : 1) * amount);
    int64_t whole = sum < 9.2e18 ? (int64_t)sum : INT64_MAX;
    int64_t part = whole > *gave ? whole - *gave : 0;
    *gave += part;
    return part;
}

/* Add a context of an edge under parent, and have it wait if there is something below it. */
static int add_context(struct estimate *estimate, uint32_t index, uint32_t parent, double share,
                       uint32_t depth, struct tare_error *err)
{
    struct edge *edge = &estimate->edges[index];
    uint32_t function = edge->callee;
    uint32_t node = tare_profile_child(estimate->tree, parent, estimate->frames[function], 0);
    edge->shared += share;
    /* Shares add up to 1 but for the last digits; what those are worth goes to the last context. */
    if (edge->shared > 1 - 1e-9)
        edge->shared = 1;
    tare_profile_add(estimate->tree, node, estimate->column_self,
                     due(edge->shared, edge->self, &edge->gave_self));
    tare_profile_add(estimate->tree, node, estimate->column_calls,
                     due(edge->shared, (double)edge->calls, &edge->gave_calls));
    if (edge->back || estimate->first[function] == estimate->first[function + 1])
        return 0;
    struct waiting waiting = {
        .share = share * edge->passes_on, .node = node, .function = function, .depth = depth};
    waiting.weight = waiting.share * estimate->below[function];
    return waiting.share > 0 ? heap_push(estimate, &waiting, err) : 0;
}

/* Sum up what is below a context that is not opened. */
static void cut_context(struct estimate *estimate, const struct waiting *waiting)
{
    estimate->cut += waiting->weight;
    double sum = round(estimate->cut);
    int64_t part = (sum < 9.2e18 ? (int64_t)sum : INT64_MAX) - estimate->gave_cut;
    if (part <= 0)
        return;
    uint32_t frame = tare_profile_function(estimate->tree, TARE_FRAME_MARK, "<truncated>", "", 0);
    uint32_t node = tare_profile_child(estimate->tree, waiting->node, frame, 0);
    tare_profile_add(estimate->tree, node, estimate->column_self, part);
    estimate->gave_cut += part;
}

static int grow_tree(struct estimate *estimate, uint32_t max_nodes, struct tare_error *err)
{
    const struct tare_functions *functions = &estimate->functions;
    uint32_t cut = 0;
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct edge *nowhere = &estimate->edges[functions->pair_count + i];
        if ((nowhere->passes_on > 0 || nowhere->self > 0 || nowhere->calls > 0) &&
            add_context(estimate, functions->pair_count + i, 0, 1, 1, err) < 0)
            return -1;
    }
    while (estimate->heap_count) {
        struct waiting waiting = heap_pop(estimate);
        uint32_t begin = estimate->first[waiting.function], end = estimate->first[waiting.function + 1];
        /* A context that is not opened still needs one node. */
        uint64_t needed =
            (uint64_t)tare_profile_nodes(estimate->tree) + estimate->heap_count + (end - begin) * 2;
        if (waiting.depth >= TARE_PAIRS_DEPTH || needed > max_nodes) {
            cut_context(estimate, &waiting);
            cut++;
            continue;
        }
        for (uint32_t k = begin; k < end; k++)
            if (add_context(estimate, estimate->calls[k], waiting.node, waiting.share, waiting.depth + 1,
                            err) < 0)
                return -1;
    }
    if (cut)
        tare_profile_note(estimate->tree, "%u estimated stacks were cut short", cut);
    return tare_profile_check(estimate->tree, err);
}

/* What is known of the whole, and the frames, in the tree's own strings. */
static void copy_frames(struct estimate *estimate)
{
    const struct tare_profile *from = estimate->functions.profile;
    const struct tare_profile_meta *old = tare_profile_meta_const(from);
    struct tare_profile *to = estimate->tree;
    for (uint32_t i = 0; i < estimate->functions.count; i++) {
        const struct tare_function *item = &estimate->functions.items[i];
        const struct tare_frame *frame = tare_profile_frame_at(from, item->frame);
        struct tare_frame copy = {.kind = frame->kind, .first_line = item->line};
        copy.name = tare_profile_string(to, item->name, item->name_length);
        copy.file = tare_profile_string(to, item->file, item->file_length);
        estimate->frames[i] = tare_profile_frame(to, &copy);
    }
    for (uint32_t i = 0; i < tare_profile_comments(from); i++) {
        uint32_t text = tare_profile_comment_at(from, i);
        tare_profile_add_comment(to, tare_profile_text(from, text), tare_profile_text_length(from, text));
    }
    struct tare_profile_meta *meta = tare_profile_meta(to);
    meta->time_ns = old->time_ns;
    meta->duration_ns = old->duration_ns;
    meta->kind = TARE_PROFILE_TREE;
    meta->estimated = 1;
}

int tare_pairs_estimate(const struct tare_profile *pairs, uint32_t max_nodes, struct tare_profile **ret_tree,
                        struct tare_error *err)
{
    struct estimate estimate = {0};
    int rc = -1;
    if (tare_profile_meta_const(pairs)->kind != TARE_PROFILE_PAIRS) {
        rc = tare_fail(err, TARE_E_USAGE, 0, "the profile does not hold caller pairs");
        goto out;
    }
    if (tare_functions_init(&estimate.functions, pairs, TARE_NONE, false, err) < 0 ||
        estimate_allocate(&estimate, err) < 0 || tare_profile_create(0, &estimate.tree, err) < 0)
        goto out;
    estimate.column_calls = tare_profile_add_column(estimate.tree, "calls", "count");
    estimate.column_self = tare_profile_add_column(
        estimate.tree, "tottime", tare_profile_column_unit(pairs, estimate.functions.column));
    copy_frames(&estimate);
    group_by_caller(&estimate);
    if (find_order(&estimate, err) < 0)
        goto out;
    for (uint32_t i = 0; i < estimate.functions.count; i++)
        divide(&estimate, i);
    sum_below(&estimate);
    if (grow_tree(&estimate, max_nodes ? max_nodes : TARE_PAIRS_NODES, err) < 0)
        goto out;
    *ret_tree = estimate.tree;
    estimate.tree = NULL;
    rc = 0;
out:
    estimate_finish(&estimate);
    return rc;
}
