/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The per-function view against cProfile's own algorithm. Random call sequences are played twice, with exact
 * times: into a machine that does what _lsprof does (an entry per function, a subentry per pair, each with a
 * recursion level that decides what counts as cumulative), and into a calling-context tree. What is derived
 * from the tree must equal what the machine counted, to the last unit.
 */
#include <stdlib.h>

#include "check.h"
#include "core/functions.h"
#include "core/pairs.h"

enum { FUNCTIONS = 12, DEPTH = 40 };

/* One _lsprof entry or subentry. */
struct entry {
    int64_t total, inline_time, calls, recursive_calls, level;
};

struct context {
    int function;
    uint32_t node;
    int64_t start, below;
};

struct machine {
    struct entry entries[FUNCTIONS], subentries[FUNCTIONS][FUNCTIONS]; /* [caller][callee] */
    struct context stack[DEPTH];
    int depth;
    int64_t now;
    struct tare_profile *tree;
    uint32_t calls, wall, root;
};

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 16) % bound;
}

/* Frames of one function may be two code objects made by one line. */
static uint32_t frame_of(struct tare_profile *profile, int function)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    struct tare_frame frame = {.kind = TARE_FRAME_PYTHON};
    frame.name = tare_profile_intern(profile, names[function % 4]);
    frame.file = tare_profile_intern(profile, function < 8 ? "a/one.py" : "b/one.py");
    frame.first_line = (uint32_t)(1 + function / 4 % 2);
    frame.twin = random_below(2);
    return tare_profile_frame(profile, &frame);
}

static void entry_close(struct entry *entry, int64_t total, int64_t inline_time)
{
    if (--entry->level == 0)
        entry->total += total;
    else
        entry->recursive_calls++;
    entry->inline_time += inline_time;
    entry->calls++;
}

static void machine_call(struct machine *machine, int function)
{
    struct context *context = &machine->stack[machine->depth];
    uint32_t parent = machine->depth ? context[-1].node : machine->root;
    machine->entries[function].level++;
    if (machine->depth)
        machine->subentries[context[-1].function][function].level++;
    *context = (struct context){.function = function, .start = machine->now};
    context->node =
        tare_profile_child(machine->tree, parent, frame_of(machine->tree, function), random_below(3));
    tare_profile_add(machine->tree, context->node, machine->calls, 1);
    machine->depth++;
}

static void machine_return(struct machine *machine)
{
    struct context *context = &machine->stack[--machine->depth];
    int64_t total = machine->now - context->start, inline_time = total - context->below;
    entry_close(&machine->entries[context->function], total, inline_time);
    if (machine->depth) {
        context[-1].below += total;
        entry_close(&machine->subentries[context[-1].function][context->function], total, inline_time);
    }
}

static void machine_pass(struct machine *machine, int64_t time)
{
    machine->now += time;
    if (machine->depth)
        tare_profile_add(machine->tree, machine->stack[machine->depth - 1].node, machine->wall, time);
}

/* Play steps calls and returns among the first functions functions, then return from all of them. */
static void machine_play(struct machine *machine, uint32_t functions, uint32_t steps)
{
    for (uint32_t i = 0; i < steps; i++) {
        machine_pass(machine, random_below(1000));
        if (machine->depth == 0 || (machine->depth < DEPTH && random_below(100) < 52))
            machine_call(machine, (int)random_below(functions));
        else
            machine_return(machine);
    }
    while (machine->depth) {
        machine_pass(machine, random_below(1000));
        machine_return(machine);
    }
}

static struct machine *machine_create(void)
{
    struct machine *machine = calloc(1, sizeof *machine);
    CHECK(machine && tare_profile_create(0, &machine->tree, NULL) == 0);
    machine->calls = tare_profile_add_column(machine->tree, "calls", "count");
    machine->wall = tare_profile_add_column(machine->tree, "wall", "nanoseconds");
    return machine;
}

static void machine_destroy(struct machine *machine)
{
    tare_profile_destroy(machine->tree);
    free(machine);
}

static int function_of(const struct tare_function *item)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(item->name, names[i % 4]) == 0 && item->line == (uint32_t)(1 + i / 4 % 2) &&
            strcmp(item->file, i < 8 ? "a/one.py" : "b/one.py") == 0)
            return i;
    return -1;
}

static void check_figures(const struct tare_figures *figures, const struct entry *entry)
{
    CHECK_INT(figures->calls, entry->calls);
    CHECK_INT(figures->primitive, entry->calls - entry->recursive_calls);
    CHECK_INT(figures->self, entry->inline_time);
    CHECK_INT(figures->total, entry->total);
}

