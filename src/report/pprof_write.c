/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof, streamed: samples first, in depth-first order so that neighbours share most of their bytes, then
 * what they refer to. Nothing of the output is held but the piece being compressed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/gz.h"
#include "base/pb.h"
#include "core/tree.h"
#include "report/pprof.h"
#include "report/pprof_number.h"
#include "report/report.h"

enum { PIECE_BYTES = 64 * 1024, VARINT_BYTES = 10, GZIP_LEVEL = 3 };

/* One frame of the stack that the walk stands in. */
struct level {
    uint32_t location; /* 0 for node 0 and for the roots, which are no frames */
    size_t start, end; /* bytes of the packed stack without this level and with it */
    bool folded;       /* inlined: its location stands in the place of its parent's */
};

struct writer {
    const struct tare_profile *profile;
    struct tare_tree tree;
    struct pprof_number number;
    struct tare_gz *gz;
    struct tare_buf piece;   /* encoded, not compressed yet */
    struct tare_buf message; /* a submessage on its way into piece */
    struct tare_buf inner;   /* a submessage of that */
    struct tare_buf labels;  /* the labels of the root we are under, encoded */
    struct tare_buf levels;  /* struct level, by depth */
    /* The packed location ids of the current stack, leaf first. The stack grows at its front, so the bytes
     * fill this from its end: the last levels[depth].end of them are the stack. */
    uint8_t *packed;
    size_t packed_size;
    bool failed; /* out of memory */
};

enum tare_frame_kind tare_pprof_kind(const char *file, size_t length)
{
    static const char *const python_starts[] = {"<frozen ", "<string>", "<stdin>", "<ipython-input", NULL};
    if (length == 1 && file[0] == '~')
        return TARE_FRAME_BUILTIN;
    if (length > 3 && memcmp(file + length - 3, ".py", 3) == 0)
        return TARE_FRAME_PYTHON;
    for (int i = 0; python_starts[i]; i++)
        if (strncmp(file, python_starts[i], strlen(python_starts[i])) == 0)
            return TARE_FRAME_PYTHON;
    return TARE_FRAME_OTHER;
}

static void flush(struct writer *w)
{
    w->failed |= w->piece.failed || w->message.failed || w->inner.failed;
    tare_gz_add(w->gz, w->piece.data, w->piece.length);
    tare_buf_clear(&w->piece);
}

static void put_message(struct writer *w, uint32_t field)
{
    tare_pb_put_bytes(&w->piece, field, w->message.data, w->message.length);
    w->failed |= w->message.failed;
    tare_buf_clear(&w->message);
    if (w->piece.length >= PIECE_BYTES)
        flush(w);
}

static uint64_t string(struct writer *w, uint32_t id)
{
    return pprof_number_string(&w->number, id);
}

static void put_types(struct writer *w)
{
    for (uint32_t i = 0; i < tare_profile_columns(w->profile); i++) {
        uint32_t type = pprof_number_text(&w->number, tare_profile_column_name(w->profile, i));
        uint32_t unit = pprof_number_text(&w->number, tare_profile_column_unit(w->profile, i));
        tare_pb_put_uint(&w->message, PPROF_TYPE_TYPE, type);
        tare_pb_put_uint(&w->message, PPROF_TYPE_UNIT, unit);
        put_message(w, PPROF_SAMPLE_TYPE);
    }
}

static void put_comments(struct writer *w)
{
    const struct tare_profile_meta *meta = tare_profile_meta_const(w->profile);
    if (meta->kind == TARE_PROFILE_PAIRS)
        tare_pb_put_varint(&w->message, pprof_number_text(&w->number, PPROF_MARK_PAIRS));
    if (meta->kind == TARE_PROFILE_DIFF)
        tare_pb_put_varint(&w->message, pprof_number_text(&w->number, PPROF_MARK_DIFF));
    if (meta->estimated)
        tare_pb_put_varint(&w->message, pprof_number_text(&w->number, PPROF_MARK_ESTIMATED));
    for (uint32_t i = 0; i < tare_profile_comments(w->profile); i++)
        tare_pb_put_varint(&w->message, string(w, tare_profile_comment_at(w->profile, i)));
    if (w->message.length)
        put_message(w, PPROF_COMMENT);
}

