/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ONNX model as its file says it: graphs, nodes, tensors and where their bytes lie. The file is mapped,
 * not read: weights are never touched, so a model of many gigabytes costs what its graph costs. Everything is
 * checked while it is read: sizes against shapes, names, order of the graph, places of external data; what a
 * caller holds is sound. Memory is bounded by a multiple of the file's size. Texts are never NULL unless it
 * is said. Immutable once read, so any thread may look; all of it is freed at once.
 */
#ifndef TARE_BENCH_MODEL_H
#define TARE_BENCH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "bench/tensor.h"

/* How deep subgraphs may nest. */
enum { TARE_MODEL_DEPTH_MAX = 32 };

/* One dimension of a declared shape. */
struct tare_model_dim {
    int64_t value;    /* -1 when free */
    const char *name; /* of a free one: "batch"; NULL when the model gives none */
};

/* An input, an output or a value between nodes, as declared. */
struct tare_model_value {
    const char *name;
    const char *kind; /* "tensor", or what else it is: "sequence", "map", "optional", "sparse tensor" */
    enum tare_element element;
    bool ranked; /* false: not even the number of dimensions is known */
    size_t rank;
    const struct tare_model_dim *dims;
};

/* A tensor in the file, or beside it. count * bits of its type are really there. */
struct tare_model_tensor {
    const char *name;
    enum tare_element element;
    size_t rank;
    const int64_t *dims;
    int64_t count;        /* elements; for a sparse one those that are stored */
    const uint8_t *proto; /* the TensorProto, in the map; NULL for a sparse one */
    size_t proto_length;
    const uint8_t *raw; /* its bytes in the map when they lie there as they are, else NULL */
    size_t raw_length;
    const char *location; /* external data: a path relative to the model's folder, else NULL */
    int64_t offset;
};

struct tare_model_graph;

enum tare_attribute_type {
    TARE_ATTRIBUTE_NONE = 0,
    TARE_ATTRIBUTE_FLOAT = 1,
    TARE_ATTRIBUTE_INT = 2,
    TARE_ATTRIBUTE_STRING = 3,
    TARE_ATTRIBUTE_TENSOR = 4,
    TARE_ATTRIBUTE_GRAPH = 5,
    TARE_ATTRIBUTE_FLOATS = 6,
    TARE_ATTRIBUTE_INTS = 7,
    TARE_ATTRIBUTE_STRINGS = 8,
    TARE_ATTRIBUTE_TENSORS = 9,
    TARE_ATTRIBUTE_GRAPHS = 10,
};

/* One attribute. count is the length of ints, floats or graphs. */
struct tare_model_attribute {
    const char *name;
    enum tare_attribute_type type;
    int64_t i;
    float f;
    const char *s; /* NULL when it is not a string */
    size_t count;
    const int64_t *ints;
    const float *floats;
    const struct tare_model_tensor *tensor; /* TENSOR; for TENSORS the first of count */
    struct tare_model_graph *graphs;        /* GRAPH (count 1) and GRAPHS */
};

struct tare_model_node {
    const char *op, *domain, *name; /* domain "" is ONNX's own ("ai.onnx" too) */
    const char *const *inputs;      /* "" where an optional one is absent */
    const char *const *outputs;
    size_t inputs_count, outputs_count;
    const struct tare_model_attribute *attributes;
    size_t attributes_count;
};

struct tare_model_name; /* private: a slot of a graph's table of names */

struct tare_model_graph {
    const char *name;
    const struct tare_model_graph *parent; /* the graph it is nested in, or NULL */
    const struct tare_model_node *nodes;
    size_t nodes_count;
    const struct tare_model_tensor *initializers; /* sparse ones too */
    size_t initializers_count;
    const struct tare_model_value *inputs; /* without those that are initializers as well */
    const struct tare_model_value *outputs;
    const struct tare_model_value *values;
    size_t inputs_count, outputs_count, values_count;
    const size_t *order; /* node numbers, every node after those it needs */
    struct tare_model_name *names;
    size_t names_slots;
};

/* A function of the model: a graph whose inputs and outputs have names only. */
struct tare_model_function {
    const char *name, *domain;
    struct tare_model_graph graph;
};

struct tare_model_opset {
    const char *domain;
    int64_t version;
};

struct tare_model_metadata {
    const char *key, *value;
};

struct tare_model {
    struct tare_arena arena;
    const char *path;   /* as it was given */
    const char *folder; /* where external data lies; NULL when read from memory */
    int64_t ir_version;
    const char *producer, *producer_version;
    int64_t opset; /* of ONNX's own domain; 0 if not said */
    const struct tare_model_opset *opsets;
    size_t opsets_count;
    struct tare_model_graph graph;
    const struct tare_model_function *functions;
    size_t functions_count;
    const struct tare_model_metadata *metadata;
    size_t metadata_count;
    int64_t file_bytes;
    int64_t size_bytes; /* with the files of external data */
    const uint8_t *map;
    size_t map_length;
    bool mapped; /* the map is ours to unmap */
};

/** Read a model. The message says in one line what is wrong with it and, where there is one, the remedy. */
int tare_model_open(const char *path, struct tare_model **ret_model, struct tare_error *err);

/** Read one from memory, which must outlive it. External data is not looked for. */
int tare_model_open_memory(const void *data, size_t length, const char *name, struct tare_model **ret_model,
                           struct tare_error *err);

/** Free it; NULL is allowed. */
void tare_model_close(struct tare_model *model);

/** The attribute of that name, or NULL. */
const struct tare_model_attribute *tare_model_attribute(const struct tare_model_node *node, const char *name);

/** An integer attribute, or what it is when absent. */
int64_t tare_model_attribute_int(const struct tare_model_node *node, const char *name, int64_t otherwise);

/** The node that makes a value, looking outward from a graph; NULL if an input or initializer does. */
const struct tare_model_node *tare_model_producer(const struct tare_model_graph *graph, const char *name);

/** The tensor behind a name that does not change between runs: an initializer or the value of a Constant
 * node, looking outward from a graph. NULL if there is none. */
const struct tare_model_tensor *tare_model_constant(const struct tare_model_graph *graph, const char *name);

/** The whole numbers of a tensor of type int32, int64 or a smaller one: how many, at most max, are in ints;
 * -1 if it is of another type, too long, or outside the file. */
int tare_model_tensor_ints(const struct tare_model_tensor *tensor, int64_t *ints, size_t max);

/** Is this the operator of ONNX's own domain or of ONNX Runtime's (com.microsoft and its kin)? */
bool tare_model_node_is(const struct tare_model_node *node, const char *op);

#endif
