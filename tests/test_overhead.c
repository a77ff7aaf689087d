/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded times less what recording cost: which function pays what, what is left at least, and the error. */
#include <stdlib.h>

#include "check.h"
#include "core/capture.h"
#include "core/overhead.h"

struct tree {
    struct tare_profile *profile;
    struct tare_capture_info info;
    struct tare_capture_counts counts[16];
    uint8_t costs[16];
    uint32_t root;
};

static void tree_init(struct tree *tree)
{
    struct tare_error err;
    *tree = (struct tree){0};
    if (tare_profile_create(0, &tree->profile, &err) < 0)
        abort();
    tare_profile_add_column(tree->profile, "calls", "count");
    tare_profile_add_column(tree->profile, "wall", "nanoseconds");
    struct tare_label label = {.key = tare_profile_intern(tree->profile, "thread"),
                               .text = tare_profile_intern(tree->profile, "MainThread")};
    tree->root = tare_profile_root(tree->profile, tare_profile_labels(tree->profile, &label, 1));
    tree->info.counts = tree->counts;
    tree->info.costs = tree->costs;
}

static uint32_t add(struct tree *tree, uint32_t parent, const char *name, enum tare_cost cost, int64_t calls,
                    int64_t wall)
{
    bool c = cost >= TARE_COST_C_NOARGS && cost < TARE_COST_FRAMES;
    uint32_t frame =
        tare_profile_function(tree->profile, c ? TARE_FRAME_BUILTIN : TARE_FRAME_PYTHON, name, "a.py", 1);
    uint32_t node = tare_profile_child(tree->profile, parent, frame, 0);
    tare_profile_add(tree->profile, node, 0, calls);
    tare_profile_add(tree->profile, node, 1, wall);
    tree->costs[frame] = (uint8_t)cost;
    return node;
}

static int64_t wall(const struct tree *tree, uint32_t node)
{
    return tare_profile_values(tree->profile, node)[1];
}

static struct tare_calibration calibration(void)
{
    struct tare_calibration c = {.dilation = 1};
    for (int i = 1; i < TARE_COSTS; i++)
        c.costs[i] = (struct tare_cost_ns){.inner = 40 + i, .outer = 60 + i, .error = 1};
    c.costs[TARE_COST_UNWIND] = (struct tare_cost_ns){.outer = 25, .error = 2};
    c.costs[TARE_COST_BLIND] = (struct tare_cost_ns){.outer = 30, .error = 2};
    return c;
}

static struct tare_overhead apply(struct tree *tree, const struct tare_calibration *c, double *errors)
{
    struct tare_overhead overhead = {0};
    struct tare_error err;
    CHECK_INT(tare_overhead_remove(tree->profile, &tree->info, c, errors, &overhead, &err), 0);
    return overhead;
}

static void caller_and_callee_pay_their_part(void)
{
    struct tree t;
    tree_init(&t);
    struct tare_calibration c = calibration();
    uint32_t outer = add(&t, t.root, "outer", TARE_COST_EXACT, 1, 1000000);
    uint32_t inner = add(&t, outer, "inner", TARE_COST_METHOD, 1000, 500000);
    uint32_t length = add(&t, outer, "len", TARE_COST_LEN, 100, 90000);
    t.counts[inner].unwinds = 10;
    t.counts[outer].blind = 5;
    double errors[16];
    struct tare_overhead overhead = apply(&t, &c, errors);
    double own = 1000000 - (40 + TARE_COST_EXACT) - 1000 * (60 + TARE_COST_METHOD) -
                 100 * (60 + TARE_COST_LEN) - 10 * 25 - 5 * 30;
    CHECK_INT(wall(&t, outer), (int64_t)own);
    CHECK_INT(wall(&t, inner), 500000 - 1000 * (40 + TARE_COST_METHOD));
    CHECK_INT(wall(&t, length), 90000 - 100 * (40 + TARE_COST_LEN));
    CHECK(overhead.recorded_ns == 1590000);
    CHECK(overhead.moved_ns == 0);
    int64_t left = wall(&t, outer) + wall(&t, inner) + wall(&t, length);
    CHECK((int64_t)(overhead.recorded_ns - overhead.taken_ns) == left);
    /* A thousand calls, each wrong by the same nanosecond, are wrong by a thousand. */
    CHECK(overhead.error_ns > 1000 && overhead.error_ns < 1100);
    CHECK(errors[tare_profile_node_at(t.profile, inner)->frame] == 1000);
    tare_profile_destroy(t.profile);
}

