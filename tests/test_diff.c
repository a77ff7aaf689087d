/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two profiles: which functions are the same, what is added to what, and the table of it.
 */
#include <stdlib.h>

#include "check.h"
#include "core/diff.h"
#include "core/tree.h"
#include "report/report.h"

struct made {
    struct tare_profile *profile;
    uint32_t column;
};

static struct made make(void)
{
    struct made made = {0};
    CHECK_INT(tare_profile_create(0, &made.profile, NULL), 0);
    made.column = tare_profile_add_column(made.profile, "wall", "nanoseconds");
    return made;
}

static uint32_t put(struct made *made, uint32_t parent, const char *name, const char *file, uint32_t line,
                    int64_t value)
{
    uint32_t frame = tare_profile_function(made->profile, TARE_FRAME_PYTHON, name, file, line);
    uint32_t node = tare_profile_child(made->profile, parent, frame, line + 1);
    tare_profile_add(made->profile, node, made->column, value);
    return node;
}

static struct tare_profile *diff_of(const struct made *base, const struct made *now,
                                    const struct tare_diff_options *options)
{
    struct tare_profile *diff = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_profile_diff(base->profile, now->profile, options, &diff, &err), 0);
    CHECK_TEXT(err.msg, "");
    return diff;
}

static void finish(struct made *a, struct made *b, struct tare_profile *diff)
{
    tare_profile_destroy(a->profile);
    tare_profile_destroy(b->profile);
    tare_profile_destroy(diff);
}

/* "base now" of the child of a node with that name and line; "none" if it is not there. */
static const char *values_at(const struct tare_profile *diff, uint32_t parent, const char *name,
                             uint32_t line, uint32_t *ret_node)
{
    static char text[64];
    for (uint32_t n = 1; n < tare_profile_nodes(diff); n++) {
        const struct tare_node *node = tare_profile_node_at(diff, n);
        const struct tare_frame *frame = tare_profile_frame_at(diff, node->frame);
        if (node->parent != parent || strcmp(tare_profile_text(diff, frame->name), name) != 0 ||
            frame->first_line != line)
            continue;
        const int64_t *values = tare_profile_values(diff, n);
        snprintf(text, sizeof text, "%lld %lld", (long long)values[0], (long long)values[1]);
        if (ret_node)
            *ret_node = n;
        return text;
    }
    return "none";
}

static char *written(const struct tare_writer *writer, const struct tare_profile *profile,
                     const struct tare_view *view)
{
    struct tare_out out;
    struct tare_error err = {0};
    static const struct tare_view plain = {0};
    tare_out_init_memory(&out, 1 << 20);
    writer->write(profile, view ? view : &plain, &out);
    char *text = strdup(tare_out_commit(&out, &err) < 0 ? err.msg : out.buf.data);
    tare_out_finish(&out);
    return text;
}

static void moved_functions_are_found_again(void)
{
    struct made base = make(), now = make();
    uint32_t main_base = put(&base, 0, "main", "a.py", 10, 5), main_now = put(&now, 0, "main", "a.py", 14, 6);
    put(&base, main_base, "step", "a.py", 20, 100);
    put(&now, main_now, "step", "a.py", 24, 130);
    put(&base, main_base, "old", "a.py", 30, 7);
    put(&now, main_now, "new", "a.py", 34, 8);
    put(&now, main_now, "step", "b.py", 24, 9);
    struct tare_profile *diff = diff_of(&base, &now, NULL);
    uint32_t main_node = 0;
    CHECK_TEXT(tare_profile_column_name(diff, 0), "base:wall");
    CHECK_TEXT(tare_profile_column_name(diff, 1), "wall");
    CHECK_TEXT(tare_profile_column_unit(diff, 0), "nanoseconds");
    CHECK_INT(tare_profile_columns(diff), 2);
    CHECK_INT(tare_profile_main_column(diff), 1);
    CHECK_INT(tare_diff_base(diff, 1), 0);
    CHECK_INT(tare_diff_base(diff, 0), TARE_NONE);
    CHECK_INT(tare_profile_meta_const(diff)->kind, TARE_PROFILE_DIFF);
    CHECK_TEXT(values_at(diff, 0, "main", 14, &main_node), "5 6");
    CHECK_TEXT(values_at(diff, main_node, "step", 24, NULL), "100 130");
    CHECK_TEXT(values_at(diff, main_node, "old", 30, NULL), "7 0");
    CHECK_TEXT(values_at(diff, main_node, "new", 34, NULL), "0 8");
    CHECK_INT(tare_profile_nodes(diff), 6);
    finish(&base, &now, diff);
}

