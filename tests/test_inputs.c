/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/inputs.h"

#include "onnx_make.h"
#include "scratch.h"

/* A model of inputs alone, all of one kind; names and shapes alternate and end with NULL. */
static struct tare_buf inputs_only(enum tare_element element, const char *const *texts)
{
    struct tare_buf graph = onnx_buf();
    for (; *texts; texts += 2)
        onnx_value(&graph, 11, texts[0], element, texts[1]);
    return onnx_model(&graph);
}

struct fed {
    struct tare_buf bytes;
    struct tare_model *model;
    struct tare_arena arena;
    struct tare_inputs inputs;
    struct tare_error err;
    int rc;
};

static struct fed feed(struct tare_buf bytes, const struct tare_inputs_ask *ask)
{
    struct fed fed = {.bytes = bytes, .rc = -1};
    tare_arena_init(&fed.arena, 0);
    fed.model = onnx_open(&fed.bytes);
    if (fed.model)
        fed.rc = tare_inputs_make(fed.model, ask, &fed.arena, &fed.inputs, &fed.err);
    return fed;
}

static void fed_finish(struct fed *fed)
{
    tare_model_close(fed->model);
    tare_arena_finish(&fed->arena);
    tare_buf_finish(&fed->bytes);
}

/* ids -> Cast -> Unsqueeze -> Gather(rows), and a mask and types beside them. */
static struct tare_buf text_model(int64_t rows)
{
    struct tare_buf graph = onnx_buf();
    onnx_value(&graph, 11, "input_ids", TARE_ELEMENT_I64, "batch,seq");
    onnx_value(&graph, 11, "attention_mask", TARE_ELEMENT_I64, "batch,seq");
    onnx_value(&graph, 11, "token_type_ids", TARE_ELEMENT_I32, "batch,seq");
    onnx_value(&graph, 11, "position_ids", TARE_ELEMENT_I64, "batch,seq");
    onnx_weight(&graph, "table", (int64_t[]){rows, 4, -1});
    onnx_node(&graph, "Cast", "", "input_ids", "a", NULL);
    onnx_node(&graph, "Unsqueeze", "", "a", "b", NULL);
    onnx_node(&graph, "Gather", "", "table,b", "y", NULL);
    return onnx_model(&graph);
}

static void texts_are_fed(void)
{
    struct tare_inputs_ask ask = {.batch = 3};
    struct fed fed = feed(text_model(7), &ask);
    CHECK_INT(fed.rc, 0);
    if (fed.rc == 0) {
        CHECK_INT(fed.inputs.batch, 3);
        CHECK_INT(fed.inputs.sequence, 128);
        CHECK_TEXT(fed.inputs.assumed, "seq=128");
        CHECK_INT(fed.inputs.dims_count, 1);
        CHECK_TEXT(fed.inputs.dims[0].name, "seq");
        CHECK(fed.inputs.batch_fixed == NULL);
        CHECK_TEXT(tare_inputs_unit(fed.model), "texts");
        CHECK(tare_inputs_has_dim(fed.model, "seq") && tare_inputs_has_dim(fed.model, "input_ids.1"));
        CHECK(!tare_inputs_has_dim(fed.model, "height"));
        double highest = 0;
        for (size_t i = 0; i < 3 * 128; i++) {
            double id = tare_tensor_get(&fed.inputs.tensors[0], i);
            CHECK(id >= 0 && id < 7);
            highest = id > highest ? id : highest;
            CHECK_REAL(tare_tensor_get(&fed.inputs.tensors[1], i), 1, 0);
            CHECK_REAL(tare_tensor_get(&fed.inputs.tensors[2], i), 0, 0);
            CHECK_REAL(tare_tensor_get(&fed.inputs.tensors[3], i), (double)(i % 128), 0);
        }
        CHECK_REAL(highest, 6, 0);
    }
    fed_finish(&fed);
}

static void a_sample_is_the_same_in_every_batch(void)
{
    struct tare_inputs_ask eight = {.batch = 8}, alone = {.batch = 1, .first = 5};
    struct fed many = feed(text_model(30000), &eight), one = feed(text_model(30000), &alone);
    if (many.rc == 0 && one.rc == 0) {
        const int64_t *all = many.inputs.tensors[0].data, *single = one.inputs.tensors[0].data;
        CHECK(memcmp(all + (ptrdiff_t)5 * 128, single, 128 * sizeof *single) == 0);
        CHECK(memcmp(all + (ptrdiff_t)4 * 128, single, 128 * sizeof *single) != 0);
    }
    fed_finish(&many);
    fed_finish(&one);
}