static void put_meta(struct writer *w)
{
    const struct tare_profile_meta *meta = tare_profile_meta_const(w->profile);
    tare_pb_put_uint(&w->piece, PPROF_DROP_FRAMES, string(w, meta->drop_frames));
    tare_pb_put_uint(&w->piece, PPROF_KEEP_FRAMES, string(w, meta->keep_frames));
    tare_pb_put_int(&w->piece, PPROF_TIME, meta->time_ns);
    tare_pb_put_int(&w->piece, PPROF_DURATION, meta->duration_ns);
    tare_pb_put_uint(&w->message, PPROF_TYPE_TYPE, string(w, meta->period_type));
    tare_pb_put_uint(&w->message, PPROF_TYPE_UNIT, string(w, meta->period_unit));
    if (w->message.length)
        put_message(w, PPROF_PERIOD_TYPE);
    tare_pb_put_int(&w->piece, PPROF_PERIOD, meta->period);
    put_comments(w);
    tare_pb_put_uint(&w->piece, PPROF_DEFAULT_TYPE, string(w, meta->default_column));
    tare_pb_put_uint(&w->piece, PPROF_DOC_URL, string(w, meta->doc_url));
}

/* Zero too: its presence says whether a label is an empty text or the number 0. */
static void put_present(struct tare_buf *buf, uint32_t field, uint64_t value)
{
    tare_pb_put_varint(buf, (uint64_t)field << 3 | TARE_PB_VARINT);
    tare_pb_put_varint(buf, value);
}

static void set_labels(struct writer *w, uint32_t set)
{
    tare_buf_clear(&w->labels);
    size_t count;
    const struct tare_label *labels = tare_profile_labels_at(w->profile, set, &count);
    for (size_t i = 0; i < count; i++) {
        tare_buf_clear(&w->inner);
        tare_pb_put_uint(&w->inner, PPROF_LABEL_KEY, string(w, labels[i].key));
        if (labels[i].numeric) {
            put_present(&w->inner, PPROF_LABEL_NUMBER, (uint64_t)labels[i].number);
            tare_pb_put_uint(&w->inner, PPROF_LABEL_UNIT, string(w, labels[i].unit));
        } else {
            put_present(&w->inner, PPROF_LABEL_TEXT, string(w, labels[i].text));
        }
        tare_pb_put_bytes(&w->labels, PPROF_SAMPLE_LABEL, w->inner.data, w->inner.length);
    }
    w->failed |= w->labels.failed || w->inner.failed;
}

/* Encode a location at the front of the first `start` bytes of the packed stack; the new number of bytes. */
static size_t push_packed(struct writer *w, size_t start, uint32_t location)
{
    if (w->packed_size - start < VARINT_BYTES) {
        size_t size = w->packed_size ? w->packed_size * 2 : 4096;
        uint8_t *grown = malloc(size);
        if (!grown) {
            w->failed = true;
            return start;
        }
        if (start)
            memcpy(grown + size - start, w->packed + w->packed_size - start, start);
        free(w->packed);
        w->packed = grown;
        w->packed_size = size;
    }
    uint8_t bytes[VARINT_BYTES];
    size_t n = 0;
    for (uint32_t rest = location; n == 0 || rest; rest >>= 7)
        bytes[n++] = (uint8_t)(rest | 0x80);
    bytes[n - 1] &= 0x7f;
    memcpy(w->packed + w->packed_size - start - n, bytes, n);
    return start + n;
}

static struct level *level_at(const struct writer *w, uint32_t depth)
{
    return (struct level *)(void *)w->levels.data + depth;
}

/* Is the node inlined into the frame of its parent, so that both share a location? */
static bool folds(const struct writer *w, const struct level *parent, const struct tare_frame *frame)
{
    if (!(frame->flags & TARE_FRAME_INLINED) || parent->location == 0)
        return false;
    const struct tare_frame *into =
        tare_profile_frame_at(w->profile, pprof_location_at(&w->number, parent->location)->frame);
    return into->address == frame->address && into->mapping == frame->mapping;
}

static void enter(struct writer *w, uint32_t id, uint32_t depth)
{
    struct level level = {0};
    const struct tare_node *node = tare_profile_node_at(w->profile, id);
    const struct tare_frame *frame = id ? tare_profile_frame_at(w->profile, node->frame) : NULL;
    if (frame && frame->kind == TARE_FRAME_ROOT) {
        set_labels(w, frame->labels);
    } else if (frame) {
        const struct level *parent = level_at(w, depth - 1);
        level.folded = folds(w, parent, frame);
        level.start = level.folded ? parent->start : parent->end;
        level.location =
            pprof_number_location(&w->number, level.folded ? parent->location : 0, node->frame, node->line);
        level.end = push_packed(w, level.start, level.location);
        /* Under every node there is one that is written, so a parent that is not folded away is in use. */
        if (!level.folded && parent->location)
            pprof_location_at(&w->number, parent->location)->used = 1;
    }
    w->levels.length = depth * sizeof level;
    tare_buf_add(&w->levels, &level, sizeof level);
    w->failed |= w->levels.failed || w->number.failed;
}

