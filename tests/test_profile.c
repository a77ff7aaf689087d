/* SPDX-License-Identifier: Apache-2.0 */
/* The calling-context tree: identity, growth, merging, and a region that means the same at any address. */
#include <stdlib.h>
#include <sys/mman.h>

#include "check.h"
#include "core/profile.h"
#include "core/tree.h"

static struct tare_profile *fresh(void)
{
    struct tare_profile *profile = NULL;
    struct tare_error err = {0};
    if (tare_profile_create(0, &profile, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    return profile;
}

static uint32_t function(struct tare_profile *profile, int number)
{
    char name[32];
    snprintf(name, sizeof name, "f%d", number);
    return tare_profile_function(profile, TARE_FRAME_PYTHON, name, "a.py", (uint32_t)number);
}

/* A tree of count nodes: node i hangs under a pseudo-random earlier one; its value is i. */
static struct tare_profile *grown(uint32_t count, int functions)
{
    struct tare_profile *profile = fresh();
    uint32_t column = tare_profile_add_column(profile, "wall", "nanoseconds");
    uint64_t random = 1;
    while (tare_profile_nodes(profile) < count) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint32_t parent = (uint32_t)(random >> 33) % tare_profile_nodes(profile);
        uint32_t frame = function(profile, (int)((random >> 20) % (unsigned)functions));
        uint32_t node = tare_profile_child(profile, parent, frame, (uint32_t)(random >> 60));
        tare_profile_add(profile, node, column, node);
    }
    return profile;
}

static bool equal(const struct tare_profile *a, const struct tare_profile *b)
{
    if (tare_profile_nodes(a) != tare_profile_nodes(b) || tare_profile_columns(a) != tare_profile_columns(b))
        return false;
    for (uint32_t i = 0; i < tare_profile_nodes(a); i++) {
        const struct tare_node *x = tare_profile_node_at(a, i), *y = tare_profile_node_at(b, i);
        if (x->parent != y->parent || x->line != y->line ||
            memcmp(tare_profile_values(a, i), tare_profile_values(b, i),
                   tare_profile_columns(a) * sizeof(int64_t)) != 0)
            return false;
        if (i && strcmp(tare_profile_text(a, tare_profile_frame_at(a, x->frame)->name),
                        tare_profile_text(b, tare_profile_frame_at(b, y->frame)->name)) != 0)
            return false;
    }
    return true;
}

static void strings_are_one(void)
{
    struct tare_profile *profile = fresh();
    CHECK_INT(tare_profile_intern(profile, ""), 0);
    CHECK_INT(tare_profile_intern(profile, NULL), 0);
    uint32_t a = tare_profile_intern(profile, "alpha");
    CHECK_INT(tare_profile_intern(profile, "alpha"), a);
    CHECK(tare_profile_intern(profile, "alphabet") != a);
    CHECK_INT(tare_profile_string(profile, "a\0b", 3), tare_profile_string(profile, "a\0b", 3));
    CHECK(tare_profile_string(profile, "a\0b", 3) != tare_profile_string(profile, "a\0c", 3));
    for (int i = 0; i < 5000; i++)
        function(profile, i);
    CHECK_TEXT(tare_profile_text(profile, a), "alpha");
    CHECK_INT(tare_profile_intern(profile, "f4321"), tare_profile_frame_at(profile, 4321)->name);
    tare_profile_destroy(profile);
}

static void equal_labels_stay_two_frames(void)
{
    struct tare_profile *profile = fresh();
    struct tare_frame one = {.kind = TARE_FRAME_PYTHON, .name = tare_profile_intern(profile, "__init__")};
    struct tare_frame two = one;
    two.twin = 1;
    uint32_t a = tare_profile_frame(profile, &one), b = tare_profile_frame(profile, &two);
    CHECK(a != b);
    CHECK_INT(tare_profile_frame(profile, &one), a);
    tare_profile_destroy(profile);
}

static void label_sets_ignore_order(void)
{
    struct tare_profile *profile = fresh();
    struct tare_label labels[2] = {
        {.key = tare_profile_intern(profile, "rank"), .numeric = 1, .number = 3},
        {.key = tare_profile_intern(profile, "thread"), .text = tare_profile_intern(profile, "main")},
    };
    struct tare_label swapped[2] = {labels[1], labels[0]};
    uint32_t set = tare_profile_labels(profile, labels, 2);
    CHECK(set != 0);
    CHECK_INT(tare_profile_labels(profile, swapped, 2), set);
    CHECK_INT(tare_profile_labels(profile, NULL, 0), 0);
    uint32_t root = tare_profile_root(profile, set);
    uint32_t node = tare_profile_child(profile, root, function(profile, 1), 0);
    CHECK_INT(tare_profile_labels_of(profile, tare_profile_child(profile, node, function(profile, 2), 0)),
              set);
    CHECK_INT(tare_profile_labels_of(profile, tare_profile_child(profile, 0, function(profile, 2), 0)), 0);
    tare_profile_destroy(profile);
}

static void columns_can_come_late(void)
{
    struct tare_profile *profile = grown(1000, 10);
    uint32_t calls = tare_profile_add_column(profile, "calls", "count");
    CHECK_INT(calls, 1);
    CHECK_INT(tare_profile_add_column(profile, "wall", "nanoseconds"), 0);
    for (uint32_t i = 1; i < tare_profile_nodes(profile); i++) {
        CHECK_INT(tare_profile_values(profile, i)[0] % i, 0);
        CHECK_INT(tare_profile_values(profile, i)[1], 0);
    }
    CHECK_INT(tare_profile_main_column(profile), 1);
    tare_profile_meta(profile)->default_column = tare_profile_intern(profile, "wall");
    CHECK_INT(tare_profile_main_column(profile), 0);
    tare_profile_destroy(profile);
}

static void values_saturate(void)
{
    struct tare_profile *profile = grown(2, 1);
    tare_profile_add(profile, 1, 0, INT64_MAX);
    tare_profile_add(profile, 1, 0, INT64_MAX);
    CHECK(tare_profile_values(profile, 1)[0] == INT64_MAX);
    tare_profile_destroy(profile);
}

static void a_cap_is_kept_and_remembered(void)
{
    struct tare_profile *profile = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_profile_create(1 << 20, &profile, &err), 0);
    uint32_t node = 0;
    for (uint32_t i = 0; i < 1000000; i++)
        node = tare_profile_child(profile, node, 0, i);
    size_t size;
    tare_profile_region(profile, &size);
    CHECK(size <= 1 << 20);
    CHECK_INT(node, TARE_NONE);
    CHECK_INT(tare_profile_check(profile, &err), -1);
    CHECK_INT(err.code, TARE_E_LIMIT);
    tare_profile_add(profile, TARE_NONE, 0, 1);
    tare_profile_destroy(profile);
}

