/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tax.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/fusions.h"
#include "bench/model_repeat.h"
#include "bench/model_write.h"
#include "check.h"

static struct tare_error err;
static const struct tare_ort_shape shape = {.element = TARE_ELEMENT_F32, .ranked = true, .rank = 3};

static struct tare_ort_node node_of(double gap_ns, size_t inputs)
{
    static const struct tare_ort_shape shapes[2] = {{.ranked = true, .rank = 3}, {.ranked = true, .rank = 3}};
    return (struct tare_ort_node){.name = "n",
                                  .op = "Add",
                                  .provider = "",
                                  .calls = 10,
                                  .inputs = shapes,
                                  .inputs_count = inputs,
                                  .outputs = &shape,
                                  .outputs_count = 1,
                                  .gap_ns = gap_ns,
                                  .has_gap = gap_ns > 0};
}

static const struct tare_tax tax = {.base = 0.5, .input = 0.1, .output = 0.2, .dimension = 0.01, .split = 2};

static void grows_with_what_a_node_has(void)
{
    struct tare_ort_node one = node_of(4000, 1), two = node_of(4000, 2);
    CHECK_REAL(tare_tax_of(&tax, &one, 10, 4000), (0.5 + 0.1 + 0.2 + 6 * 0.01) * 4000, 1e-12);
    CHECK_REAL(tare_tax_of(&tax, &two, 10, 4000), (0.5 + 0.2 + 0.2 + 9 * 0.01) * 4000, 1e-12);
    two.split = 5; /* half of its runs were shared among threads */
    CHECK_REAL(tare_tax_of(&tax, &two, 10, 4000), (0.5 + 0.2 + 0.2 + 9 * 0.01 + 1) * 4000, 1e-12);
    two.calls = 30; /* a body that ran three times in each call */
    two.split = 0;
    CHECK_REAL(tare_tax_of(&tax, &two, 10, 4000), 3 * (0.5 + 0.2 + 0.2 + 9 * 0.01) * 4000, 1e-12);
}

static void follows_the_gap_within_reason(void)
{
    struct tare_ort_node cold = node_of(6000, 1), stop = node_of(90000, 1), none = node_of(0, 1);
    double share = 0.5 + 0.1 + 0.2 + 6 * 0.01;
    CHECK_REAL(tare_tax_of(&tax, &cold, 10, 4000), share * 6000, 1e-12);
    CHECK_REAL(tare_tax_of(&tax, &stop, 10, 4000), share * 8000, 1e-12);
    CHECK_REAL(tare_tax_of(&tax, &none, 10, 4000), share * 4000, 1e-12);
    const struct tare_ort_node nodes[] = {cold, stop, none, node_of(5000, 1)};
    struct tare_ort_profile profile = {.nodes = nodes, .nodes_count = 4};
    CHECK_REAL(tare_tax_gap(&profile), 6000, 1e-12); /* the one without a gap does not count */
    profile.nodes_count = 0;
    CHECK_REAL(tare_tax_gap(&profile), 0, 0);
}

/* What the writer makes, the reader reads. */
static struct tare_model *write_and_read(struct tare_model_writer *writer, const char *name)
{
    char path[256];
    struct tare_model *model = NULL;
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tare-%s-%d.onnx", folder ? folder : "/tmp", name, (int)getpid());
    CHECK_INT(tare_model_writer_save(writer, path, &err), 0);
    if (tare_model_open(path, &model, &err) < 0) {
        check_report(__FILE__, __LINE__, err.msg);
        model = NULL;
    }
    unlink(path);
    return model;
}

static void begin(struct tare_model_writer *writer)
{
    static const int64_t square[] = {4, 4}, row[] = {4}, one[] = {1};
    static float values[16];
    tare_model_writer_init(writer);
    tare_model_writer_input(writer, "x", TARE_ELEMENT_F32, square, 2);
    tare_model_writer_output(writer, "y", TARE_ELEMENT_F32, square, 2);
    const struct tare_tensor tensors[] = {
        {.name = "w", .element = TARE_ELEMENT_F32, .dims = {4, 4}, .rank = 2, .data = values, .bytes = 64},
        {.name = "bias",
         .element = TARE_ELEMENT_F32,
         .dims = {row[0]},
         .rank = 1,
         .data = values,
         .bytes = 16},
        {.name = "scale",
         .element = TARE_ELEMENT_F32,
         .dims = {one[0]},
         .rank = 1,
         .data = values,
         .bytes = 4},
    };
    for (size_t i = 0; i < 3; i++)
        tare_model_writer_weight(writer, &tensors[i]);
}

static void add(struct tare_model_writer *writer, const char *op, const char *a, const char *b,
                const char *out)
{
    const char *const inputs[] = {a, b};
    tare_model_writer_node(writer, op, out, inputs, b ? 2 : 1, &out, 1, NULL, 0);
}

static void writes_models(void)
{
    struct tare_model_writer writer;
    begin(&writer);
    const char *const inputs[] = {"x"}, *const outputs[] = {"a", "b"};
    tare_model_writer_node(&writer, "Split", "fork", inputs, 1, outputs, 2, "axis", 1);
    add(&writer, "Concat", "a", "b", "y");
    struct tare_model *model = write_and_read(&writer, "written");
    if (model) {
        CHECK_INT(model->graph.nodes_count, 2);
        CHECK_TEXT(model->graph.nodes[0].name, "fork");
        CHECK_INT(tare_model_attribute_int(&model->graph.nodes[0], "axis", 0), 1);
        CHECK_INT(model->graph.initializers_count, 3);
        CHECK_INT(model->graph.initializers[0].count, 16);
        CHECK_INT(model->graph.inputs[0].dims[1].value, 4);
    }
    tare_model_close(model);
    tare_model_writer_finish(&writer);
}