/* Everything the machine counted is in the view, once, and nothing else is. */
static void check_equal(const struct machine *machine, const struct tare_functions *functions)
{
    uint32_t entries = 0, subentries = 0;
    for (int i = 0; i < FUNCTIONS; i++) {
        entries += machine->entries[i].calls > 0;
        for (int k = 0; k < FUNCTIONS; k++)
            subentries += machine->subentries[i][k].calls > 0;
    }
    CHECK_INT(functions->count, entries);
    CHECK_INT(functions->pair_count, subentries);
    for (uint32_t i = 0; i < functions->count; i++) {
        int callee = function_of(&functions->items[i]);
        check_figures(&functions->items[i].figures, &machine->entries[callee]);
        for (uint32_t k = functions->first[i]; k < functions->first[i + 1]; k++) {
            const struct tare_function_pair *pair = &functions->pairs[functions->callers[k]];
            int caller = function_of(&functions->items[pair->caller]);
            CHECK_INT(pair->callee, i);
            check_figures(&pair->figures, &machine->subentries[caller][callee]);
        }
    }
}

/* What a .prof of this would hold. */
static struct tare_profile *pairs_of(const struct tare_functions *functions)
{
    struct tare_profile *profile;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    const char *names[] = {"calls", "primitive_calls", "tottime", "cumtime"};
    for (int i = 0; i < 4; i++)
        tare_profile_add_column(profile, names[i], i < 2 ? "count" : "nanoseconds");
    tare_profile_meta(profile)->kind = TARE_PROFILE_PAIRS;
    for (uint32_t i = 0; i < functions->count; i++) {
        const struct tare_function *item = &functions->items[i];
        uint32_t frame =
            tare_profile_function(profile, TARE_FRAME_PYTHON, item->name, item->file, item->line);
        uint32_t node = tare_profile_child(profile, 0, frame, 0);
        const int64_t values[] = {item->figures.calls, item->figures.primitive, item->figures.self,
                                  item->figures.total};
        for (uint32_t column = 0; column < 4; column++)
            tare_profile_add(profile, node, column, values[column]);
    }
    for (uint32_t i = 0; i < functions->pair_count; i++) {
        const struct tare_function_pair *pair = &functions->pairs[i];
        uint32_t callee = tare_profile_find_child(profile, 0, pair->callee, 0);
        uint32_t node = tare_profile_child(profile, tare_profile_find_child(profile, 0, pair->caller, 0),
                                           pair->callee, 0);
        const int64_t values[] = {pair->figures.calls, pair->figures.primitive, pair->figures.self,
                                  pair->figures.total};
        for (uint32_t column = 0; column < 4; column++) {
            tare_profile_add(profile, node, column, values[column]);
            tare_profile_add(profile, callee, column, -values[column]);
        }
    }
    CHECK_INT(tare_profile_check(profile, NULL), 0);
    return profile;
}

static int64_t sum_of(const struct tare_profile *profile, uint32_t column)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < tare_profile_nodes(profile); i++) {
        CHECK(tare_profile_values(profile, i)[column] >= 0);
        sum += tare_profile_values(profile, i)[column];
    }
    return sum;
}

static void sequences_equal_cprofile(void)
{
    int64_t recursive = 0;
    for (int round = 0; round < 4000; round++) {
        struct machine *machine = machine_create();
        uint32_t used = 1 + random_below(FUNCTIONS);
        machine_play(machine, used, 1 + random_below(300));
        if (round % 3 == 0) {
            /* A second thread, with its own stack, counts into the same functions. */
            struct tare_label label = {.key = tare_profile_intern(machine->tree, "thread"),
                                       .text = tare_profile_intern(machine->tree, "second")};
            machine->root = tare_profile_root(machine->tree, tare_profile_labels(machine->tree, &label, 1));
            machine_play(machine, used, 1 + random_below(100));
        }
        for (int i = 0; i < FUNCTIONS; i++)
            recursive += machine->entries[i].recursive_calls;
        struct tare_functions functions;
        CHECK_INT(tare_functions_init(&functions, machine->tree, TARE_NONE, false, NULL), 0);
        CHECK(functions.has_calls);
        check_equal(machine, &functions);

        struct tare_profile *pairs = pairs_of(&functions);
        struct tare_functions taken;
        CHECK_INT(tare_functions_init(&taken, pairs, TARE_NONE, false, NULL), 0);
        check_equal(machine, &taken);
        CHECK_INT(taken.self_sum, functions.self_sum);

        struct tare_profile *tree;
        CHECK_INT(tare_pairs_estimate(pairs, 0, &tree, NULL), 0);
        CHECK_INT(tare_profile_meta(tree)->estimated, 1);
        CHECK_INT(sum_of(tree, 1), functions.self_sum);
        tare_profile_destroy(tree);
        tare_functions_finish(&taken);
        tare_functions_finish(&functions);
        tare_profile_destroy(pairs);
        machine_destroy(machine);
        if (check_bad) {
            fprintf(stderr, "in round %d\n", round);
            return;
        }
    }
    CHECK(recursive > 100000);
}