static void functions_that_c_calls_cost_less(void)
{
    struct tree t;
    tree_init(&t);
    struct tare_calibration c = calibration();
    uint32_t sorted = add(&t, t.root, "sorted", TARE_COST_C_FAST, 1, 100000);
    uint32_t key = add(&t, sorted, "key", TARE_COST_EXACT, 100, 50000);
    uint32_t generator = add(&t, sorted, "generator", TARE_COST_GENERATOR, 100, 50000);
    apply(&t, &c, NULL);
    CHECK_INT(wall(&t, key), 50000 - 100 * (40 + TARE_COST_FROM_C));
    CHECK_INT(wall(&t, generator), 50000 - 100 * (40 + TARE_COST_GENERATOR));
    CHECK_INT(wall(&t, sorted), 100000 - (40 + TARE_COST_C_FAST) - 100 * (60 + TARE_COST_FROM_C) -
                                    100 * (60 + TARE_COST_GENERATOR));
    tare_profile_destroy(t.profile);
}

static void nothing_goes_below_a_nanosecond_per_call(void)
{
    struct tree t;
    tree_init(&t);
    struct tare_calibration c = calibration();
    uint32_t outer = add(&t, t.root, "outer", TARE_COST_EXACT, 1, 1000000);
    uint32_t inner = add(&t, outer, "inner", TARE_COST_EXACT, 1000, 30000);
    struct tare_overhead overhead = apply(&t, &c, NULL);
    CHECK_INT(wall(&t, inner), 1000);
    /* Together they have lost what both should. */
    int64_t both = 1030000 - (40 + TARE_COST_EXACT) - 1000 * (100 + 2 * TARE_COST_EXACT);
    CHECK_INT(wall(&t, outer) + wall(&t, inner), both);
    CHECK(overhead.moved_ns == 1000 * (40 + TARE_COST_EXACT) - 30000 + 1000);
    tare_profile_destroy(t.profile);

    /* With nobody to take it from, what is missing is an error. */
    tree_init(&t);
    uint32_t lonely = add(&t, t.root, "lonely", TARE_COST_EXACT, 1000, 30000);
    overhead = apply(&t, &c, NULL);
    CHECK_INT(wall(&t, lonely), 1000);
    CHECK(overhead.error_ns > 12000);
    CHECK((int64_t)overhead.taken_ns == 29000);
    tare_profile_destroy(t.profile);
}

static void slower_instructions_are_taken_off_python_only(void)
{
    struct tree t;
    tree_init(&t);
    struct tare_calibration c = {.dilation = 2, .scale_error = 0.25};
    uint32_t python = add(&t, t.root, "python", TARE_COST_EXACT, 1, 1000000);
    uint32_t sum = add(&t, python, "sum", TARE_COST_C_FAST, 1, 1000000);
    struct tare_overhead overhead = apply(&t, &c, NULL);
    CHECK_INT(wall(&t, python), 500000);
    CHECK_INT(wall(&t, sum), 1000000);
    /* All of it may have been taken for nothing: the own time may be work in C. */
    CHECK(overhead.error_ns > 124000 && overhead.error_ns < 126000);
    tare_profile_destroy(t.profile);
}

static void a_calibration_survives_as_text(void)
{
    struct tare_calibration c = calibration(), back;
    c.costs[TARE_COST_C_VARARGS].outer = -12.5;
    c.scale_error = 0.02;
    struct tare_buf buf;
    tare_buf_init(&buf, 8192);
    tare_calibration_write(&c, &buf);
    CHECK(tare_calibration_read(buf.data, &back));
    for (int i = 1; i < TARE_COSTS; i++) {
        CHECK(back.costs[i].inner == c.costs[i].inner);
        CHECK(back.costs[i].outer == c.costs[i].outer);
        CHECK(back.costs[i].error == c.costs[i].error);
    }
    CHECK(back.scale_error == c.scale_error && back.dilation == 1);
    /* Whatever is cut off or changed is no calibration, and no crash. */
    for (size_t length = 0; length < buf.length; length++) {
        char kept = buf.data[length];
        buf.data[length] = '\0';
        bool complete = strrchr(buf.data, ',') && strstr(strrchr(buf.data, ','), "blind 0 30000 2");
        CHECK(tare_calibration_read(buf.data, &back) == complete);
        buf.data[length] = kept;
    }
    tare_buf_finish(&buf);
    CHECK(!tare_calibration_read("dilation nan nan, scale 1", &back));
}

