/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* More inputs or outputs than any operator that is counted needs the shapes of. */
enum { PLACES = 16 };

/* A node of the model, under the name that the profile gives it. */
struct node {
    const char *name;
    const struct tare_model_graph *graph;
    const struct tare_model_node *node;
    const struct tare_ort_node *seen; /* NULL: it did not run */
    size_t seen_index;
};

/* A value whose shape is known. */
struct value {
    const char *name;
    struct tare_ort_shape shape;
};

struct counting {
    const struct tare_model *model;
    const struct tare_ort_profile *profile;
    struct tare_arena scratch;
    struct node *nodes;
    size_t nodes_count;
    size_t *by_name; /* a table: number of a node + 1, 0 free */
    size_t by_name_mask;
    struct value *values; /* a table */
    size_t values_mask;
};

static size_t table_size(size_t count)
{
    size_t size = 4;
    while (size < 2 * count + 2)
        size *= 2;
    return size;
}

/* All nodes in the file's order. Constants are none to the runtime, so its numbers leave them out. */
static size_t gather(struct counting *counting, const struct tare_model_graph *graph, size_t count)
{
    size_t number = 0;
    for (size_t i = 0; i < graph->nodes_count; i++) {
        const struct tare_model_node *node = &graph->nodes[i];
        if (tare_model_node_is(node, "Constant"))
            continue;
        if (counting->nodes)
            counting->nodes[count] = (struct node){
                .name = *node->name ? node->name
                                    : tare_arena_printf(&counting->scratch, "%s_%zu", node->op, number),
                .graph = graph,
                .node = node,
            };
        number++;
        count++;
        for (size_t k = 0; k < node->attributes_count; k++)
            for (size_t j = 0; node->attributes[k].graphs && j < node->attributes[k].count; j++)
                count = gather(counting, &node->attributes[k].graphs[j], count);
    }
    return count;
}

static struct value *value_slot(const struct counting *counting, const char *name)
{
    size_t i = (size_t)tare_hash_bytes(name, strlen(name)) & counting->values_mask;
    while (counting->values[i].name && strcmp(counting->values[i].name, name) != 0)
        i = (i + 1) & counting->values_mask;
    return &counting->values[i];
}