/* Does b hold a's node, with the same values, all the way down? */
static void check_subtree(const struct tare_profile *a, const struct tare_profile *b, uint32_t from,
                          uint32_t to)
{
    CHECK_INT(tare_profile_values(b, to)[0], tare_profile_values(a, from)[0]);
    CHECK_INT(tare_profile_values(b, to)[1], tare_profile_values(a, from)[1]);
    for (uint32_t i = from + 1; i < tare_profile_nodes(a); i++) {
        const struct tare_node *node = tare_profile_node_at(a, i);
        if (node->parent != from)
            continue;
        const char *name = tare_profile_text(a, tare_profile_frame_at(a, node->frame)->name);
        uint32_t found = TARE_NONE;
        for (uint32_t k = to + 1; k < tare_profile_nodes(b); k++) {
            const struct tare_node *other = tare_profile_node_at(b, k);
            if (other->parent == to &&
                strcmp(tare_profile_text(b, tare_profile_frame_at(b, other->frame)->name), name) == 0)
                found = k;
        }
        CHECK(found != TARE_NONE);
        if (found != TARE_NONE)
            check_subtree(a, b, i, found);
    }
}

/* Where every function has one caller there is nothing to guess. */
static void estimate_of_plain_calls_is_exact(void)
{
    struct tare_profile *profile, *pairs, *tree;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    tare_profile_add_column(profile, "calls", "count");
    tare_profile_add_column(profile, "wall", "nanoseconds");
    uint32_t nodes[64] = {0};
    for (uint32_t i = 1; i < 64; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        uint32_t frame = tare_profile_function(profile, TARE_FRAME_PYTHON, name, "x.py", i);
        nodes[i] = tare_profile_child(profile, i == 1 ? 0 : nodes[1 + random_below(i - 1)], frame, 0);
        tare_profile_add(profile, nodes[i], 0, 1 + random_below(9));
        tare_profile_add(profile, nodes[i], 1, random_below(100000));
    }
    struct tare_functions functions;
    CHECK_INT(tare_functions_init(&functions, profile, TARE_NONE, false, NULL), 0);
    pairs = pairs_of(&functions);
    CHECK_INT(tare_pairs_estimate(pairs, 0, &tree, NULL), 0);
    CHECK_INT(tare_profile_nodes(tree), tare_profile_nodes(profile));
    check_subtree(profile, tree, 0, 0);
    tare_functions_finish(&functions);
    tare_profile_destroy(profile);
    tare_profile_destroy(pairs);
    tare_profile_destroy(tree);
}

/* A ladder of two functions a rung has 2^rungs paths. */
static void estimate_is_bounded(void)
{
    struct tare_profile *pairs, *tree;
    enum { RUNGS = 60 };
    CHECK_INT(tare_profile_create(0, &pairs, NULL), 0);
    const char *names[] = {"calls", "primitive_calls", "tottime", "cumtime"};
    for (int i = 0; i < 4; i++)
        tare_profile_add_column(pairs, names[i], i < 2 ? "count" : "nanoseconds");
    tare_profile_meta(pairs)->kind = TARE_PROFILE_PAIRS;
    uint32_t frames[RUNGS][2], tops[RUNGS][2];
    for (uint32_t rung = 0; rung < RUNGS; rung++) {
        for (uint32_t side = 0; side < 2; side++) {
            frames[rung][side] =
                tare_profile_function(pairs, TARE_FRAME_PYTHON, side ? "right" : "left", "x.py", rung + 1);
            tops[rung][side] = tare_profile_child(pairs, 0, frames[rung][side], 0);
            for (uint32_t from = 0; from < 2; from++) {
                uint32_t node = rung ? tare_profile_child(pairs, tops[rung - 1][from], frames[rung][side], 0)
                                     : tops[rung][side];
                const int64_t values[] = {3, 3, 1000 + rung, 500000 - 5 * rung};
                for (uint32_t column = 0; column < 4; column++)
                    tare_profile_add(pairs, node, column, values[column]);
            }
        }
    }
    int64_t want = 0;
    for (uint32_t i = 0; i < tare_profile_nodes(pairs); i++)
        want += tare_profile_values(pairs, i)[2];
    CHECK_INT(tare_pairs_estimate(pairs, 5000, &tree, NULL), 0);
    CHECK(tare_profile_nodes(tree) <= 5000);
    CHECK(tare_profile_nodes(tree) > 2000);
    CHECK_REAL((double)sum_of(tree, 1), (double)want, 1e-3);
    CHECK_INT(tare_profile_notes(tree), 1);
    tare_profile_destroy(tree);
    CHECK_INT(tare_pairs_estimate(pairs, 20, &tree, NULL), 0);
    CHECK(tare_profile_nodes(tree) <= 20);
    CHECK_REAL((double)sum_of(tree, 1), (double)want, 1e-3);
    tare_profile_destroy(tree);
    tare_profile_destroy(pairs);
}