static void merging_into_nothing_copies(void)
{
    struct tare_profile *a = grown(50000, 300), *b = fresh();
    struct tare_error err;
    CHECK_INT(tare_profile_merge(b, a, &err), 0);
    CHECK(equal(a, b));
    CHECK_INT(tare_profile_merge(b, a, &err), 0);
    CHECK_INT(tare_profile_nodes(b), tare_profile_nodes(a));
    for (uint32_t i = 0; i < tare_profile_nodes(a); i++)
        CHECK_INT(tare_profile_values(b, i)[0], 2 * tare_profile_values(a, i)[0]);
    tare_profile_destroy(a);
    tare_profile_destroy(b);
}

static void merging_joins_columns_and_labels(void)
{
    struct tare_profile *a = grown(100, 5), *b = fresh();
    struct tare_error err;
    uint32_t calls = tare_profile_add_column(b, "calls", "count");
    struct tare_label label = {.key = tare_profile_intern(b, "thread"),
                               .text = tare_profile_intern(b, "worker")};
    uint32_t root = tare_profile_root(b, tare_profile_labels(b, &label, 1));
    tare_profile_add(b, tare_profile_child(b, root, function(b, 77), 5), calls, 9);
    CHECK_INT(tare_profile_merge(a, b, &err), 0);
    CHECK_INT(tare_profile_columns(a), 2);
    uint32_t last = tare_profile_nodes(a) - 1;
    CHECK_INT(tare_profile_values(a, last)[1], 9);
    size_t count;
    const struct tare_label *got = tare_profile_labels_at(a, tare_profile_labels_of(a, last), &count);
    CHECK_INT(count, 1);
    CHECK_TEXT(tare_profile_text(a, got->text), "worker");
    tare_profile_meta(b)->kind = TARE_PROFILE_PAIRS;
    CHECK_INT(tare_profile_merge(a, b, &err), -1);
    tare_profile_destroy(a);
    tare_profile_destroy(b);
}

