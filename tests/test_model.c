/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/model.h"

#include "onnx_make.h"
#include "scratch.h"

static void a_model_is_read(void)
{
    struct tare_buf graph = onnx_buf(), attributes = onnx_buf();
    onnx_text(&graph, 2, "main");
    onnx_int(&attributes, "axis", -1);
    onnx_ints(&attributes, "pads", (int64_t[]){1, 2, -3}, 3);
    onnx_string(&attributes, "mode", "linear");
    onnx_node(&graph, "Add", "sum", "x,,w", "y", &attributes);
    onnx_node(&graph, "ai.onnx:Relu", "", "y", "z", NULL);
    onnx_weight(&graph, "w", (int64_t[]){3, 4, -1});
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "batch,3,?");
    onnx_value(&graph, 11, "w", TARE_ELEMENT_F32, "3,4");
    onnx_value(&graph, 12, "z", TARE_ELEMENT_F16, NULL);
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    if (!model)
        return;
    CHECK_INT(model->ir_version, 8);
    CHECK_INT(model->opset, 17);
    CHECK_TEXT(model->producer, "tare tests");
    CHECK_INT(model->size_bytes, (int64_t)bytes.length);
    const struct tare_model_graph *g = &model->graph;
    CHECK_TEXT(g->name, "main");
    CHECK_INT(g->nodes_count, 2);
    CHECK_INT(g->nodes[0].inputs_count, 3);
    CHECK_TEXT(g->nodes[0].inputs[1], "");
    CHECK_INT(tare_model_attribute_int(&g->nodes[0], "axis", 7), -1);
    CHECK_INT(tare_model_attribute_int(&g->nodes[0], "none", 7), 7);
    CHECK_INT(tare_model_attribute(&g->nodes[0], "pads")->ints[2], -3);
    CHECK_TEXT(tare_model_attribute(&g->nodes[0], "mode")->s, "linear");
    CHECK(tare_model_node_is(&g->nodes[1], "Relu") && !tare_model_node_is(&g->nodes[1], "Add"));
    /* An initializer that is listed as an input is no input. */
    CHECK_INT(g->inputs_count, 1);
    CHECK_INT(g->inputs[0].rank, 3);
    CHECK_TEXT(g->inputs[0].dims[0].name, "batch");
    CHECK_INT(g->inputs[0].dims[0].value, -1);
    CHECK_INT(g->inputs[0].dims[1].value, 3);
    CHECK(g->inputs[0].dims[2].name == NULL && g->inputs[0].dims[2].value == -1);
    CHECK(!g->outputs[0].ranked);
    CHECK_INT(g->outputs[0].element, TARE_ELEMENT_F16);
    CHECK_INT(tare_model_constant(g, "w")->count, 12);
    CHECK_INT(tare_model_constant(g, "w")->raw_length, 48);
    CHECK(tare_model_constant(g, "x") == NULL && tare_model_producer(g, "x") == NULL);
    CHECK(tare_model_producer(g, "z") == &g->nodes[1]);
    tare_model_close(model);
    tare_buf_finish(&bytes);
}

static void nodes_are_put_in_order(void)
{
    struct tare_buf graph = onnx_buf();
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "1");
    onnx_node(&graph, "Relu", "last", "b", "c", NULL);
    onnx_node(&graph, "Relu", "middle", "a", "b", NULL);
    onnx_node(&graph, "Relu", "first", "x", "a", NULL);
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    if (model) {
        CHECK_INT(model->graph.order[0], 2);
        CHECK_INT(model->graph.order[1], 1);
        CHECK_INT(model->graph.order[2], 0);
    }
    tare_model_close(model);
    tare_buf_finish(&bytes);
}

/* The numbers of a tensor whose data was written in one of ONNX's ways. */
static void check_ints(struct tare_buf *tensor, int64_t first, int64_t second)
{
    struct tare_buf graph = onnx_buf();
    int64_t ints[2] = {0};
    onnx_put(&graph, 5, tensor);
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    if (model) {
        CHECK_INT(tare_model_tensor_ints(&model->graph.initializers[0], ints, 2), 2);
        CHECK_INT(ints[0], first);
        CHECK_INT(ints[1], second);
        CHECK_INT(tare_model_tensor_ints(&model->graph.initializers[0], ints, 1), -1);
    }
    tare_model_close(model);
    tare_buf_finish(&bytes);
}