static void leave(struct writer *w, uint32_t depth)
{
    const struct level *level = level_at(w, depth);
    if (level->folded) {
        const struct level *parent = level_at(w, depth - 1);
        push_packed(w, parent->start, parent->location);
    }
    if (depth == 1 && level->location == 0)
        tare_buf_clear(&w->labels);
}

static void put_sample(struct writer *w, uint32_t id, uint32_t depth)
{
    const int64_t *values = tare_profile_values(w->profile, id);
    uint32_t columns = tare_profile_columns(w->profile);
    bool zero = true;
    for (uint32_t i = 0; i < columns; i++)
        zero = zero && values[i] == 0;
    /* A leaf is written even if it weighs nothing: it is all that tells that the context was there. */
    bool leaf = w->tree.first[id] == w->tree.first[id + 1];
    if (zero && (!leaf || id == 0))
        return;
    const struct level *level = level_at(w, depth);
    if (level->location)
        pprof_location_at(&w->number, level->location)->used = 1;
    if (level->end)
        tare_pb_put_bytes(&w->message, PPROF_SAMPLE_LOCATIONS, w->packed + w->packed_size - level->end,
                          level->end);
    tare_buf_clear(&w->inner);
    for (uint32_t i = 0; i < columns; i++)
        tare_pb_put_varint(&w->inner, (uint64_t)values[i]);
    tare_pb_put_bytes(&w->message, PPROF_SAMPLE_VALUES, w->inner.data, w->inner.length);
    tare_buf_add(&w->message, w->labels.data, w->labels.length);
    put_message(w, PPROF_SAMPLE);
}

static void put_samples(struct writer *w, const struct tare_out *out)
{
    /* Without columns there is nothing that a sample could say. */
    if (tare_profile_columns(w->profile) == 0)
        return;
    struct tare_walk walk = tare_walk_begin(&w->tree);
    while (tare_walk_next(&walk) && !w->failed && !out->failed) {
        if (walk.entering) {
            enter(w, walk.node, walk.depth);
            if (!w->failed)
                put_sample(w, walk.node, walk.depth);
        } else {
            leave(w, walk.depth);
        }
    }
}

static void put_mappings(struct writer *w)
{
    for (uint32_t i = 1; i <= tare_profile_mappings(w->profile); i++) {
        const struct tare_mapping *mapping = tare_profile_mapping_at(w->profile, i);
        tare_pb_put_uint(&w->message, PPROF_MAPPING_ID, i);
        tare_pb_put_uint(&w->message, PPROF_MAPPING_START, mapping->start);
        tare_pb_put_uint(&w->message, PPROF_MAPPING_LIMIT, mapping->limit);
        tare_pb_put_uint(&w->message, PPROF_MAPPING_OFFSET, mapping->offset);
        tare_pb_put_uint(&w->message, PPROF_MAPPING_FILE, string(w, mapping->file));
        tare_pb_put_uint(&w->message, PPROF_MAPPING_BUILD_ID, string(w, mapping->build_id));
        for (uint32_t bit = 0; bit < 4; bit++)
            tare_pb_put_uint(&w->message, PPROF_MAPPING_FLAGS + bit, mapping->flags >> bit & 1);
        put_message(w, PPROF_MAPPING);
    }
}

/* Is its address all that is known of a frame? */
static bool bare(const struct tare_frame *frame, uint32_t line)
{
    return frame->kind == TARE_FRAME_NATIVE && line == 0 && !frame->name && !frame->qualname &&
           !frame->file && !frame->module && !frame->first_line && !frame->twin;
}

static void put_locations(struct writer *w)
{
    for (uint32_t id = 1; id <= pprof_number_locations(&w->number) && !w->failed; id++) {
        const struct pprof_location *location = pprof_location_at(&w->number, id);
        if (!location->used)
            continue;
        const struct tare_frame *frame = tare_profile_frame_at(w->profile, location->frame);
        tare_pb_put_uint(&w->message, PPROF_LOCATION_ID, id);
        tare_pb_put_uint(&w->message, PPROF_LOCATION_MAPPING, frame->mapping);
        tare_pb_put_uint(&w->message, PPROF_LOCATION_ADDRESS, frame->address);
        bool more = location->base || !bare(frame, location->line);
        while (more) {
            tare_buf_clear(&w->inner);
            tare_pb_put_uint(&w->inner, PPROF_LINE_FUNCTION,
                             pprof_number_function(&w->number, location->frame));
            tare_pb_put_uint(&w->inner, PPROF_LINE_LINE, location->line);
            tare_pb_put_bytes(&w->message, PPROF_LOCATION_LINE, w->inner.data, w->inner.length);
            more = location->base != 0;
            if (more)
                location = pprof_location_at(&w->number, location->base);
        }
        put_message(w, PPROF_LOCATION);
    }
}