/* Samples of a state lie along its second axis. */
static void streams_are_fed(void)
{
    struct tare_buf graph = onnx_buf();
    onnx_value(&graph, 11, "input", TARE_ELEMENT_F32, "?,?");
    onnx_value(&graph, 11, "state", TARE_ELEMENT_F32, "2,?,128");
    onnx_value(&graph, 11, "sr", TARE_ELEMENT_I64, "");
    struct tare_inputs_ask ask = {.batch = 3};
    struct fed fed = feed(onnx_model(&graph), &ask);
    CHECK_INT(fed.rc, 0);
    if (fed.rc == 0) {
        const struct tare_tensor *tensors = fed.inputs.tensors;
        CHECK_INT(tensors[0].dims[1], 576);
        CHECK_TEXT(fed.inputs.assumed, "input.1=576");
        CHECK_INT(tensors[1].dims[1], 3);
        CHECK_REAL(tare_tensor_get(&tensors[1], 100), 0, 0);
        CHECK_INT(tensors[2].rank, 0);
        CHECK_REAL(tare_tensor_get(&tensors[2], 0), 16000, 0);
        CHECK_TEXT(tare_inputs_unit(fed.model), "samples");
    }
    fed_finish(&fed);
}

static void images_are_fed(void)
{
    static const char *const free_image[] = {"images", "batch,3,height,width", NULL};
    struct tare_run_dim dims[] = {{"height", 8}, {"images.3", 6}};
    struct tare_inputs_ask ask = {.batch = 2, .dims = dims, .dims_count = 2};
    struct fed fed = feed(inputs_only(TARE_ELEMENT_F16, free_image), &ask);
    CHECK_INT(fed.rc, 0);
    if (fed.rc == 0) {
        CHECK_INT(fed.inputs.tensors[0].bytes, 2 * 3 * 8 * 6 * 2);
        CHECK(fed.inputs.assumed == NULL);
        CHECK_TEXT(tare_inputs_unit(fed.model), "images");
        for (size_t i = 0; i < (size_t)2 * 3 * 8 * 6; i++) {
            double pixel = tare_tensor_get(&fed.inputs.tensors[0], i);
            CHECK(pixel >= 0 && pixel <= 1);
        }
    }
    fed_finish(&fed);
    /* Channels last, bytes, names that say nothing. */
    static const char *const bytes_last[] = {"x", "?,?,?,3", NULL};
    ask = (struct tare_inputs_ask){.batch = 1};
    fed = feed(inputs_only(TARE_ELEMENT_U8, bytes_last), &ask);
    CHECK_INT(fed.rc, 0);
    if (fed.rc == 0) {
        CHECK_TEXT(fed.inputs.assumed, "height=224, width=224");
        double highest = 0;
        for (size_t i = 0; i < fed.inputs.tensors[0].bytes; i++)
            highest = fmax(highest, tare_tensor_get(&fed.inputs.tensors[0], i));
        CHECK_REAL(highest, 255, 0);
    }
    fed_finish(&fed);
}

static void a_decoder_starts_without_a_past(void)
{
    struct tare_buf graph = onnx_buf();
    onnx_value(&graph, 11, "input_ids", TARE_ELEMENT_I64, "batch,sequence_length");
    onnx_value(&graph, 11, "attention_mask", TARE_ELEMENT_I64,
               "batch,past_sequence_length + sequence_length");
    onnx_value(&graph, 11, "past_key_values.0.key", TARE_ELEMENT_F32, "batch,2,past_sequence_length,8");
    struct tare_run_dim dims[] = {{"seq", 5}, {"past_sequence_length", 3}};
    struct tare_inputs_ask ask = {.dims = dims, .dims_count = 2};
    struct fed fed = feed(onnx_model(&graph), &ask);
    CHECK_INT(fed.rc, 0);
    if (fed.rc == 0) {
        CHECK_INT(fed.inputs.batch, 1);
        CHECK_INT(fed.inputs.tensors[1].dims[1], 8);
        CHECK_INT(fed.inputs.tensors[2].dims[2], 3);
    }
    fed_finish(&fed);
}

static void check_refused(struct tare_buf bytes, const struct tare_inputs_ask *ask, const char *what)
{
    struct fed fed = feed(bytes, ask);
    CHECK_INT(fed.rc, -1);
    if (!strstr(fed.err.msg, what))
        CHECK_TEXT(fed.err.msg, what);
    fed_finish(&fed);
}

