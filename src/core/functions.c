/* SPDX-License-Identifier: Apache-2.0 */
#include "core/functions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/tree.h"

/* Functions and pairs while they are collected, with the tables that find them. */
struct collector {
    struct tare_functions made;
    uint32_t item_room, pair_room;
    uint32_t *item_slots, *pair_slots; /* index + 1, or 0; powers of two, at most half full */
    uint32_t item_mask, pair_mask;
};

static void add(int64_t *to, int64_t value)
{
    if (__builtin_add_overflow(*to, value, to))
        *to = value < 0 ? INT64_MIN : INT64_MAX;
}

static void add_figures(struct tare_figures *to, const struct tare_figures *from)
{
    add(&to->calls, from->calls);
    add(&to->primitive, from->primitive);
    add(&to->self, from->self);
    add(&to->total, from->total);
}

enum { ROOM = 64, SLOTS = 256 }; /* to begin with */

static int collector_init(struct collector *collector, const struct tare_profile *profile,
                          struct tare_error *err)
{
    *collector = (struct collector){.made = {.profile = profile}};
    collector->made.items = calloc(ROOM, sizeof *collector->made.items);
    collector->made.pairs = calloc(ROOM, sizeof *collector->made.pairs);
    collector->item_slots = calloc(SLOTS, sizeof *collector->item_slots);
    collector->pair_slots = calloc(SLOTS, sizeof *collector->pair_slots);
    collector->item_room = collector->pair_room = ROOM;
    collector->item_mask = collector->pair_mask = SLOTS - 1;
    if (!collector->made.items || !collector->made.pairs || !collector->item_slots || !collector->pair_slots)
        return tare_fail_memory(err);
    return 0;
}

static void collector_finish(struct collector *collector)
{
    free(collector->item_slots);
    free(collector->pair_slots);
    tare_functions_finish(&collector->made);
}

static uint64_t item_hash(const struct tare_function *item)
{
    uint64_t hash = tare_hash_bytes(item->name, item->name_length);
    return tare_hash_mix(tare_hash_bytes(item->file, item->file_length) + hash * 31 + item->line);
}

static bool text_equal(const char *a, const char *b, size_t length)
{
    return length == 0 || (a && b && memcmp(a, b, length) == 0);
}

static bool item_equal(const struct tare_function *a, const struct tare_function *b)
{
    return a->line == b->line && a->name_length == b->name_length && a->file_length == b->file_length &&
           text_equal(a->name, b->name, a->name_length) && text_equal(a->file, b->file, a->file_length);
}

static uint64_t pair_hash(const struct tare_function_pair *pair)
{
    return tare_hash_mix((uint64_t)pair->caller << 32 | pair->callee);
}

/* An array with room for entry number index, which is at most one past those it has; NULL on failure, when
 * the old one is still good. */
static void *grown(void *array, uint32_t *room, uint32_t index, size_t size, struct tare_error *err)
{
    if (index < *room)
        return array;
    if (*room > TARE_NONE / 4) {
        tare_fail(err, TARE_E_LIMIT, 0, "a profile has at most %u functions or pairs", TARE_NONE / 4);
        return NULL;
    }
    uint32_t more = *room * 2;
    void *moved = realloc(array, more * size);
    if (moved)
        *room = more;
    else
        tare_fail_memory(err);
    return moved;
}

/* Twice as many slots, all empty; the caller puts its entries back. */
static int slots_grow(uint32_t **slots, uint32_t *mask, struct tare_error *err)
{
    uint32_t size = (*mask + 1) * 2;
    uint32_t *more = calloc(size, sizeof *more);
    if (!more)
        return tare_fail_memory(err);
    free(*slots);
    *slots = more;
    *mask = size - 1;
    return 0;
}

static void slots_put(uint32_t *slots, uint32_t mask, uint64_t hash, uint32_t index)
{
    uint64_t at = hash & mask;
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = index + 1;
}

