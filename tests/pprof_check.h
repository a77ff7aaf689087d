/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that read and write pprof: are two profiles equal, and does one survive the way out and back? */
#ifndef TARE_TESTS_PPROF_CHECK_H
#define TARE_TESTS_PPROF_CHECK_H

#include <stdlib.h>

#include "check.h"
#include "report/report.h"

static inline struct tare_profile *fresh(void)
{
    struct tare_profile *profile = NULL;
    if (tare_profile_create(0, &profile, NULL) < 0)
        abort();
    return profile;
}

static inline uint32_t string_in(struct tare_profile *to, const struct tare_profile *from, uint32_t string)
{
    return tare_profile_string(to, tare_profile_text(from, string), tare_profile_text_length(from, string));
}

static inline uint32_t labels_in(struct tare_profile *to, const struct tare_profile *from, uint32_t set)
{
    size_t count;
    const struct tare_label *labels = tare_profile_labels_at(from, set, &count);
    struct tare_label copy[TARE_LABELS_MAX];
    memset(copy, 0, sizeof copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = labels[i];
        copy[i].key = string_in(to, from, labels[i].key);
        copy[i].text = string_in(to, from, labels[i].text);
        copy[i].unit = string_in(to, from, labels[i].unit);
    }
    return tare_profile_labels(to, copy, count);
}

static inline uint32_t frame_in(struct tare_profile *to, const struct tare_profile *from, uint32_t frame)
{
    struct tare_frame copy = *tare_profile_frame_at(from, frame);
    copy.name = string_in(to, from, copy.name);
    copy.qualname = string_in(to, from, copy.qualname);
    copy.file = string_in(to, from, copy.file);
    copy.module = string_in(to, from, copy.module);
    copy.labels = labels_in(to, from, copy.labels);
    return tare_profile_frame(to, &copy);
}

static inline void check_text(const struct tare_profile *a, uint32_t x, const struct tare_profile *b,
                              uint32_t y)
{
    CHECK_TEXT(tare_profile_text(b, y), tare_profile_text(a, x));
}

static inline void check_meta(const struct tare_profile *a, const struct tare_profile *b)
{
    const struct tare_profile_meta *x = tare_profile_meta_const(a), *y = tare_profile_meta_const(b);
    CHECK_INT(y->time_ns, x->time_ns);
    CHECK_INT(y->duration_ns, x->duration_ns);
    CHECK_INT(y->period, x->period);
    CHECK_INT(y->kind, x->kind);
    CHECK_INT(y->estimated, x->estimated);
    check_text(a, x->period_type, b, y->period_type);
    check_text(a, x->period_unit, b, y->period_unit);
    check_text(a, x->default_column, b, y->default_column);
    check_text(a, x->drop_frames, b, y->drop_frames);
    check_text(a, x->keep_frames, b, y->keep_frames);
    check_text(a, x->doc_url, b, y->doc_url);
    CHECK_INT(tare_profile_comments(b), tare_profile_comments(a));
    for (uint32_t i = 0; i < tare_profile_comments(a) && i < tare_profile_comments(b); i++)
        check_text(a, tare_profile_comment_at(a, i), b, tare_profile_comment_at(b, i));
    CHECK_INT(tare_profile_mappings(b), tare_profile_mappings(a));
    for (uint32_t i = 1; i <= tare_profile_mappings(a) && i <= tare_profile_mappings(b); i++) {
        const struct tare_mapping *m = tare_profile_mapping_at(a, i), *n = tare_profile_mapping_at(b, i);
        CHECK(m->start == n->start && m->limit == n->limit && m->offset == n->offset && m->flags == n->flags);
        check_text(a, m->file, b, n->file);
        check_text(a, m->build_id, b, n->build_id);
    }
}

/* Every node of a is in b with the same values, and b has no others. */
static inline void check_equal(const struct tare_profile *a, struct tare_profile *b)
{
    check_meta(a, b);
    uint32_t columns = tare_profile_columns(a), count = tare_profile_nodes(a);
    CHECK_INT(tare_profile_columns(b), columns);
    for (uint32_t i = 0; i < columns && i < tare_profile_columns(b); i++) {
        CHECK_TEXT(tare_profile_column_name(b, i), tare_profile_column_name(a, i));
        CHECK_TEXT(tare_profile_column_unit(b, i), tare_profile_column_unit(a, i));
    }
    CHECK_INT(tare_profile_nodes(b), count);
    uint32_t *there = calloc(count, sizeof *there);
    unsigned missing = 0, different = 0;
    for (uint32_t i = 0; there && columns == tare_profile_columns(b) && i < count; i++) {
        const struct tare_node *node = tare_profile_node_at(a, i);
        if (i)
            there[i] = there[node->parent] == TARE_NONE
                           ? TARE_NONE
                           : tare_profile_find_child(b, there[node->parent], frame_in(b, a, node->frame),
                                                     node->line);
        if (there[i] == TARE_NONE)
            missing++;
        else if (memcmp(tare_profile_values(a, i), tare_profile_values(b, there[i]),
                        columns * sizeof(int64_t)) != 0)
            different++;
    }
    CHECK_INT(missing, 0);
    CHECK_INT(different, 0);
    free(there);
}

static inline int read_bytes(const void *data, size_t size, struct tare_profile *profile,
                             struct tare_error *err)
{
    struct tare_in *in = NULL;
    if (tare_in_open_memory(data, size, "x.pb.gz", &in, err) < 0)
        return -1;
    int rc = tare_reader_pprof.read(in, profile, err);
    tare_in_close(in);
    return rc;
}

static inline void check_round_trip(const struct tare_profile *profile)
{
    struct tare_out out, again;
    struct tare_error err = {0};
    struct tare_view view = {0};
    tare_out_init_memory(&out, SIZE_MAX);
    tare_out_init_memory(&again, SIZE_MAX);
    tare_writer_pprof.write(profile, &view, &out);
    CHECK_INT(tare_out_commit(&out, &err), 0);
    struct tare_profile *back = fresh();
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, back, &err), 0);
    CHECK_TEXT(err.msg, "");
    CHECK_INT(tare_profile_notes(back), 0);
    check_equal(profile, back);
    /* Nodes come in another order, but writing in depth-first order makes that invisible. */
    tare_profile_destroy(back);
    back = fresh();
    CHECK_INT(read_bytes(out.buf.data, out.buf.length, back, &err), 0);
    tare_writer_pprof.write(back, &view, &again);
    CHECK_INT(again.buf.length, out.buf.length);
    CHECK(again.buf.length == out.buf.length && memcmp(again.buf.data, out.buf.data, out.buf.length) == 0);
    tare_profile_destroy(back);
    tare_out_finish(&out);
    tare_out_finish(&again);
}

#endif