static void what_cannot_be_fed_is_refused(void)
{
    static const char *const fixed[] = {"x", "1,3,224,224", NULL}, *const odd[] = {"x", "batch,5,a,b", NULL};
    static const char *const unranked[] = {"x", NULL, NULL}, *const big[] = {
                                                                 "x", "1099511627776,1099511627776", NULL};
    struct tare_inputs_ask none = {0}, eight = {.batch = 8};
    check_refused(inputs_only(TARE_ELEMENT_F32, fixed), &eight, "fixed at 1 (input 'x' is 1x3x224x224)");
    check_refused(inputs_only(TARE_ELEMENT_F32, odd), &none, "leaves sizes open: give --dim a=N --dim b=N");
    check_refused(inputs_only(TARE_ELEMENT_STRING, fixed), &none, "takes texts");
    check_refused(inputs_only(TARE_ELEMENT_I4, fixed), &none, "type int4, which cannot be fed");
    check_refused(inputs_only(TARE_ELEMENT_F32, unranked), &none, "has no shape in the model");
    check_refused(inputs_only(TARE_ELEMENT_F32, big), &none, "input 'x' cannot be made");
    struct tare_run_dim wrong = {"sequ", 5}, alien = {"depth", 5}, twice = {"batch", 5}, minus = {"seq", -5};
    struct tare_inputs_ask ask = {.dims = &wrong, .dims_count = 1};
    check_refused(text_model(7), &ask, "has no free dimension 'sequ'; did you mean 'seq'?");
    ask.dims = &alien;
    check_refused(text_model(7), &ask, "has no free dimension 'depth'; it has: batch, seq");
    ask.dims = &minus;
    check_refused(text_model(7), &ask, "out of range");
    ask.dims = &twice;
    ask.batch = 4;
    check_refused(text_model(7), &ask, "both 4 and 5");
}

/* A .npy of int64, two dimensions. */
static void write_npy(const char *path, const char *descr, const char *shape, const void *data, size_t length)
{
    char header[128];
    int n =
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': %s}", descr, shape);
    FILE *file = fopen(path, "w");
    fwrite("\x93NUMPY\1\0", 1, 8, file);
    fputc(n, file);
    fputc(0, file);
    fwrite(header, 1, (size_t)n, file);
    fwrite(data, 1, length, file);
    fclose(file);
}

static void a_file_is_fed(void)
{
    static const int64_t ids[] = {1, 2, 3, 4, 5, 6};
    scratch_enter();
    write_npy("ids.npy", "<i8", "(3, 2)", ids, sizeof ids);
    write_npy("floats.npy", "<f8", "(3, 2)", ids, sizeof ids);
    write_npy("deep.npy", "<i8", "(3, 2, 1)", ids, sizeof ids);
    struct tare_inputs_ask ask = {.batch = 5, .path = "ids.npy", .first = 1};
    struct fed fed = feed(text_model(7), &ask);
    CHECK_INT(fed.rc, 0);
    if (fed.rc == 0) {
        /* Samples 1, 2, 0, 1, 2: a file that is too short is gone through again. */
        static const int64_t want[] = {3, 4, 5, 6, 1, 2, 3, 4, 5, 6};
        CHECK(memcmp(fed.inputs.tensors[0].data, want, sizeof want) == 0);
        CHECK_INT(fed.inputs.samples, 3);
        CHECK_INT(fed.inputs.tensors[1].dims[1], 2);
        CHECK(fed.inputs.assumed == NULL);
    }
    fed_finish(&fed);
    ask = (struct tare_inputs_ask){.path = "ids.npy"};
    fed = feed(text_model(7), &ask);
    CHECK_INT(fed.inputs.batch, 3);
    fed_finish(&fed);
    struct tare_run_dim seq = {"seq", 4};
    ask.dims = &seq;
    ask.dims_count = 1;
    check_refused(text_model(7), &ask, "has 2 along axis 1 where seq is 4");
    ask = (struct tare_inputs_ask){.path = "floats.npy"};
    check_refused(text_model(7), &ask,
                  "is float64 where the model takes int64: save it with .astype('int64')");
    ask.path = "deep.npy";
    check_refused(text_model(7), &ask, "has 3 dimensions where the model takes 2");
    ask.path = "none.npy";
    check_refused(text_model(7), &ask, "cannot open 'none.npy'");
    scratch_leave();
}

int main(void)
{
    RUN(texts_are_fed);
    RUN(a_sample_is_the_same_in_every_batch);
    RUN(streams_are_fed);
    RUN(images_are_fed);
    RUN(a_decoder_starts_without_a_past);
    RUN(what_cannot_be_fed_is_refused);
    RUN(a_file_is_fed);
    return check_done();
}