/* The function equal to item, added if new. */
static int collect_item(struct collector *collector, const struct tare_function *item, uint32_t *ret_index,
                        struct tare_error *err)
{
    struct tare_functions *made = &collector->made;
    uint64_t hash = item_hash(item);
    uint64_t at = hash & collector->item_mask;
    for (uint32_t slot; (slot = collector->item_slots[at]); at = (at + 1) & collector->item_mask) {
        if (item_equal(&made->items[slot - 1], item)) {
            *ret_index = slot - 1;
            return 0;
        }
    }
    void *items = grown(made->items, &collector->item_room, made->count, sizeof *made->items, err);
    if (!items)
        return -1;
    made->items = items;
    if (made->count >= collector->item_mask / 2) {
        if (slots_grow(&collector->item_slots, &collector->item_mask, err) < 0)
            return -1;
        for (uint32_t i = 0; i < made->count; i++)
            slots_put(collector->item_slots, collector->item_mask, item_hash(&made->items[i]), i);
    }
    slots_put(collector->item_slots, collector->item_mask, hash, made->count);
    made->items[made->count] = *item;
    *ret_index = made->count++;
    return 0;
}

/* The pair of two functions, added if new. */
static int collect_pair(struct collector *collector, uint32_t caller, uint32_t callee, uint32_t *ret_index,
                        struct tare_error *err)
{
    struct tare_functions *made = &collector->made;
    struct tare_function_pair pair = {.caller = caller, .callee = callee};
    uint64_t hash = pair_hash(&pair);
    uint64_t at = hash & collector->pair_mask;
    for (uint32_t slot; (slot = collector->pair_slots[at]); at = (at + 1) & collector->pair_mask) {
        const struct tare_function_pair *old = &made->pairs[slot - 1];
        if (old->caller == caller && old->callee == callee) {
            *ret_index = slot - 1;
            return 0;
        }
    }
    void *pairs = grown(made->pairs, &collector->pair_room, made->pair_count, sizeof pair, err);
    if (!pairs)
        return -1;
    made->pairs = pairs;
    if (made->pair_count >= collector->pair_mask / 2) {
        if (slots_grow(&collector->pair_slots, &collector->pair_mask, err) < 0)
            return -1;
        for (uint32_t i = 0; i < made->pair_count; i++)
            slots_put(collector->pair_slots, collector->pair_mask, pair_hash(&made->pairs[i]), i);
    }
    slots_put(collector->pair_slots, collector->pair_mask, hash, made->pair_count);
    made->pairs[made->pair_count] = pair;
    *ret_index = made->pair_count++;
    return 0;
}

/* The function a frame belongs to, without its figures. */
static struct tare_function item_of(const struct tare_profile *profile, uint32_t index)
{
    const struct tare_frame *frame = tare_profile_frame_at(profile, index);
    bool pairs = tare_profile_meta_const(profile)->kind == TARE_PROFILE_PAIRS;
    struct tare_function item = {
        .file = tare_profile_text(profile, frame->file),
        .file_length = (uint32_t)tare_profile_text_length(profile, frame->file),
        .name = tare_profile_text(profile, frame->name),
        .name_length = (uint32_t)tare_profile_text_length(profile, frame->name),
        .line = frame->first_line,
        .frame = index,
    };
    if (pairs)
        return item;
    item.bare = frame->kind != TARE_FRAME_PYTHON && frame->kind != TARE_FRAME_BUILTIN &&
                item.file_length == 0 && item.line == 0;
    if (item.bare || frame->kind == TARE_FRAME_BUILTIN) {
        item.file = "~";
        item.file_length = 1;
        item.line = 0;
    }
    return item;
}

/* The function of a frame, remembered in map. */
static int collect_frame(struct collector *collector, uint32_t frame, uint32_t *map, struct tare_error *err)
{
    if (map[frame] != TARE_NONE)
        return 0;
    struct tare_function item = item_of(collector->made.profile, frame);
    return collect_item(collector, &item, &map[frame], err);
}

/* Does the node stand for a function? Node 0 and the carriers of labels do not. */
static bool is_function(const struct tare_profile *profile, uint32_t node)
{
    uint32_t frame = tare_profile_node_at(profile, node)->frame;
    return frame != TARE_NONE && tare_profile_frame_at(profile, frame)->kind != TARE_FRAME_ROOT;
}

/* What a walk through a tree keeps: how often each function and pair is running, and the pairs of the open
 * nodes. */