static void numbers_are_read_however_they_are_stored(void)
{
    const int64_t dims[] = {2};
    struct tare_buf tensor = onnx_int64s("t", (int64_t[]){-5, 1ll << 40}, 2, false);
    check_ints(&tensor, -5, 1ll << 40);
    /* Packed, and one field each. */
    struct tare_buf packed = onnx_buf();
    tare_pb_put_varint(&packed, (uint64_t)-5);
    tare_pb_put_varint(&packed, 7);
    tensor = onnx_tensor_head("t", TARE_ELEMENT_I64, dims, 1);
    onnx_put(&tensor, 7, &packed);
    check_ints(&tensor, -5, 7);
    tensor = onnx_tensor_head("t", TARE_ELEMENT_I32, dims, 1);
    tare_pb_put_int(&tensor, 5, -5);
    tare_pb_put_int(&tensor, 5, 7);
    check_ints(&tensor, -5, 7);
    tensor = onnx_tensor_head("t", TARE_ELEMENT_I8, dims, 1);
    tare_pb_put_bytes(&tensor, 9, "\xfb\x07", 2);
    check_ints(&tensor, -5, 7);
    tensor = onnx_tensor_head("t", TARE_ELEMENT_U8, dims, 1);
    tare_pb_put_bytes(&tensor, 9, "\xfb\x07", 2);
    check_ints(&tensor, 251, 7);
}

static void subgraphs_look_outward(void)
{
    struct tare_buf inner = onnx_buf(), attributes = onnx_buf(), graph = onnx_buf();
    onnx_node(&inner, "Add", "in", "outer,w", "t", NULL);
    onnx_value(&inner, 12, "t", TARE_ELEMENT_F32, NULL);
    onnx_graph(&attributes, "then_branch", &inner);
    /* The If comes before the node that makes what its branch takes from outside. */
    onnx_node(&graph, "If", "if", "cond", "y", &attributes);
    onnx_node(&graph, "Relu", "relu", "x", "outer", NULL);
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "1");
    onnx_value(&graph, 11, "cond", TARE_ELEMENT_BOOL, "");
    onnx_weight(&graph, "w", (int64_t[]){1, -1});
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    if (model) {
        const struct tare_model_graph *branch = model->graph.nodes[0].attributes[0].graphs;
        CHECK(branch->parent == &model->graph);
        CHECK(tare_model_producer(branch, "outer") == &model->graph.nodes[1]);
        CHECK(tare_model_constant(branch, "w") != NULL);
        CHECK_INT(model->graph.order[0], 1);
        CHECK_INT(model->graph.inputs[1].rank, 0);
        CHECK(model->graph.inputs[1].ranked);
    }
    tare_model_close(model);
    tare_buf_finish(&bytes);
}

/* The message with which a graph is refused. */
static void check_refused(struct tare_buf *graph, const char *what)
{
    struct tare_buf bytes = onnx_model(graph);
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_model_open_memory(bytes.data, bytes.length, "m", &model, &err), -1);
    if (!strstr(err.msg, what))
        CHECK_TEXT(err.msg, what);
    tare_model_close(model);
    tare_buf_finish(&bytes);
}

static void what_is_not_sound_is_refused(void)
{
    struct tare_buf graph = onnx_buf();
    onnx_node(&graph, "Relu", "one", "b", "a", NULL);
    onnx_node(&graph, "Relu", "two", "a", "b", NULL);
    check_refused(&graph, "cycle through the Relu node 'one'");

    graph = onnx_buf();
    onnx_node(&graph, "Relu", "self", "a", "a", NULL);
    check_refused(&graph, "cycle");

    /* A branch that needs what its own If makes. */
    struct tare_buf inner = onnx_buf(), attributes = onnx_buf();
    graph = onnx_buf();
    onnx_node(&inner, "Relu", "", "y", "t", NULL);
    onnx_graph(&attributes, "then_branch", &inner);
    onnx_node(&graph, "If", "if", "", "y", &attributes);
    check_refused(&graph, "cycle through the If node");

    graph = onnx_buf();
    onnx_node(&graph, "Relu", "", "nowhere", "a", NULL);
    check_refused(&graph, "'nowhere' is used, but nothing makes it");

    graph = onnx_buf();
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "1");
    onnx_node(&graph, "Relu", "", "x", "a", NULL);
    onnx_node(&graph, "Relu", "", "x", "a", NULL);
    check_refused(&graph, "two things make the value 'a'");

    graph = onnx_buf();
    onnx_weight(&graph, "w", (int64_t[]){1, -1});
    onnx_weight(&graph, "w", (int64_t[]){1, -1});
    check_refused(&graph, "two tensors are called 'w'");

    graph = onnx_buf();
    onnx_node(&graph, "", "", "", "a", NULL);
    check_refused(&graph, "a node has no operator");
}

