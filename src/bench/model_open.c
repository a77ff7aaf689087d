/* SPDX-License-Identifier: Apache-2.0 */
/* The file: mapping it, telling what it is when it is no model, and the outermost message. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/model_impl.h"

/* Two bytes of a hostile file make at most about a hundred of ours. */
enum { MEMORY_PER_BYTE = 128, MEMORY_LEAST = 1 << 20 };

static int fail_is(struct tare_error *err, const char *path, const char *what)
{
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' is %s", path, what);
}

/* Files that people hand over by mistake, by how they begin. */
static const struct {
    size_t offset;
    const char *magic, *what;
} mistaken[] = {
    {0, "version https://git-lfs.github.com/", "a Git LFS pointer, not the model itself: run 'git lfs pull'"},
    {0, "PK\x03\x04",
     "a zip archive (as torch.save writes), not an ONNX model: export it with torch.onnx.export"},
    {4, "ORTM", "a model in ORT format, not ONNX: give the .onnx file that it was made from"},
    {4, "TFL3", "a TensorFlow Lite model, not ONNX: convert it with tf2onnx"},
    {0, "\x89HDF", "an HDF5 file, not an ONNX model: convert it with tf2onnx"},
    {0, "\x1f\x8b", "compressed with gzip: unpack it first"},
    {0, "<!DOCTYPE", "a web page, not an ONNX model"},
    {0, "<html", "a web page, not an ONNX model"},
};

/* Is the start of it plain text? A model holds control characters in its first bytes. */
static bool is_text(const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length && i < 512; i++)
        if (data[i] < ' ' && data[i] != '\n' && data[i] != '\r' && data[i] != '\t')
            return false;
    return true;
}

static int refuse_other_files(const struct tare_model *model, struct tare_error *err)
{
    if (model->map_length == 0)
        return fail_is(err, model->path, "empty, not an ONNX model");
    for (size_t i = 0; i < sizeof mistaken / sizeof *mistaken; i++) {
        size_t offset = mistaken[i].offset, length = strlen(mistaken[i].magic);
        if (model->map_length >= offset + length &&
            memcmp(model->map + offset, mistaken[i].magic, length) == 0)
            return fail_is(err, model->path, mistaken[i].what);
    }
    if (is_text(model->map, model->map_length))
        return fail_is(err, model->path, "text, not an ONNX model");
    return 0;
}

static int read_opset(const struct tare_model_reader *reader, struct tare_model_span span,
                      struct tare_model_opset *opset, struct tare_error *err)
{
    *opset = (struct tare_model_opset){.domain = ""};
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0) {
        if (field.number == 1 && tare_model_text(reader, &field, "a domain", &opset->domain, err) < 0)
            return -1;
        if (field.number == 2 && field.wire == TARE_PB_VARINT)
            opset->version = (int64_t)field.value;
    }
    return rc;
}

static int read_metadata(const struct tare_model_reader *reader, struct tare_model_span span,
                         struct tare_model_metadata *metadata, struct tare_error *err)
{
    *metadata = (struct tare_model_metadata){.key = "", .value = ""};
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0)
        if ((field.number == 1 && tare_model_text(reader, &field, "a key", &metadata->key, err) < 0) ||
            (field.number == 2 && tare_model_text(reader, &field, "metadata", &metadata->value, err) < 0))
            return -1;
    return rc;
}

/* The lists of the outermost message while they are filled. */
struct lists {
    struct tare_model_opset *opsets;
    struct tare_model_metadata *metadata;
    struct tare_model_function *functions;
};

static int read_field(struct tare_model_reader *reader, const struct tare_pb_field *field,
                      const struct lists *lists, struct tare_error *err)
{
    struct tare_model *model = reader->model;
    struct tare_model_span part = {0};
    uint32_t number = field->number;
    if ((number == 7 || number == 8 || number == 14 || number == 25) &&
        tare_model_bytes(field, "a part of the model", &part, err) < 0)
        return -1;
    switch (number) {
    case 1:
        model->ir_version = field->wire == TARE_PB_VARINT ? (int64_t)field->value : 0;
        return 0;
    case 2:
        return tare_model_text(reader, field, "the producer's name", &model->producer, err);
    case 3:
        return tare_model_text(reader, field, "the producer's version", &model->producer_version, err);
    case 7:
        return tare_model_read_graph(reader, part, NULL, 1, &model->graph, err);
    case 8:
        return read_opset(reader, part, &lists->opsets[model->opsets_count++], err);
    case 14:
        return read_metadata(reader, part, &lists->metadata[model->metadata_count++], err);
    case 25:
        return tare_model_read_function(reader, part, &lists->functions[model->functions_count++], err);
    default:
        return 0;
    }
}