struct activity {
    uint32_t *items, *pairs;
    uint32_t pair_room;
    uint32_t *open; /* by depth; TARE_NONE: no pair */
    uint32_t open_room;
};

static void activity_finish(struct activity *activity)
{
    free(activity->items);
    free(activity->pairs);
    free(activity->open);
}

/* Enter a node: give its figures to its function and pair. */
static int tree_enter(struct collector *collector, const struct tare_walk *walk, uint32_t *map,
                      uint32_t calls_column, const int64_t *totals, struct activity *activity,
                      struct tare_error *err)
{
    const struct tare_profile *profile = collector->made.profile;
    const struct tare_node *node = tare_profile_node_at(profile, walk->node);
    const int64_t *values = tare_profile_values(profile, walk->node);
    if (collect_frame(collector, node->frame, map, err) < 0)
        return -1;
    uint32_t callee = map[node->frame];
    struct tare_figures figures = {
        .calls = calls_column == TARE_NONE ? 0 : values[calls_column],
        .self = values[collector->made.column],
    };
    struct tare_figures outermost = figures;
    outermost.primitive = figures.calls;
    outermost.total = totals[walk->node];
    assert(collector->made.items); /* the map names only what was collected */
    bool outer = activity->items[callee]++ == 0;
    add_figures(&collector->made.items[callee].figures, outer ? &outermost : &figures);

    activity->open[walk->depth] = TARE_NONE;
    if (!is_function(profile, node->parent))
        return 0;
    uint32_t caller = map[tare_profile_node_at(profile, node->parent)->frame];
    uint32_t pair, before = collector->made.pair_count;
    if (collect_pair(collector, caller, callee, &pair, err) < 0)
        return -1;
    if (pair == before) {
        void *pairs = grown(activity->pairs, &activity->pair_room, pair, sizeof *activity->pairs, err);
        if (!pairs)
            return -1;
        activity->pairs = pairs;
        activity->pairs[pair] = 0;
    }
    assert(activity->pairs && collector->made.pairs);
    outer = activity->pairs[pair]++ == 0;
    add_figures(&collector->made.pairs[pair].figures, outer ? &outermost : &figures);
    activity->open[walk->depth] = pair;
    return 0;
}

/* Walk the tree with the activity of every function and pair. */
static int derive(struct collector *collector, uint32_t *map, struct tare_error *err)
{
    const struct tare_profile *profile = collector->made.profile;
    uint32_t calls = tare_profile_find_column(profile, "calls");
    struct tare_tree tree = {0};
    struct activity activity = {.pair_room = ROOM, .open_room = ROOM};
    int64_t *totals = NULL;
    int rc = -1;
    activity.items = calloc((size_t)tare_profile_frames(profile) + 1, sizeof *activity.items);
    activity.pairs = calloc(ROOM, sizeof *activity.pairs);
    activity.open = calloc(ROOM, sizeof *activity.open);
    if (!activity.items || !activity.pairs || !activity.open) {
        rc = tare_fail_memory(err);
        goto out;
    }
    if (tare_tree_init(&tree, profile, err) < 0 ||
        tare_tree_totals(profile, collector->made.column, &totals, err) < 0)
        goto out;
    collector->made.has_calls = calls != TARE_NONE;
    struct tare_walk walk = tare_walk_begin(&tree);
    while (tare_walk_next(&walk)) {
        void *open = grown(activity.open, &activity.open_room, walk.depth, sizeof *activity.open, err);
        if (!open)
            goto out;
        activity.open = open;
        if (!is_function(profile, walk.node))
            continue;
        if (walk.entering) {
            if (tree_enter(collector, &walk, map, calls, totals, &activity, err) < 0)
                goto out;
            continue;
        }
        activity.items[map[tare_profile_node_at(profile, walk.node)->frame]]--;
        if (activity.open[walk.depth] != TARE_NONE)
            activity.pairs[activity.open[walk.depth]]--;
    }
    rc = 0;
out:
    tare_tree_finish(&tree);
    activity_finish(&activity);
    free(totals);
    return rc;
}