/* A chain of four, of which the middle two run twice more. */
static void repeats_nodes(void)
{
    struct tare_model_writer writer;
    struct tare_model *copy = NULL;
    char path[256];
    begin(&writer);
    add(&writer, "MatMul", "x", "w", "a");
    add(&writer, "Add", "a", "bias", "b");
    const char *const inputs[] = {"b"}, *const outputs[] = {"c"};
    tare_model_writer_node(&writer, "Softmax", "soft", inputs, 1, outputs, 1, "axis", 1);
    add(&writer, "MatMul", "c", "b", "y");
    struct tare_model *model = write_and_read(&writer, "once");
    const bool chosen[] = {false, true, true, false};
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tare-again-%d.onnx", folder ? folder : "/tmp", (int)getpid());
    if (model) {
        CHECK_INT(tare_model_repeat(model, chosen, 2, path, &err), 0);
        CHECK_INT(tare_model_open(path, &copy, &err), 0);
        unlink(path);
    }
    if (copy) {
        const struct tare_model_node *nodes = copy->graph.nodes;
        CHECK_INT(copy->graph.nodes_count, 8);
        CHECK_INT(copy->graph.initializers_count, 3);
        CHECK_TEXT(nodes[3].outputs[0], "y");
        CHECK_TEXT(nodes[4].op, "Add");
        CHECK_TEXT(nodes[4].inputs[0], "a"); /* made once */
        CHECK_TEXT(nodes[4].inputs[1], "bias");
        CHECK_TEXT(nodes[5].name, "soft/tare-again-1");
        CHECK_TEXT(nodes[5].inputs[0], nodes[4].outputs[0]); /* a chain stays one */
        CHECK_INT(tare_model_attribute_int(&nodes[5], "axis", 0), 1);
        CHECK_TEXT(nodes[7].inputs[0], nodes[6].outputs[0]);
        CHECK(strcmp(nodes[6].outputs[0], nodes[4].outputs[0]) != 0);
        tare_model_close(copy);
    }
    copy = NULL;
    if (model) {
        CHECK_INT(tare_model_repeat(model, chosen, 0, path, &err), 0);
        CHECK_INT(tare_model_open(path, &copy, &err), 0);
        unlink(path);
        CHECK(copy && copy->map_length == model->map_length &&
              memcmp(copy->map, model->map, model->map_length) == 0);
    }
    tare_model_close(copy);
    tare_model_close(model);
    tare_model_writer_finish(&writer);
}

static const struct tare_run_fusion *fusion(const struct tare_run *run, const char *name)
{
    for (size_t i = 0; i < run->model.fusions_count; i++)
        if (strcmp(run->model.fusions[i].name, name) == 0)
            return &run->model.fusions[i];
    return NULL;
}

static void tells_what_was_fused_and_what_was_not(void)
{
    struct tare_model_writer before, after;
    begin(&before); /* attention, then a dense layer, a bias and a gelu */
    add(&before, "MatMul", "x", "w", "q");
    add(&before, "Div", "q", "scale", "scaled");
    add(&before, "Softmax", "scaled", NULL, "p");
    add(&before, "MatMul", "p", "x", "attended");
    add(&before, "MatMul", "attended", "w", "dense");
    add(&before, "Add", "dense", "bias", "biased");
    add(&before, "Div", "biased", "scale", "halved");
    add(&before, "Erf", "halved", NULL, "y");
    begin(&after); /* the gelu and its bias became one, the scale went into the product */
    add(&after, "FusedMatMul", "x", "w", "scaled");
    add(&after, "Softmax", "scaled", NULL, "p");
    add(&after, "MatMul", "p", "x", "attended");
    add(&after, "MatMul", "attended", "w", "dense");
    add(&after, "BiasGelu", "dense", "bias", "y");
    struct tare_model *original = write_and_read(&before, "before"),
                      *optimised = write_and_read(&after, "after");
    struct tare_run *run = NULL;
    CHECK_INT(tare_run_create(0, &run, &err), 0);
    if (original && optimised && run) {
        CHECK_INT(tare_fusions_find(original, optimised, run, &run->model, &err), 0);
        static const struct {
            const char *name;
            int found, possible;
        } wanted[] = {
            {"Attention", 0, 1}, {"Gelu", 1, 1}, {"BiasGelu", 1, 1}, {"FusedMatMul (scaled)", 1, 1}};
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            const struct tare_run_fusion *row = fusion(run, wanted[i].name);
            CHECK(row);
            if (row) {
                CHECK_INT(row->found.value, wanted[i].found);
                CHECK_INT(row->possible.value, wanted[i].possible);
                CHECK(!row->text == (wanted[i].found == wanted[i].possible));
            }
        }
        CHECK(!fusion(run, "Conv and activation"));
    }
    tare_run_destroy(run);
    tare_model_close(original);
    tare_model_close(optimised);
    tare_model_writer_finish(&before);
    tare_model_writer_finish(&after);
}

int main(void)
{
    RUN(grows_with_what_a_node_has);
    RUN(follows_the_gap_within_reason);
    RUN(writes_models);
    RUN(repeats_nodes);
    RUN(tells_what_was_fused_and_what_was_not);
    return check_done();
}