static void several_of_one_name(void)
{
    /* As many on both sides, moved: by their order. */
    struct made base = make(), now = make();
    put(&base, 0, "__init__", "a.py", 10, 1);
    put(&base, 0, "__init__", "a.py", 50, 2);
    put(&now, 0, "__init__", "a.py", 20, 3);
    put(&now, 0, "__init__", "a.py", 50, 4);
    struct tare_profile *diff = diff_of(&base, &now, NULL);
    CHECK_TEXT(values_at(diff, 0, "__init__", 20, NULL), "1 3");
    CHECK_TEXT(values_at(diff, 0, "__init__", 50, NULL), "2 4");
    CHECK_INT(tare_profile_nodes(diff), 3);
    tare_profile_destroy(diff);
    /* One more, and the lines of one side all occur on the other: by line. */
    put(&base, 0, "__init__", "a.py", 20, 5);
    diff = diff_of(&base, &now, NULL);
    CHECK_TEXT(values_at(diff, 0, "__init__", 10, NULL), "1 0");
    CHECK_TEXT(values_at(diff, 0, "__init__", 20, NULL), "5 3");
    CHECK_TEXT(values_at(diff, 0, "__init__", 50, NULL), "2 4");
    tare_profile_destroy(diff);
    /* One more on a line of its own: nobody can tell, so they are one. */
    put(&now, 0, "__init__", "a.py", 60, 6);
    put(&now, 0, "__init__", "a.py", 70, 7);
    diff = diff_of(&base, &now, NULL);
    CHECK_TEXT(values_at(diff, 0, "__init__", 0, NULL), "8 20");
    CHECK_INT(tare_profile_nodes(diff), 2);
    finish(&base, &now, diff);
}

static void threads_lines_and_addresses_are_added_up(void)
{
    struct made base = make(), now = make();
    struct tare_label label = {.key = tare_profile_intern(base.profile, "pid"), .numeric = 1, .number = 12};
    uint32_t root = tare_profile_root(base.profile, tare_profile_labels(base.profile, &label, 1));
    struct tare_frame frame = {.kind = TARE_FRAME_NATIVE, .name = tare_profile_intern(base.profile, "f")};
    frame.address = 1;
    uint32_t node = tare_profile_child(base.profile, root, tare_profile_frame(base.profile, &frame), 7);
    tare_profile_add(base.profile, node, 0, 1);
    frame.address = 2;
    node = tare_profile_child(base.profile, 0, tare_profile_frame(base.profile, &frame), 8);
    tare_profile_add(base.profile, node, 0, 2);
    frame = (struct tare_frame){.kind = TARE_FRAME_NATIVE, .name = tare_profile_intern(now.profile, "f")};
    node = tare_profile_child(now.profile, 0, tare_profile_frame(now.profile, &frame), 9);
    tare_profile_add(now.profile, node, 0, 9);
    struct tare_profile *diff = diff_of(&base, &now, NULL);
    CHECK_TEXT(values_at(diff, 0, "f", 0, NULL), "3 9");
    CHECK_INT(tare_profile_nodes(diff), 2);
    finish(&base, &now, diff);
}

static void normalised_totals_are_equal(void)
{
    struct made base = make(), now = make();
    put(&base, 0, "f", "a.py", 1, 100);
    put(&base, 0, "g", "a.py", 5, 300);
    put(&now, 0, "f", "a.py", 1, 400);
    put(&now, 0, "g", "a.py", 5, 400);
    struct tare_diff_options options = {.normalise = true};
    struct tare_profile *diff = diff_of(&base, &now, &options);
    CHECK_TEXT(values_at(diff, 0, "f", 1, NULL), "200 400");
    CHECK_TEXT(values_at(diff, 0, "g", 5, NULL), "600 400");
    CHECK_INT(tare_profile_comments(diff), 1);
    CHECK_TEXT(tare_profile_text(diff, tare_profile_comment_at(diff, 0)),
               "base:wall was multiplied by 2, so that both totals are equal");
    finish(&base, &now, diff);
}

static void what_cannot_be_compared_is_refused(void)
{
    struct made base = make(), now = make();
    struct tare_profile *diff = NULL;
    struct tare_error err;
    struct tare_diff_options options = {.column = "cpu"};
    CHECK_INT(tare_profile_diff(base.profile, now.profile, &options, &diff, &err), -1);
    CHECK(strstr(err.msg, "'cpu'") != NULL);
    tare_profile_meta(now.profile)->kind = TARE_PROFILE_PAIRS;
    CHECK_INT(tare_profile_diff(base.profile, now.profile, NULL, &diff, &err), -1);
    CHECK(strstr(err.msg, "caller pairs") != NULL);
    tare_profile_meta(now.profile)->kind = TARE_PROFILE_DIFF;
    CHECK_INT(tare_profile_diff(base.profile, now.profile, NULL, &diff, &err), -1);
    CHECK(strstr(err.msg, "compared again") != NULL);
    struct tare_profile *empty;
    CHECK_INT(tare_profile_create(0, &empty, NULL), 0);
    CHECK_INT(tare_profile_diff(base.profile, empty, NULL, &diff, &err), -1);
    CHECK(strstr(err.msg, "no column in common") != NULL);
    char *text = written(&tare_writer_diff, base.profile, NULL);
    CHECK_TEXT(text, "this is one profile, not a difference: compare it with another");
    free(text);
    tare_profile_destroy(empty);
    finish(&base, &now, diff);
}