static int read_model(struct tare_model_reader *reader, struct tare_error *err)
{
    struct tare_model *model = reader->model;
    struct tare_model_span span = {model->map, model->map_length};
    struct tare_model_tally tally;
    struct tare_error damage = {0};
    if (tare_model_tally(span, &tally, &damage) < 0)
        return tare_fail(err, damage.code, 0, "it is cut short or something else (%s)", damage.msg);
    if (tally.of[7] == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "it holds no graph");
    /* Protobuf would merge them; no exporter writes two. */
    if (tally.of[7] > 1)
        return tare_fail(err, TARE_E_INPUT, 0, "it holds %zu graphs", tally.of[7]);
    struct tare_arena *arena = reader->arena;
    struct lists lists = {
        .opsets = tare_arena_array(arena, tally.of[8], sizeof *lists.opsets),
        .metadata = tare_arena_array(arena, tally.of[14], sizeof *lists.metadata),
        .functions = tare_arena_array(arena, tally.of[25], sizeof *lists.functions),
    };
    if (tare_arena_check(arena, err) < 0)
        return -1;
    model->opsets = lists.opsets;
    model->metadata = lists.metadata;
    model->functions = lists.functions;
    struct tare_pb pb = tare_pb_reader(span.data, span.length);
    struct tare_pb_field field;
    int rc;
    while ((rc = tare_pb_next(&pb, &field, err)) > 0)
        if (read_field(reader, &field, &lists, err) < 0)
            return -1;
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < model->opsets_count; i++)
        if (*model->opsets[i].domain == '\0' || strcmp(model->opsets[i].domain, "ai.onnx") == 0)
            model->opset = model->opsets[i].version;
    if (tare_model_sort(reader, &model->graph, err) < 0)
        return -1;
    for (size_t i = 0; i < model->functions_count; i++)
        if (tare_model_sort(reader, &lists.functions[i].graph, err) < 0)
            return -1;
    return tare_arena_check(arena, err);
}

/* Read what is mapped; the messages of the parts do not name the file. */
static int read_map(struct tare_model *model, struct tare_error *err)
{
    if (refuse_other_files(model, err) < 0)
        return -1;
    size_t cap = model->map_length < (SIZE_MAX - MEMORY_LEAST) / MEMORY_PER_BYTE
                     ? model->map_length * MEMORY_PER_BYTE + MEMORY_LEAST
                     : SIZE_MAX;
    model->arena.cap = cap;
    struct tare_model_reader reader = {.model = model, .arena = &model->arena};
    struct tare_error inner = {0};
    int rc = read_model(&reader, &inner);
    if (rc < 0)
        return tare_fail(err, inner.code, 0, "'%s' is not a sound ONNX model: %s", model->path, inner.msg);
    return 0;
}

static struct tare_model *model_create(const char *path)
{
    struct tare_model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    tare_arena_init(&model->arena, 0);
    model->path = tare_arena_copy(&model->arena, path);
    model->producer = model->producer_version = "";
    return model;
}

void tare_model_close(struct tare_model *model)
{
    if (!model)
        return;
    if (model->mapped) {
        union {
            const uint8_t *data;
            void *map;
        } mapped = {model->map};
        munmap(mapped.map, model->map_length);
    }
    tare_arena_finish(&model->arena);
    free(model);
}

static int map_file(struct tare_model *model, struct tare_error *err)
{
    int rc = -1;
    struct stat stat;
    int fd = open(model->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot open '%s'", model->path);
    if (fstat(fd, &stat) < 0) {
        rc = tare_fail(err, TARE_E_IO, errno, "cannot look at '%s'", model->path);
    } else if (!S_ISREG(stat.st_mode)) {
        rc = fail_is(err, model->path, "not a file");
    } else if (stat.st_size == 0) {
        rc = 0; /* nothing to map; it is refused as empty */
    } else {
        void *map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            rc = tare_fail(err, TARE_E_IO, errno, "cannot map '%s'", model->path);
        } else {
            model->map = map;
            model->map_length = (size_t)stat.st_size;
            model->mapped = true;
            rc = 0;
        }
    }
    model->file_bytes = model->size_bytes = (int64_t)model->map_length;
    close(fd);
    return rc;
}

int tare_model_open(const char *path, struct tare_model **ret_model, struct tare_error *err)
{
    struct tare_model *model = model_create(path);
    if (!model)
        return tare_fail_memory(err);
    const char *slash = strrchr(path, '/');
    model->folder = !slash          ? "."
                    : slash == path ? "/"
                                    : tare_arena_text(&model->arena, path, (size_t)(slash - path));
    if (map_file(model, err) < 0 || read_map(model, err) < 0) {
        tare_model_close(model);
        return -1;
    }
    *ret_model = model;
    return 0;
}

int tare_model_open_memory(const void *data, size_t length, const char *name, struct tare_model **ret_model,
                           struct tare_error *err)
{
    struct tare_model *model = model_create(name);
    if (!model)
        return tare_fail_memory(err);
    model->map = data;
    model->map_length = length;
    model->file_bytes = model->size_bytes = (int64_t)length;
    if (read_map(model, err) < 0) {
        tare_model_close(model);
        return -1;
    }
    *ret_model = model;
    return 0;
}
