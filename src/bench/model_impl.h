/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the model reader share. Private to model_*.c. Functions return 0 or -1 with err filled;
 * messages do not name the file, which model_open.c puts before them. */
#ifndef TARE_BENCH_MODEL_IMPL_H
#define TARE_BENCH_MODEL_IMPL_H

#include "base/pb.h"
#include "bench/model.h"

/* A message in the map. */
struct tare_model_span {
    const uint8_t *data;
    size_t length;
};

/* How often each field occurs in a message; numbers from 32 on are not counted. */
struct tare_model_tally {
    size_t of[32];
};

struct tare_model_external; /* a file of external data that was seen */

struct tare_model_reader {
    struct tare_model *model;
    struct tare_arena *arena;
    struct tare_model_external *externals;
};

/** Count the fields of a message. */
int tare_model_tally(struct tare_model_span span, struct tare_model_tally *ret_tally, struct tare_error *err);

/** The span of a bytes field; an error if it is of another wire type. what is for messages. */
int tare_model_bytes(const struct tare_pb_field *field, const char *what, struct tare_model_span *ret_span,
                     struct tare_error *err);

/** A copy of a text field. */
int tare_model_text(const struct tare_model_reader *reader, const struct tare_pb_field *field,
                    const char *what, const char **ret_text, struct tare_error *err);

/** All whole numbers of a repeated field, packed or not. */
int tare_model_ints(const struct tare_model_reader *reader, struct tare_model_span span, uint32_t number,
                    const int64_t **ret_ints, size_t *ret_count, struct tare_error *err);

/** Read a TensorProto. */
int tare_model_read_tensor(struct tare_model_reader *reader, struct tare_model_span span,
                           struct tare_model_tensor *ret_tensor, struct tare_error *err);

/** Read a SparseTensorProto: the tensor of its stored values, with the whole shape. */
int tare_model_read_sparse(struct tare_model_reader *reader, struct tare_model_span span,
                           struct tare_model_tensor *ret_tensor, struct tare_error *err);

/** Read a ValueInfoProto. */
int tare_model_read_value(struct tare_model_reader *reader, struct tare_model_span span,
                          struct tare_model_value *ret_value, struct tare_error *err);

/** Read a GraphProto in place, nested ones too. parent must already be where it will stay. */
int tare_model_read_graph(struct tare_model_reader *reader, struct tare_model_span span,
                          const struct tare_model_graph *parent, int depth,
                          struct tare_model_graph *ret_graph, struct tare_error *err);

/** Read a NodeProto that belongs to a graph. */
int tare_model_read_node(struct tare_model_reader *reader, struct tare_model_span span,
                         const struct tare_model_graph *graph, int depth, struct tare_model_node *ret_node,
                         struct tare_error *err);

/** Read a FunctionProto in place. */
int tare_model_read_function(struct tare_model_reader *reader, struct tare_model_span span,
                             struct tare_model_function *ret_function, struct tare_error *err);

/** Build a graph's table of names; an error if two nodes make the same value. */
int tare_model_index(struct tare_model_reader *reader, struct tare_model_graph *graph,
                     struct tare_error *err);

/** Is this name an initializer of this very graph? */
bool tare_model_has_initializer(const struct tare_model_graph *graph, const char *name);

/** Find an order in which every node comes after those it needs, in nested graphs too. An error if there is
 * none, or if something is needed that nothing makes. */
int tare_model_sort(struct tare_model_reader *reader, struct tare_model_graph *graph, struct tare_error *err);

/** Is this a place inside the model's folder? Checks that it is there, is long enough, and counts it. */
int tare_model_check_external(struct tare_model_reader *reader, const struct tare_model_tensor *tensor,
                              int64_t length, struct tare_error *err);

#endif