static void table_is_sorted_by_change(void)
{
    struct made base = make(), now = make();
    uint32_t main_base = put(&base, 0, "main", "x/a.py", 1, 1000),
             main_now = put(&now, 0, "main", "x/a.py", 1, 1000);
    put(&base, main_base, "small", "x/a.py", 5, 2000);
    put(&now, main_now, "small", "x/a.py", 5, 2100);
    put(&base, main_base, "shrunk", "x/a.py", 15, 9000);
    put(&now, main_now, "shrunk", "x/a.py", 15, 4000);
    put(&base, main_base, "gone", "x/a.py", 25, 300);
    put(&now, main_now, "fresh", "x/a.py", 25, 1000);
    struct tare_profile *diff = diff_of(&base, &now, NULL);
    struct tare_view view = {.strip_dirs = true};
    char *text = written(&tare_writer_diff, diff, &view);
    CHECK_TEXT(text, "      before        after       change            function\n"
                     "     9.00 us      4.00 us     -5.00 us    -55.6%  a.py:15(shrunk)\n"
                     "         0 s      1.00 us     +1.00 us       new  a.py:25(fresh)\n"
                     "      300 ns          0 s      -300 ns      gone  a.py:25(gone)\n"
                     "     2.00 us      2.10 us      +100 ns     +5.0%  a.py:5(small)\n"
                     "     12.3 us      8.10 us     -4.20 us    -34.1%  total\n"
                     "\n"
                     "wall of each function itself; 4 functions changed, 1 did not\n");
    free(text);
    view = (struct tare_view){.sort = "cumulative", .rows = 1};
    text = written(&tare_writer_diff, diff, &view);
    CHECK_TEXT(text, "      before        after       change            function\n"
                     "     9.00 us      4.00 us     -5.00 us    -55.6%  x/a.py:15(shrunk)\n"
                     "     12.3 us      8.10 us     -4.20 us    -34.1%  total\n"
                     "\n"
                     "wall of each function with all it called; 5 functions changed, 1 shown, 0 did not\n");
    free(text);
    view = (struct tare_view){.match = "small", .sort = "name"};
    text = written(&tare_writer_diff, diff, &view);
    CHECK(strstr(text, "(small)") != NULL && strstr(text, "(shrunk)") == NULL);
    free(text);
    view = (struct tare_view){.sort = "colour"};
    text = written(&tare_writer_diff, diff, &view);
    CHECK_TEXT(text, "a difference cannot be sorted by 'colour': use change, cumulative, calls or name");
    free(text);
    view = (struct tare_view){.sort = "calls"};
    text = written(&tare_writer_diff, diff, &view);
    CHECK_TEXT(text, "these profiles do not count calls");
    free(text);
    finish(&base, &now, diff);
}

/* f calls g; what g takes is given. */
static struct made make_pairs(uint32_t line, int64_t g_ns)
{
    struct made made = {0};
    static const char *const names[] = {"calls", "primitive_calls", "tottime", "cumtime"};
    CHECK_INT(tare_profile_create(0, &made.profile, NULL), 0);
    for (int i = 0; i < 4; i++)
        tare_profile_add_column(made.profile, names[i], i < 2 ? "count" : "nanoseconds");
    uint32_t f = tare_profile_function(made.profile, TARE_FRAME_PYTHON, "f", "a.py", line);
    uint32_t g = tare_profile_function(made.profile, TARE_FRAME_PYTHON, "g", "a.py", line + 10);
    uint32_t f_node = tare_profile_child(made.profile, 0, f, 0);
    uint32_t pair = tare_profile_child(made.profile, f_node, g, 0);
    int64_t f_values[] = {1, 1, 50, 50 + g_ns}, g_values[] = {3, 3, g_ns, g_ns};
    for (uint32_t i = 0; i < 4; i++) {
        tare_profile_add(made.profile, f_node, i, f_values[i]);
        tare_profile_add(made.profile, pair, i, g_values[i]);
    }
    tare_profile_meta(made.profile)->kind = TARE_PROFILE_PAIRS;
    return made;
}