/* Would pprof take this name, if it were the system name too, for C++ and cut it? */
static bool looks_like_cplusplus(const char *name)
{
    return strpbrk(name, "<>[]") || strstr(name, "::");
}

static void put_names(struct writer *w, const struct tare_frame *frame)
{
    bool python = frame->kind == TARE_FRAME_PYTHON;
    bool foreign = frame->kind == TARE_FRAME_OTHER || frame->kind == TARE_FRAME_NATIVE;
    bool risky = !foreign && frame->qualname == frame->name &&
                 looks_like_cplusplus(tare_profile_text(w->profile, frame->name));
    uint32_t name = frame->name, system_name = frame->qualname;
    if (frame->qualname && (risky || (python && !frame->name)))
        system_name = 0;
    else if (python && frame->qualname) {
        name = frame->qualname;
        system_name = frame->name;
    }
    tare_pb_put_uint(&w->message, PPROF_FUNCTION_NAME, string(w, name));
    tare_pb_put_uint(&w->message, PPROF_FUNCTION_SYSTEM, string(w, system_name));
    if (frame->qualname && system_name == 0)
        tare_pb_put_uint(&w->message, PPROF_FUNCTION_QUALNAME, string(w, frame->qualname));
}

static void put_functions(struct writer *w)
{
    const uint32_t *frames = (const uint32_t *)(const void *)w->number.functions.data;
    size_t count = w->number.functions.length / sizeof *frames;
    for (size_t i = 0; i < count && !w->failed; i++) {
        const struct tare_frame *frame = tare_profile_frame_at(w->profile, frames[i]);
        const char *file = tare_profile_text(w->profile, frame->file);
        tare_pb_put_uint(&w->message, PPROF_FUNCTION_ID, i + 1);
        put_names(w, frame);
        tare_pb_put_uint(&w->message, PPROF_FUNCTION_FILE, string(w, frame->file));
        tare_pb_put_uint(&w->message, PPROF_FUNCTION_FIRST_LINE, frame->first_line);
        if (frame->kind != tare_pprof_kind(file, tare_profile_text_length(w->profile, frame->file)))
            put_present(&w->message, PPROF_FUNCTION_KIND, frame->kind);
        tare_pb_put_uint(&w->message, PPROF_FUNCTION_MODULE, string(w, frame->module));
        tare_pb_put_uint(&w->message, PPROF_FUNCTION_TWIN, frame->twin);
        put_message(w, PPROF_FUNCTION);
    }
}

static void put_strings(struct writer *w)
{
    const struct pprof_text *texts = (const struct pprof_text *)(const void *)w->number.strings.data;
    size_t count = w->number.strings.length / sizeof *texts;
    for (size_t i = 0; i < count && !w->failed; i++) {
        tare_pb_put_bytes(&w->piece, PPROF_STRING, texts[i].text, texts[i].length);
        if (w->piece.length >= PIECE_BYTES)
            flush(w);
    }
}

static void pprof_write(const struct tare_profile *profile, const struct tare_view *view,
                        struct tare_out *out)
{
    (void)view; /* everything is written; views are the reader's */
    struct writer w = {.profile = profile};
    struct tare_error err;
    tare_buf_init(&w.piece, SIZE_MAX);
    tare_buf_init(&w.message, SIZE_MAX);
    tare_buf_init(&w.inner, SIZE_MAX);
    tare_buf_init(&w.labels, SIZE_MAX);
    tare_buf_init(&w.levels, SIZE_MAX);
    if (tare_tree_init(&w.tree, profile, &err) < 0 || pprof_number_init(&w.number, profile, &err) < 0) {
        tare_out_fail(out, &err);
        goto out;
    }
    w.gz = tare_gz_create(out, GZIP_LEVEL);
    put_types(&w);
    put_meta(&w);
    put_samples(&w, out);
    put_mappings(&w);
    put_locations(&w);
    put_functions(&w);
    put_strings(&w);
    flush(&w);
    if (w.failed || w.number.failed) {
        tare_fail_memory(&err);
        tare_out_fail(out, &err);
    }
    tare_gz_finish(w.gz);
    pprof_number_finish(&w.number);
out:
    tare_tree_finish(&w.tree);
    tare_buf_finish(&w.piece);
    tare_buf_finish(&w.message);
    tare_buf_finish(&w.inner);
    tare_buf_finish(&w.labels);
    tare_buf_finish(&w.levels);
    free(w.packed);
}

const struct tare_writer tare_writer_pprof = {
    .name = "pprof",
    .extensions = ".pb.gz .pprof",
    .summary = "pprof protobuf, compressed: every value and label, for pprof, Pyroscope, Parca, Grafana",
    .binary = true,
    .write = pprof_write,
};