/* Take the four columns of a profile of pairs as they are. */
static int take(struct collector *collector, uint32_t *map, struct tare_error *err)
{
    static const char *const names[4] = {"calls", "primitive_calls", "tottime", "cumtime"};
    const struct tare_profile *profile = collector->made.profile;
    uint32_t columns[4];
    for (int i = 0; i < 4; i++) {
        columns[i] = tare_profile_find_column(profile, names[i]);
        if (columns[i] == TARE_NONE)
            return tare_fail(err, TARE_E_INPUT, 0,
                             "the profile claims to hold caller pairs but has no column '%s'", names[i]);
    }
    collector->made.has_calls = true;
    collector->made.column = columns[2];
    uint32_t count = tare_profile_nodes(profile);
    for (uint32_t i = 1; i < count; i++) {
        if (!is_function(profile, i))
            continue;
        const struct tare_node *node = tare_profile_node_at(profile, i);
        const int64_t *values = tare_profile_values(profile, i);
        struct tare_figures figures = {values[columns[0]], values[columns[1]], values[columns[2]],
                                       values[columns[3]]};
        if (collect_frame(collector, node->frame, map, err) < 0)
            return -1;
        uint32_t callee = map[node->frame], pair;
        add_figures(&collector->made.items[callee].figures, &figures);
        if (!is_function(profile, node->parent))
            continue;
        uint32_t caller = map[tare_profile_node_at(profile, node->parent)->frame];
        if (collect_pair(collector, caller, callee, &pair, err) < 0)
            return -1;
        add_figures(&collector->made.pairs[pair].figures, &figures);
    }
    return 0;
}

/* Group the pairs by callee, and sum up. */
static int group(struct tare_functions *made, struct tare_error *err)
{
    made->first = calloc((size_t)made->count + 2, sizeof *made->first);
    made->callers = malloc(((size_t)made->pair_count + 1) * sizeof *made->callers);
    if (!made->first || !made->callers)
        return tare_fail_memory(err);
    for (uint32_t i = 0; i < made->pair_count; i++)
        made->first[made->pairs[i].callee + 2]++;
    for (uint32_t i = 0; i < made->count; i++)
        made->first[i + 1] += made->first[i];
    for (uint32_t i = 0; i < made->pair_count; i++)
        made->callers[made->first[made->pairs[i].callee + 1]++] = i;
    for (uint32_t i = 0; i < made->count; i++) {
        add(&made->self_sum, made->items[i].figures.self);
        add(&made->calls_sum, made->items[i].figures.calls);
        add(&made->primitive_sum, made->items[i].figures.primitive);
    }
    return 0;
}

/* A reader of pairs gives a caller without an entry of its own a frame of kind OTHER; files that do not keep
 * the kind of a frame leave all of them so, and then its figures decide. */
static void mark_unlisted(struct tare_functions *made)
{
    if (tare_profile_meta_const(made->profile)->kind != TARE_PROFILE_PAIRS)
        return;
    for (uint32_t i = 0; i < made->pair_count; i++)
        made->items[made->pairs[i].caller].unlisted = true;
    for (uint32_t i = 0; i < made->pair_count; i++)
        made->items[made->pairs[i].callee].unlisted = false;
    for (uint32_t i = 0; i < made->count; i++) {
        struct tare_function *item = &made->items[i];
        const struct tare_figures *figures = &item->figures;
        if (figures->calls || figures->primitive || figures->self || figures->total ||
            tare_profile_frame_at(made->profile, item->frame)->kind != TARE_FRAME_OTHER)
            item->unlisted = false;
    }
}