static void stripped_functions_add_up(void)
{
    struct machine *machine = machine_create();
    machine_play(machine, FUNCTIONS, 500);
    struct tare_functions whole, stripped;
    CHECK_INT(tare_functions_init(&whole, machine->tree, TARE_NONE, false, NULL), 0);
    CHECK_INT(tare_functions_init(&stripped, machine->tree, TARE_NONE, true, NULL), 0);
    CHECK_INT(whole.count, 12);
    CHECK_INT(stripped.count, 8);
    CHECK_INT(stripped.self_sum, whole.self_sum);
    int64_t total[2] = {0}, pair_calls[2] = {0};
    for (uint32_t i = 0; i < whole.count; i++)
        total[0] += whole.items[i].figures.total;
    for (uint32_t i = 0; i < stripped.count; i++) {
        CHECK_TEXT(stripped.items[i].file, "one.py");
        total[1] += stripped.items[i].figures.total;
    }
    for (uint32_t i = 0; i < whole.pair_count; i++)
        pair_calls[0] += whole.pairs[i].figures.calls;
    for (uint32_t i = 0; i < stripped.pair_count; i++)
        pair_calls[1] += stripped.pairs[i].figures.calls;
    CHECK_INT(total[1], total[0]);
    CHECK_INT(pair_calls[1], pair_calls[0]);
    tare_functions_finish(&whole);
    tare_functions_finish(&stripped);
    machine_destroy(machine);
}

/* Samples have no calls; a builtin has no file of its own; label carriers are not functions. */
static void samples_have_no_calls(void)
{
    struct tare_profile *profile;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    uint32_t column = tare_profile_add_column(profile, "samples", "count");
    struct tare_label label = {.key = tare_profile_intern(profile, "thread"), .numeric = 1, .number = 7};
    uint32_t root = tare_profile_root(profile, tare_profile_labels(profile, &label, 1));
    uint32_t main_frame = tare_profile_function(profile, TARE_FRAME_OTHER, "main", "", 0);
    uint32_t builtin = tare_profile_function(profile, TARE_FRAME_BUILTIN, "<built-in method len>", "", 3);
    uint32_t top = tare_profile_child(profile, root, main_frame, 0);
    uint32_t again = tare_profile_child(profile, top, main_frame, 0);
    tare_profile_add(profile, top, column, 2);
    tare_profile_add(profile, again, column, 3);
    tare_profile_add(profile, tare_profile_child(profile, again, builtin, 0), column, 5);
    struct tare_functions functions;
    CHECK_INT(tare_functions_init(&functions, profile, TARE_NONE, false, NULL), 0);
    CHECK(!functions.has_calls);
    CHECK_INT(functions.count, 2);
    CHECK_INT(functions.pair_count, 2);
    CHECK(functions.items[0].bare);
    CHECK_INT(functions.items[0].figures.self, 5);
    CHECK_INT(functions.items[0].figures.total, 10);
    CHECK_TEXT(functions.items[1].file, "~");
    CHECK_INT(functions.items[1].line, 0);
    CHECK_INT(functions.items[1].figures.total, 5);
    tare_functions_finish(&functions);
    tare_profile_destroy(profile);
}

static void false_claims_are_refused(void)
{
    struct tare_profile *profile, *tree;
    struct tare_functions functions;
    struct tare_error err;
    CHECK_INT(tare_profile_create(0, &profile, NULL), 0);
    CHECK_INT(tare_functions_init(&functions, profile, TARE_NONE, false, &err), -1);
    CHECK_TEXT(err.msg, "the profile has no column of values");
    tare_profile_add_column(profile, "samples", "count");
    CHECK_INT(tare_pairs_estimate(profile, 0, &tree, &err), -1);
    CHECK_TEXT(err.msg, "the profile does not hold caller pairs");
    tare_profile_meta(profile)->kind = TARE_PROFILE_PAIRS;
    CHECK_INT(tare_pairs_estimate(profile, 0, &tree, &err), -1);
    CHECK_TEXT(err.msg, "the profile claims to hold caller pairs but has no column 'calls'");
    tare_profile_destroy(profile);
}

int main(void)
{
    RUN(sequences_equal_cprofile);
    RUN(estimate_of_plain_calls_is_exact);
    RUN(estimate_is_bounded);
    RUN(stripped_functions_add_up);
    RUN(samples_have_no_calls);
    RUN(false_claims_are_refused);
    return check_done();
}