static void a_slower_processor_makes_all_costs_larger(void)
{
    struct tare_calibration c = calibration();
    c.probe_ns = 5000;
    tare_calibration_adapt(&c, 0); /* nobody asked during the run */
    CHECK(c.costs[TARE_COST_EXACT].inner == 40 + TARE_COST_EXACT);
    tare_calibration_adapt(&c, 7500);
    CHECK(c.costs[TARE_COST_EXACT].inner == 1.5 * (40 + TARE_COST_EXACT));
    CHECK(c.costs[TARE_COST_EXACT].outer == 1.5 * (60 + TARE_COST_EXACT));
    /* A damaged capture. */
    tare_calibration_adapt(&c, 1e12);
    CHECK(c.costs[TARE_COST_EXACT].inner == 1.5 * (40 + TARE_COST_EXACT));
}

static void what_is_mostly_error_is_named(void)
{
    struct tree t;
    tree_init(&t);
    struct tare_calibration c = calibration();
    c.scale_error = 0.25;
    struct tare_buf buf;
    tare_buf_init(&buf, 8192);
    tare_buf_add_text(&buf, "calibration: ");
    tare_calibration_write(&c, &buf);
    tare_profile_add_comment(t.profile, buf.data, buf.length);
    tare_buf_finish(&buf);
    uint32_t outer = add(&t, t.root, "outer", TARE_COST_EXACT, 1, 500000);
    add(&t, outer, "tiny", TARE_COST_EXACT, 1000, 50000);
    struct tare_overhead overhead, sum = {0};
    struct tare_error err;
    CHECK_INT(tare_overhead_correct(t.profile, &t.info, &overhead, &err), 0);
    CHECK_INT(overhead.doubts, 1);
    CHECK_TEXT(overhead.doubtful[0].name, "tiny");
    CHECK(overhead.doubtful[0].own_ns == 50000 - 1000 * (40 + TARE_COST_EXACT));
    /* Of several captures it is named once, with the sum. */
    tare_overhead_add(&sum, &overhead);
    tare_overhead_add(&sum, &overhead);
    CHECK_INT(sum.doubts, 1);
    CHECK(sum.doubtful[0].own_ns == 2 * overhead.doubtful[0].own_ns);
    tare_overhead_note(t.profile, &sum);
    CHECK_TEXT(tare_profile_note_at(t.profile, 1),
               "own time no better than a guess: tiny 0.000 \xc2\xb1 0.000 s");
    tare_profile_destroy(t.profile);
}

static void a_capture_without_calibration_stays(void)
{
    struct tree t;
    tree_init(&t);
    uint32_t python = add(&t, t.root, "python", TARE_COST_EXACT, 1000, 1000000);
    struct tare_overhead overhead;
    struct tare_error err;
    CHECK_INT(tare_overhead_correct(t.profile, &t.info, &overhead, &err), 0);
    CHECK_INT(wall(&t, python), 1000000);
    CHECK_INT(overhead.uncalibrated, 1);
    tare_overhead_note(t.profile, &overhead);
    CHECK_TEXT(tare_profile_note_at(t.profile, 0),
               "times hold what recording cost: 1 capture has no calibration");
    tare_profile_destroy(t.profile);
}

int main(void)
{
    RUN(caller_and_callee_pay_their_part);
    RUN(functions_that_c_calls_cost_less);
    RUN(nothing_goes_below_a_nanosecond_per_call);
    RUN(slower_instructions_are_taken_off_python_only);
    RUN(a_calibration_survives_as_text);
    RUN(a_slower_processor_makes_all_costs_larger);
    RUN(what_is_mostly_error_is_named);
    RUN(a_capture_without_calibration_stays);
    return check_done();
}