static void the_region_has_no_address(void)
{
    struct tare_profile *a = grown(20000, 100), *first = NULL, *second = NULL;
    struct tare_error err = {0};
    size_t size;
    const void *region = tare_profile_region(a, &size);
    void *here = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *there = mmap(NULL, size + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(here, region, size);
    memcpy((char *)there + 4096, region, size);
    CHECK_INT(memcmp(here, (char *)there + 4096, size), 0);
    CHECK_INT(tare_profile_attach(here, size, &first, &err), 0);
    CHECK_INT(tare_profile_attach((char *)there + 4096, size, &second, &err), 0);
    CHECK(first && second && equal(a, first) && equal(first, second));
    if (first) {
        CHECK_INT(tare_profile_find_child(first, tare_profile_node_at(a, 777)->parent,
                                          tare_profile_node_at(a, 777)->frame,
                                          tare_profile_node_at(a, 777)->line),
                  777);
        CHECK_INT(tare_profile_child(first, 0, 0, 123456), TARE_NONE);
    }
    tare_profile_destroy(first);
    tare_profile_destroy(second);
    munmap(here, size);
    munmap(there, size + 8192);
    tare_profile_destroy(a);
}

static void a_damaged_region_is_refused(void)
{
    struct tare_profile *a = grown(300, 20);
    size_t size;
    const void *region = tare_profile_region(a, &size);
    unsigned char *copy = malloc(size);
    int refused = 0;
    uint64_t random = 7;
    struct tare_error err;
    for (int round = 0; round < 2000; round++) {
        memcpy(copy, region, size);
        random = random * 6364136223846793005u + 1442695040888963407u;
        /* The header is where one wrong byte does most harm. */
        size_t at = round % 2 ? (random >> 20) % 600 : (random >> 20) % size;
        copy[at] ^= (unsigned char)(1u << (random >> 60 & 7));
        struct tare_profile *got = NULL;
        if (tare_profile_attach(copy, size, &got, &err) < 0) {
            refused++;
            continue;
        }
        struct tare_profile *merged = fresh();
        tare_profile_merge(merged, got, &err);
        tare_profile_destroy(merged);
        tare_profile_destroy(got);
    }
    CHECK(refused > 100);
    struct tare_profile *got = NULL;
    CHECK_INT(tare_profile_attach(region, 100, &got, &err), -1);
    free(copy);
    tare_profile_destroy(a);
}

static void a_walk_enters_and_leaves_every_node(void)
{
    struct tare_profile *profile = grown(5000, 50);
    struct tare_tree tree;
    struct tare_error err;
    CHECK_INT(tare_tree_init(&tree, profile, &err), 0);
    int64_t *totals;
    CHECK_INT(tare_tree_totals(profile, 0, &totals, &err), 0);
    uint32_t entered = 0, left = 0;
    int64_t sum = 0;
    struct tare_walk walk = tare_walk_begin(&tree);
    while (tare_walk_next(&walk)) {
        if (!walk.entering) {
            left++;
            continue;
        }
        entered++;
        sum += tare_profile_values(profile, walk.node)[0];
        uint32_t depth = 0;
        for (uint32_t node = walk.node; node; node = tare_profile_node_at(profile, node)->parent)
            depth++;
        CHECK_INT(walk.depth, depth);
        int64_t below = tare_profile_values(profile, walk.node)[0];
        for (uint32_t i = tree.first[walk.node]; i < tree.first[walk.node + 1]; i++)
            below += totals[tree.children[i]];
        CHECK_INT(totals[walk.node], below);
    }
    CHECK_INT(entered, tare_profile_nodes(profile));
    CHECK_INT(left, entered);
    CHECK_INT(totals[0], sum);
    free(totals);
    tare_tree_finish(&tree);
    tare_profile_destroy(profile);
}

int main(void)
{
    RUN(strings_are_one);
    RUN(equal_labels_stay_two_frames);
    RUN(label_sets_ignore_order);
    RUN(columns_can_come_late);
    RUN(values_saturate);
    RUN(a_cap_is_kept_and_remembered);
    RUN(merging_into_nothing_copies);
    RUN(merging_joins_columns_and_labels);
    RUN(the_region_has_no_address);
    RUN(a_damaged_region_is_refused);
    RUN(a_walk_enters_and_leaves_every_node);
    return check_done();
}