static void check_tensor_refused(struct tare_buf *tensor, const char *what)
{
    struct tare_buf graph = onnx_buf();
    onnx_put(&graph, 5, tensor);
    check_refused(&graph, what);
}

static void tensors_that_lie_are_refused(void)
{
    struct tare_buf tensor = onnx_tensor_head("w", TARE_ELEMENT_F32, (int64_t[]){1ll << 40, 1ll << 40}, 2);
    check_tensor_refused(&tensor, "'w' has impossible dimensions");
    tensor = onnx_tensor_head("w", TARE_ELEMENT_F32, (int64_t[]){-1}, 1);
    check_tensor_refused(&tensor, "impossible dimensions");
    tensor = onnx_tensor_head("w", TARE_ELEMENT_F32, (int64_t[]){1000}, 1);
    tare_pb_put_bytes(&tensor, 9, "1234", 4);
    check_tensor_refused(&tensor, "has 4 bytes where its shape needs 4000");
    tensor = onnx_tensor_head("w", TARE_ELEMENT_F32, (int64_t[]){1000}, 1);
    check_tensor_refused(&tensor, "has 0 values where its shape needs 1000");
    tensor = onnx_tensor_head("w", (enum tare_element)99, (int64_t[]){1}, 1);
    check_tensor_refused(&tensor, "unknown type");
}

static void subgraphs_may_not_nest_for_ever(void)
{
    struct tare_buf graph = onnx_buf();
    for (int i = 0; i < 5000; i++) {
        struct tare_buf outer = onnx_buf(), attributes = onnx_buf();
        onnx_graph(&attributes, "g", &graph);
        onnx_node(&outer, "If", "", "", "", &attributes);
        graph = outer;
    }
    check_refused(&graph, "nest deeper than 32");
}

static void memory_is_bounded_by_the_file(void)
{
    /* Two bytes each, and a struct of ours for each. */
    struct tare_buf graph = onnx_buf();
    for (int i = 0; i < 100000; i++)
        tare_pb_put_bytes(&graph, 13, "", 0);
    size_t size = graph.length;
    struct tare_buf bytes = onnx_model(&graph);
    struct tare_model *model = onnx_open(&bytes);
    if (model)
        CHECK(model->arena.held < 64 * size);
    tare_model_close(model);
    tare_buf_finish(&bytes);
}

static void check_file(const char *content, size_t length, const char *message)
{
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_model_open_memory(content, length, "f", &model, &err), -1);
    if (!strstr(err.msg, message))
        CHECK_TEXT(err.msg, message);
    tare_model_close(model);
}

static void other_files_are_named(void)
{
    check_file("", 0, "'f' is empty, not an ONNX model");
    check_file("hello, world\n", 13, "'f' is text, not an ONNX model");
    check_file("version https://git-lfs.github.com/spec/v1\n", 43, "run 'git lfs pull'");
    check_file("PK\x03\x04rest", 8, "a zip archive");
    check_file("\x10\x00\x00\x00ORTMxxxx", 12, "a model in ORT format");
    check_file("\x08\x08", 2, "it holds no graph");
    check_file("\x08\x08\x3a\x7f", 4, "cut short");
}

/* A model with one tensor beside it, as a file here. */
static void write_external(const char *location, const char *offset, int64_t count)
{
    struct tare_buf tensor = onnx_tensor_head("w", TARE_ELEMENT_F32, &count, 1), graph = onnx_buf();
    const char *const entries[][2] = {{"location", location}, {"offset", offset}};
    for (size_t i = 0; i < 2; i++) {
        struct tare_buf entry = onnx_buf();
        onnx_text(&entry, 1, entries[i][0]);
        onnx_text(&entry, 2, entries[i][1]);
        onnx_put(&tensor, 13, &entry);
    }
    tare_pb_put_uint(&tensor, 14, 1);
    onnx_put(&graph, 5, &tensor);
    struct tare_buf bytes = onnx_model(&graph);
    FILE *file = fopen("external.onnx", "w");
    fwrite(bytes.data, 1, bytes.length, file);
    fclose(file);
    tare_buf_finish(&bytes);
}