static void caller_pairs_are_compared_by_function(void)
{
    struct made base = make_pairs(1, 100), now = make_pairs(5, 160);
    struct tare_profile *diff = diff_of(&base, &now, NULL);
    CHECK_INT(tare_profile_meta_const(diff)->kind, TARE_PROFILE_DIFF_PAIRS);
    CHECK_INT(tare_profile_columns(diff), 8);
    struct tare_view view = {.column = "tottime"};
    char *text = written(&tare_writer_diff, diff, &view);
    CHECK_TEXT(text, "      before        after       change            function\n"
                     "      100 ns       160 ns     +60.0 ns    +60.0%  a.py:15(g)\n"
                     "      150 ns       210 ns     +60.0 ns    +40.0%  total\n"
                     "\n"
                     "tottime of each function itself; 1 function changed, 1 did not\n");
    free(text);
    view.column = "cumtime";
    text = written(&tare_writer_diff, diff, &view);
    CHECK(strstr(text, "  a.py:5(f)\n") != NULL);
    CHECK(strstr(text, "210 ns     +60.0 ns    +40.0%  a.py:5(f)\n") != NULL);
    free(text);
    /* Stack views of it are estimated on both sides, and say so. */
    view.column = NULL;
    text = written(&tare_writer_folded, diff, &view);
    CHECK_TEXT(text, "# estimated from caller pairs\nf (a.py:5) 50 50\nf (a.py:5);g (a.py:15) 100 160\n");
    free(text);
    text = written(&tare_writer_svg, diff, &view);
    CHECK(strstr(text, "estimated from caller pairs") != NULL);
    CHECK(strstr(text, "before 100 ns, change +60.0 ns, +60.0 %") != NULL);
    free(text);
    finish(&base, &now, diff);
}

static void a_side_is_the_profile_again(void)
{
    struct made base = make(), now = make();
    put(&base, put(&base, 0, "main", "a.py", 1, 1), "f", "a.py", 5, 2);
    put(&now, put(&now, 0, "main", "a.py", 1, 3), "g", "a.py", 9, 4);
    struct tare_profile *diff = diff_of(&base, &now, NULL), *side = NULL;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(tare_diff_side(diff, i == 0, &side, NULL), 0);
        CHECK_INT(tare_profile_columns(side), 1);
        CHECK_TEXT(tare_profile_column_name(side, 0), "wall");
        CHECK_INT(tare_profile_meta_const(side)->kind, TARE_PROFILE_TREE);
        char *text = written(&tare_writer_folded, side, NULL);
        CHECK_TEXT(text, i == 0 ? "main (a.py:1) 1\nmain (a.py:1);f (a.py:5) 2\n"
                                : "main (a.py:1) 3\nmain (a.py:1);g (a.py:9) 4\n");
        free(text);
        tare_profile_destroy(side);
    }
    finish(&base, &now, diff);
}

/* Random trees: each side's values survive, and a profile compared with itself does not change. */
static void random_trees_lose_nothing(void)
{
    uint64_t state = 12345;
    for (int round = 0; round < 20; round++) {
        struct made sides[2] = {make(), make()};
        int64_t sums[2] = {0, 0};
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < 300; i++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                uint32_t parent = (uint32_t)(state >> 33) % tare_profile_nodes(sides[s].profile);
                char name[2] = {(char)('a' + (state >> 20) % 5), '\0'};
                uint32_t line = (uint32_t)(state >> 40) % 4;
                put(&sides[s], parent, name, "r.py", line, (int64_t)(state >> 50) % 100);
                sums[s] += (int64_t)(state >> 50) % 100;
            }
        }
        struct tare_profile *diff = diff_of(&sides[0], &sides[1], NULL);
        int64_t *totals;
        for (uint32_t s = 0; s < 2; s++) {
            CHECK_INT(tare_tree_totals(diff, s, &totals, NULL), 0);
            CHECK_INT(totals[0], sums[s]);
            free(totals);
        }
        tare_profile_destroy(diff);
        diff = diff_of(&sides[0], &sides[0], NULL);
        for (uint32_t n = 0; n < tare_profile_nodes(diff); n++)
            CHECK_INT(tare_profile_values(diff, n)[0], tare_profile_values(diff, n)[1]);
        finish(&sides[0], &sides[1], diff);
    }
}

int main(void)
{
    RUN(moved_functions_are_found_again);
    RUN(several_of_one_name);
    RUN(threads_lines_and_addresses_are_added_up);
    RUN(normalised_totals_are_equal);
    RUN(what_cannot_be_compared_is_refused);
    RUN(table_is_sorted_by_change);
    RUN(caller_pairs_are_compared_by_function);
    RUN(a_side_is_the_profile_again);
    RUN(random_trees_lose_nothing);
    return check_done();
}