static int prepare(struct counting *counting, size_t inputs_count, struct tare_error *err)
{
    struct tare_arena *arena = &counting->scratch;
    size_t count = gather(counting, &counting->model->graph, 0), values = inputs_count;
    counting->nodes = tare_arena_array(arena, count, sizeof *counting->nodes);
    if (!counting->nodes)
        return tare_arena_check(arena, err);
    counting->nodes_count = gather(counting, &counting->model->graph, 0);
    for (size_t i = 0; i < count; i++)
        values += counting->nodes[i].node->outputs_count;
    counting->by_name_mask = table_size(count) - 1;
    counting->by_name = tare_arena_array(arena, counting->by_name_mask + 1, sizeof *counting->by_name);
    counting->values_mask = table_size(values) - 1;
    counting->values = tare_arena_array(arena, counting->values_mask + 1, sizeof *counting->values);
    if (tare_arena_check(arena, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        const char *name = counting->nodes[i].name;
        size_t at = (size_t)tare_hash_bytes(name, strlen(name)) & counting->by_name_mask;
        while (counting->by_name[at])
            at = (at + 1) & counting->by_name_mask;
        counting->by_name[at] = i + 1;
    }
    return 0;
}

/* The first node of that name and operator that has not been seen; nodes may share a name. */
static struct node *find(const struct counting *counting, const char *name, const char *op)
{
    size_t at = (size_t)tare_hash_bytes(name, strlen(name)) & counting->by_name_mask;
    for (; counting->by_name[at]; at = (at + 1) & counting->by_name_mask) {
        struct node *node = &counting->nodes[counting->by_name[at] - 1];
        if (!node->seen && strcmp(node->name, name) == 0 && strcmp(node->node->op, op) == 0)
            return node;
    }
    return NULL;
}

static void note_value(struct counting *counting, const char *name, const struct tare_ort_shape *shape)
{
    if (*name && shape->ranked)
        *value_slot(counting, name) = (struct value){name, *shape};
}

/* Join the profile with the graph, and learn the shape of every value that a node made. */
static size_t join(struct counting *counting)
{
    size_t matched = 0;
    for (size_t i = 0; i < counting->profile->nodes_count; i++) {
        const struct tare_ort_node *seen = &counting->profile->nodes[i];
        struct node *node = find(counting, seen->name, seen->op);
        if (!node)
            continue;
        node->seen = seen;
        node->seen_index = i;
        matched++;
        /* Outputs that nobody wants are left out of the profile. */
        size_t next = 0;
        for (size_t k = 0; k < node->node->outputs_count && next < seen->outputs_count; k++)
            if (*node->node->outputs[k])
                note_value(counting, node->node->outputs[k], &seen->outputs[next++]);
    }
    return matched;
}

/* The shape of an input: of what made it, of a constant, or, where the profile names all, as it says. */
static struct tare_ort_shape shape_of(const struct counting *counting, const struct node *node, size_t i)
{
    const char *name = node->node->inputs[i];
    struct tare_ort_shape shape = {0};
    const struct value *value = value_slot(counting, name);
    if (value->name)
        return value->shape;
    const struct tare_model_tensor *tensor = tare_model_constant(node->graph, name);
    if (tensor && tensor->rank <= TARE_TENSOR_RANK_MAX) {
        shape = (struct tare_ort_shape){.element = tensor->element, .ranked = true, .rank = tensor->rank};
        for (size_t k = 0; k < tensor->rank; k++)
            shape.dims[k] = tensor->dims[k];
        return shape;
    }
    size_t present = 0, place = 0;
    for (size_t k = 0; k < node->node->inputs_count; k++) {
        if (k == i)
            place = present;
        present += *node->node->inputs[k] != '\0';
    }
    if (*name && present == node->seen->inputs_count)
        shape = node->seen->inputs[place];
    return shape;
}

static struct tare_op_cost cost_of(const struct counting *counting, const struct node *node)
{
    struct tare_ort_shape inputs[PLACES] = {0}, outputs[PLACES] = {0};
    struct tare_model_node cut = *node->node;
    if (!node->seen)
        return (struct tare_op_cost){.counted = TARE_OP_NOT_RUN};
    cut.inputs_count = cut.inputs_count < PLACES ? cut.inputs_count : PLACES;
    cut.outputs_count = cut.outputs_count < PLACES ? cut.outputs_count : PLACES;
    for (size_t i = 0; i < cut.inputs_count; i++)
        inputs[i] = shape_of(counting, node, i);
    for (size_t i = 0; i < cut.outputs_count; i++) {
        const struct value *value = value_slot(counting, cut.outputs[i]);
        if (value->name)
            outputs[i] = value->shape;
    }
    struct tare_op_view view = {.node = &cut, .inputs = inputs, .outputs = outputs};
    struct tare_op_cost cost = tare_op_cost(&view);
    /* The bodies of loops run more than once, a branch perhaps not in every call. */
    double runs =
        (double)node->seen->calls / (double)(counting->profile->calls ? counting->profile->calls : 1);
    double scaled = (double)cost.macs * runs, others = (double)cost.elementwise * runs;
    if (runs > 1 && scaled < 0x1p62 && others < 0x1p62) {
        int64_t times = (int64_t)(runs + 0.5);
        cost.macs *= times;
        cost.elementwise *= times;
    }
    return cost;
}

/* What one operator comes to. */
struct sum {
    const char *op;
    bool contraction;
    int64_t nodes, macs, elementwise;
    int64_t missing[TARE_OP_NOT_RUN + 1]; /* nodes, by why they were not counted */
};

static int by_op(const void *a, const void *b)
{
    const struct node *const *x = a, *const *y = b;
    return strcmp((*x)->node->op, (*y)->node->op);
}

static int by_macs(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    if (x->macs != y->macs)
        return x->macs < y->macs ? 1 : -1;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? 1 : -1;
    return strcmp(x->op, y->op);
}

static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static void list_missing(struct tare_arena *arena, const struct sum *sum, struct tare_model_count *count)
{
    static const char *const why[] = {
        [TARE_OP_UNKNOWN] = "not known",
        [TARE_OP_SHAPELESS] = "shapes not known",
        [TARE_OP_NOT_RUN] = "did not run",
    };
    for (int i = TARE_OP_UNKNOWN; i <= TARE_OP_NOT_RUN; i++) {
        int64_t nodes = sum->missing[i];
        /* What moves data costs nothing, whether it ran or not. */
        if (nodes && (i != TARE_OP_NOT_RUN || sum->contraction))
            count->not_counted[count->not_counted_count++] = tare_arena_printf(
                arena, "%s: %lld node%s, %s", sum->op, (long long)nodes, nodes == 1 ? "" : "s", why[i]);
    }
}

static int sum_up(struct counting *counting, struct tare_arena *arena, struct tare_model_count *count,
                  struct tare_error *err)
{
    size_t n = counting->nodes_count, kinds = 0;
    struct node **sorted = tare_arena_array(&counting->scratch, n, sizeof *sorted);
    struct sum *sums = tare_arena_array(&counting->scratch, n, sizeof *sums);
    if (!sorted || !sums)
        return tare_arena_check(&counting->scratch, err);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &counting->nodes[i];
    qsort(sorted, n, sizeof *sorted, by_op);
    for (size_t i = 0; i < n; i++) {
        const struct node *node = sorted[i];
        if (i == 0 || strcmp(node->node->op, sorted[i - 1]->node->op) != 0)
            sums[kinds++] =
                (struct sum){.op = node->node->op, .contraction = tare_op_is_contraction(node->node)};
        struct sum *sum = &sums[kinds - 1];
        struct tare_op_cost cost = cost_of(counting, node);
        sum->nodes++;
        sum->missing[cost.counted]++;
        add(&sum->macs, cost.macs);
        add(&sum->elementwise, cost.elementwise);
        add(&count->macs, cost.macs);
        add(&count->elementwise, cost.elementwise);
        if (node->seen)
            count->nodes[node->seen_index] = cost;
    }
    qsort(sums, kinds, sizeof *sums, by_macs);
    count->ops = tare_arena_array(arena, kinds, sizeof *count->ops);
    count->not_counted = tare_arena_array(arena, 3 * kinds, sizeof *count->not_counted);
    if (tare_arena_check(arena, err) < 0)
        return -1;
    for (size_t i = 0; i < kinds; i++) {
        bool whole = sums[i].missing[TARE_OP_UNKNOWN] == 0 && sums[i].missing[TARE_OP_SHAPELESS] == 0;
        struct tare_run_op op = {.op = tare_arena_copy(arena, sums[i].op),
                                 .nodes = tare_run_int(sums[i].nodes),
                                 .counted = tare_run_flag(whole)};
        if (sums[i].contraction) {
            op.macs = tare_run_int(sums[i].macs);
            op.flops = tare_run_int(sums[i].macs > INT64_MAX / 2 ? INT64_MAX : 2 * sums[i].macs);
        }
        count->ops[count->ops_count++] = op;
        list_missing(arena, &sums[i], count);
    }
    return tare_arena_check(arena, err);
}

int tare_model_count(const struct tare_model *model, const struct tare_ort_profile *profile,
                     const struct tare_tensor *inputs, size_t inputs_count, struct tare_arena *arena,
                     struct tare_model_count *ret_count, struct tare_error *err)
{
    struct counting counting = {.model = model, .profile = profile};
    struct tare_model_count count = {0};
    int rc = -1;
    tare_arena_init(&counting.scratch, 0);
    count.nodes = tare_arena_array(arena, profile->nodes_count, sizeof *count.nodes);
    if (!count.nodes) {
        rc = tare_arena_check(arena, err);
        goto out;
    }
    /* A node that the model does not have was made by the runtime: a conversion, for instance. */
    for (size_t i = 0; i < profile->nodes_count; i++)
        count.nodes[i].counted = TARE_OP_UNKNOWN;
    if (prepare(&counting, inputs_count, err) < 0)
        goto out;
    for (size_t i = 0; i < inputs_count; i++) {
        struct tare_ort_shape shape = {.element = inputs[i].element, .ranked = true, .rank = inputs[i].rank};
        memcpy(shape.dims, inputs[i].dims, sizeof shape.dims);
        note_value(&counting, inputs[i].name, &shape);
    }
    count.matched = join(&counting);
    rc = sum_up(&counting, arena, &count, err);
    if (rc == 0)
        *ret_count = count;
out:
    tare_arena_finish(&counting.scratch);
    return rc;
}