/* The same functions without the folders of their files; equal ones are added up. */
static int strip(struct collector *collector, struct tare_error *err)
{
    struct tare_functions *made = &collector->made;
    struct collector stripped;
    uint32_t *map = NULL;
    int rc = -1;
    if (collector_init(&stripped, made->profile, err) < 0)
        goto out;
    stripped.made.column = made->column;
    stripped.made.has_calls = made->has_calls;
    map = malloc(((size_t)made->count + 1) * sizeof *map);
    if (!map) {
        rc = tare_fail_memory(err);
        goto out;
    }
    for (uint32_t i = 0; i < made->count; i++) {
        struct tare_function item = made->items[i];
        const char *slash = memrchr(item.file, '/', item.file_length);
        if (slash) {
            item.file_length -= (uint32_t)(slash + 1 - item.file);
            item.file = slash + 1;
        }
        item.figures = (struct tare_figures){0};
        if (collect_item(&stripped, &item, &map[i], err) < 0)
            goto out;
        struct tare_function *to = &stripped.made.items[map[i]];
        add_figures(&to->figures, &made->items[i].figures);
        to->unlisted = to->unlisted && made->items[i].unlisted;
    }
    for (uint32_t i = 0; i < made->pair_count; i++) {
        const struct tare_function_pair *pair = &made->pairs[i];
        uint32_t index;
        if (collect_pair(&stripped, map[pair->caller], map[pair->callee], &index, err) < 0)
            goto out;
        add_figures(&stripped.made.pairs[index].figures, &pair->figures);
    }
    struct collector old = *collector;
    *collector = stripped;
    stripped = old;
    rc = 0;
out:
    collector_finish(&stripped);
    free(map);
    return rc;
}

/* The column to derive from when nobody chose. */
static uint32_t choose_column(const struct tare_profile *profile)
{
    uint32_t column = tare_profile_main_column(profile);
    if (column == TARE_NONE || strcmp(tare_profile_column_name(profile, column), "calls") != 0)
        return column;
    for (uint32_t i = tare_profile_columns(profile); i-- > 0;)
        if (strcmp(tare_profile_column_unit(profile, i), "nanoseconds") == 0)
            return i;
    return column;
}

int tare_functions_init(struct tare_functions *functions, const struct tare_profile *profile, uint32_t column,
                        bool strip_dirs, struct tare_error *err)
{
    struct collector collector;
    bool pairs = tare_profile_meta_const(profile)->kind == TARE_PROFILE_PAIRS;
    uint32_t frames = tare_profile_frames(profile);
    uint32_t *map = NULL;
    int rc = -1;
    if (collector_init(&collector, profile, err) < 0)
        goto out;
    map = malloc(((size_t)frames + 1) * sizeof *map);
    if (!map) {
        rc = tare_fail_memory(err);
        goto out;
    }
    memset(map, 0xff, ((size_t)frames + 1) * sizeof *map);
    collector.made.column = column == TARE_NONE ? choose_column(profile) : column;
    if (collector.made.column == TARE_NONE) {
        rc = tare_fail(err, TARE_E_INPUT, 0, "the profile has no column of values");
        goto out;
    }
    if ((pairs ? take(&collector, map, err) : derive(&collector, map, err)) < 0)
        goto out;
    mark_unlisted(&collector.made);
    if ((strip_dirs && strip(&collector, err) < 0) || group(&collector.made, err) < 0)
        goto out;
    *functions = collector.made;
    collector.made = (struct tare_functions){0};
    rc = 0;
out:
    collector_finish(&collector);
    free(map);
    return rc;
}

void tare_functions_finish(struct tare_functions *functions)
{
    free(functions->items);
    free(functions->pairs);
    free(functions->callers);
    free(functions->first);
    *functions = (struct tare_functions){0};
}

double tare_functions_seconds(const struct tare_functions *functions)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {
        {"nanoseconds", 1 / 1e9}, {"microseconds", 1 / 1e6}, {"milliseconds", 1 / 1e3}, {"seconds", 1}};
    const char *unit = tare_profile_column_unit(functions->profile, functions->column);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return units[i].seconds;
    return 0;
}

bool tare_functions_counted(const struct tare_functions *functions, const struct tare_function_pair *pair)
{
    const struct tare_figures *figures = &pair->figures;
    return tare_profile_meta_const(functions->profile)->kind == TARE_PROFILE_PAIRS && figures->calls > 0 &&
           figures->primitive == 0 && figures->self == 0 && figures->total == 0;
}

static int compare_text(const char *a, uint32_t a_length, const char *b, uint32_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

int tare_function_compare(const struct tare_function *a, const struct tare_function *b)
{
    int order = compare_text(a->file, a->file_length, b->file, b->file_length);
    if (order == 0)
        order = (a->line > b->line) - (a->line < b->line);
    return order ? order : compare_text(a->name, a->name_length, b->name, b->name_length);
}