static void check_external(const char *location, const char *offset, int64_t count, const char *message)
{
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    write_external(location, offset, count);
    int rc = tare_model_open("external.onnx", &model, &err);
    if (message) {
        CHECK_INT(rc, -1);
        if (!strstr(err.msg, message))
            CHECK_TEXT(err.msg, message);
    } else if (rc < 0) {
        CHECK_TEXT(err.msg, "");
    } else {
        CHECK_INT(model->size_bytes, model->file_bytes + 64);
        CHECK_TEXT(model->graph.initializers[0].location, location);
    }
    tare_model_close(model);
}

static void external_data_stays_in_its_folder(void)
{
    char zeros[64] = {0};
    scratch_enter();
    FILE *file = fopen("w.bin", "w");
    fwrite(zeros, 1, sizeof zeros, file);
    fclose(file);
    check_external("w.bin", "0", 16, NULL);
    check_external("w.bin", "60", 1, NULL);
    check_external("./w.bin", "60", 1, NULL);
    check_external("w.bin", "60", 2, "runs past the end");
    check_external("w.bin", "9223372036854775806", 1, "runs past the end");
    check_external("w.bin", "-4", 1, "the offset of external data is '-4'");
    check_external("w.bin", "four", 1, "the offset of external data is 'four'");
    check_external("none.bin", "0", 1, "'none.bin' is missing: put it beside the model");
    check_external("../w.bin", "0", 1, "is outside its folder");
    check_external("a/../../w.bin", "0", 1, "is outside its folder");
    check_external("..\\w.bin", "0", 1, "is outside its folder");
    check_external("/etc/passwd", "0", 1, "is outside its folder");
    check_external("C:\\w.bin", "0", 1, "is outside its folder");
    check_external("", "0", 1, "is outside its folder");
    check_external(".", "0", 1, "is not a file");
    struct tare_model *model = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_model_open("missing.onnx", &model, &err), -1);
    CHECK_INT(err.code, TARE_E_IO);
    CHECK_INT(tare_model_open(".", &model, &err), -1);
    CHECK(strstr(err.msg, "'.' is not a file") != NULL);
    scratch_leave();
}

/* Cut anywhere, it is read or refused, and never read outside. */
static void every_cut_is_survived(void)
{
    struct tare_buf graph = onnx_buf(), inner = onnx_buf(), attributes = onnx_buf();
    onnx_node(&inner, "Relu", "r", "x", "t", NULL);
    onnx_graph(&attributes, "then_branch", &inner);
    onnx_node(&graph, "If", "if", "x", "y", &attributes);
    onnx_value(&graph, 11, "x", TARE_ELEMENT_F32, "batch,3");
    onnx_weight(&graph, "w", (int64_t[]){2, 2, -1});
    struct tare_buf bytes = onnx_model(&graph);
    size_t read = 0;
    for (size_t cut = 0; cut < bytes.length; cut++) {
        struct tare_model *model = NULL;
        struct tare_error err = {0};
        char *copy = malloc(cut + 1);
        memcpy(copy, bytes.data, cut);
        if (tare_model_open_memory(copy, cut, "cut", &model, &err) == 0)
            read++;
        else
            CHECK(err.msg[0] != '\0');
        tare_model_close(model);
        free(copy);
    }
    /* Only where the opset that follows the graph is cut off whole. */
    CHECK_INT(read, 1);
    tare_buf_finish(&bytes);
}

int main(void)
{
    RUN(a_model_is_read);
    RUN(nodes_are_put_in_order);
    RUN(numbers_are_read_however_they_are_stored);
    RUN(subgraphs_look_outward);
    RUN(what_is_not_sound_is_refused);
    RUN(tensors_that_lie_are_refused);
    RUN(subgraphs_may_not_nest_for_ever);
    RUN(memory_is_bounded_by_the_file);
    RUN(other_files_are_named);
    RUN(external_data_stays_in_its_folder);
    RUN(every_cut_is_survived);
    return check_done();
}
