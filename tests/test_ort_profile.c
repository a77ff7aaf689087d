/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ort_profile.h"

#include "base/buf.h"
#include "check.h"

static struct tare_error err;

static struct tare_ort_profile *read_text(const char *text, size_t skip)
{
    struct tare_in *in;
    struct tare_ort_profile *profile = NULL;
    if (tare_in_open_memory(text, strlen(text), "profile.json", &in, &err) < 0)
        return NULL;
    if (tare_ort_profile_read(in, skip, &profile, &err) < 0)
        profile = NULL;
    tare_in_close(in);
    return profile;
}

static void add_node(struct tare_buf *buf, const char *name, const char *op, int64_t start, int64_t length)
{
    tare_buf_printf(buf,
                    "{\"cat\" : \"Node\",\"pid\" :7,\"tid\" :7,\"dur\" :%lld,\"ts\" :%lld,\"ph\" : "
                    "\"X\",\"name\" :\"%s_kernel_time\",\"args\" : {\"op_name\" : \"%s\",\"node_index\" : "
                    "\"3\",\"output_size\" : \"24\",\"thread_scheduling_stats\" : {\"main_thread\": "
                    "{\"block_size\": [1]}},\"provider\" : \"CPUExecutionProvider\",\"input_type_shape\" : "
                    "[{\"float\":[1,16]},{\"int64\":[]}],\"output_type_shape\" : [{\"float\":[2,3]}]}},\n",
                    (long long)length, (long long)start, name, op);
}

static void add_session(struct tare_buf *buf, const char *name, int64_t start, int64_t length)
{
    tare_buf_printf(buf,
                    "{\"cat\" : \"Session\",\"pid\" :7,\"tid\" :7,\"dur\" :%lld,\"ts\" :%lld,\"ph\" : "
                    "\"X\",\"name\" :\"%s\",\"args\" : {}},\n",
                    (long long)length, (long long)start, name);
}

static const struct tare_ort_node *node_named(const struct tare_ort_profile *profile, const char *name)
{
    for (size_t i = 0; profile && i < profile->nodes_count; i++)
        if (strcmp(profile->nodes[i].name, name) == 0)
            return &profile->nodes[i];
    return NULL;
}

static void reads_times_gaps_and_shapes(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    tare_buf_add_text(&buf, "[\n");
    add_session(&buf, "session_initialization", 0, 900);
    for (int64_t call = 0; call < 3; call++) {
        int64_t at = 1000 * (call + 1);
        add_node(&buf, "a", "MatMul", at, 100 + call * 10);
        add_node(&buf, "b", "Add", at + 200, 20);
        add_session(&buf, "SequentialExecutor::Execute", at, 220);
        add_session(&buf, "model_run", at, 230);
    }
    tare_buf_add_text(&buf, "]\n");
    struct tare_ort_profile *profile = read_text(buf.data, 1);
    CHECK(profile);
    const struct tare_ort_node *a = node_named(profile, "a"), *b = node_named(profile, "b");
    CHECK(a && b);
    if (a && b) {
        CHECK_INT(profile->calls, 3);
        CHECK_INT(profile->typical, 2);
        CHECK_INT(profile->odd, 0);
        CHECK(!profile->full);
        CHECK_INT(a->calls, 3);
        CHECK_INT(a->split, 3);
        CHECK_TEXT(a->op, "MatMul");
        CHECK_TEXT(a->provider, "CPUExecutionProvider");
        CHECK_INT(a->index, 3);
        CHECK_INT(a->output_bytes, 24);
        CHECK_INT(a->activation_bytes, -1);
        CHECK_REAL(a->ns, 115e3, 1e-12);
        CHECK_REAL(a->gap_ns, 85e3, 1e-12);
        CHECK(a->has_gap && !b->has_gap);
        CHECK_REAL(profile->sum_ns, 135e3, 1e-12);
        CHECK_INT(a->inputs_count, 2);
        CHECK_INT(a->inputs[0].element, TARE_ELEMENT_F32);
        CHECK_INT(a->inputs[0].dims[1], 16);
        CHECK_INT(a->inputs[1].rank, 0);
        CHECK_INT(a->outputs_count, 1);
        CHECK_INT(a->outputs[0].dims[0], 2);
        CHECK_INT(a->outputs[0].dims[1], 3);
    }
    tare_ort_profile_destroy(profile);
    tare_buf_finish(&buf);
}

/* The middle half of eight calls: the slow one and the fast one do not count. */
static void rests_on_typical_calls(void)
{
    static const int64_t lengths[] = {50, 52, 900, 51, 10, 53, 54, 55};
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    for (int64_t call = 0; call < 8; call++) {
        add_node(&buf, "a", "MatMul", 1000 * call, lengths[call]);
        add_session(&buf, "model_run", 1000 * call, 950);
    }
    struct tare_ort_profile *profile = read_text(buf.data, 0);
    CHECK(profile && profile->typical == 4);
    if (profile)
        CHECK_REAL(profile->nodes[0].ns, (51 + 52 + 53 + 54) * 1e3 / 4, 1e-12);
    tare_ort_profile_destroy(profile);
    tare_buf_finish(&buf);
}

/* Sixteen typical calls of the same length, of which one was stopped in this node and one in that. */
static void leaves_stops_out(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    for (int64_t call = 0; call < 32; call++) {
        add_node(&buf, "a", "MatMul", 10000 * call, call == 3 ? 4050 : 50 + call % 2);
        add_node(&buf, "b", "Add", 10000 * call + 5000, call == 3 ? 5 : call == 6 ? 4005 : 5 + call % 2);
        add_session(&buf, "model_run", 10000 * call, 9950);
    }
    struct tare_ort_profile *profile = read_text(buf.data, 0);
    CHECK(profile && profile->typical == 16);
    if (profile) {
        CHECK(profile->nodes[0].ns >= 50e3 && profile->nodes[0].ns <= 51e3);
        CHECK(profile->nodes[1].ns >= 5e3 && profile->nodes[1].ns <= 6e3);
        CHECK(profile->nodes[1].low_ns >= 5e3 && profile->nodes[1].low_ns <= profile->nodes[1].ns);
        CHECK(profile->nodes[0].error_ns < 200);
    }
    tare_ort_profile_destroy(profile);
    tare_buf_clear(&buf);
    for (int64_t call = 0; call < 32; call++) { /* every call is stopped somewhere */
        for (int64_t k = 0; k < 32; k++) {
            char name[8];
            snprintf(name, sizeof name, "n%d", (int)k);
            add_node(&buf, name, "Add", 100000 * call + 1000 * k, k == call ? 905 : 5);
        }
        add_session(&buf, "model_run", 100000 * call, 99000);
    }
    profile = read_text(buf.data, 0);
    CHECK(profile && profile->nodes_count == 32);
    if (profile)
        CHECK_REAL(profile->sum_ns, 32 * 5e3, 1e-9);
    tare_ort_profile_destroy(profile);
    tare_buf_finish(&buf);
}

static void does_not_add_bodies_to_their_node(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    add_node(&buf, "before", "Add", 0, 10);
    for (int64_t k = 0; k < 2; k++) { /* two turns of a loop, of 40 each */
        add_node(&buf, "body/x", "Mul", 100 + 50 * k, 15);
        add_node(&buf, "body/y", "Mul", 120 + 50 * k, 15);
        add_session(&buf, "SequentialExecutor::Execute", 98 + 50 * k, 40);
    }
    add_node(&buf, "loop", "Loop", 90, 120);
    add_node(&buf, "after", "Add", 215, 10);
    add_session(&buf, "SequentialExecutor::Execute", 0, 230);
    add_session(&buf, "model_run", 0, 240);
    struct tare_ort_profile *profile = read_text(buf.data, 0);
    CHECK(profile);
    const struct tare_ort_node *loop = node_named(profile, "loop"), *x = node_named(profile, "body/x"),
                               *after = node_named(profile, "after");
    CHECK(loop && x && after);
    if (loop && x && after) {
        CHECK_REAL(loop->ns, 40e3, 1e-12);
        CHECK(!loop->nested && x->nested && !after->nested);
        CHECK_INT(x->calls, 2);
        CHECK_REAL(x->ns, 30e3, 1e-12);
        CHECK_REAL(loop->gap_ns, 5e3, 1e-12);
        CHECK_REAL(profile->sum_ns, 120e3, 1e-12);
    }
    tare_ort_profile_destroy(profile);
    tare_buf_finish(&buf);
}

static void takes_names_that_break_json(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    add_node(&buf, "say \"hi\", \\ and {", "Add", 0, 10);
    add_node(&buf, "\"args\" : 1", "Add", 20, 10);
    add_node(&buf, "", "Add", 40, 10);
    tare_buf_add_text(&buf, "{\"cat\" : \"Node\",\"tid\" :1,\"dur\" :99999999999999999999,\"ts\" :1,\"name\" "
                            ":\"x_kernel_time\",\"args\" : {}},\nnonsense\n{\"cat\" : \"No");
    add_session(&buf, "", 0, 1);
    add_session(&buf, "model_run", 0, 60);
    struct tare_ort_profile *profile = read_text(buf.data, 0);
    CHECK(profile);
    CHECK(node_named(profile, "say \"hi\", \\ and {"));
    CHECK(node_named(profile, "\"args\" : 1"));
    CHECK(node_named(profile, ""));
    if (profile)
        CHECK_INT(profile->odd, 2);
    tare_ort_profile_destroy(profile);
    tare_buf_finish(&buf);
}

static void refuses_what_is_no_profile(void)
{
    CHECK(!read_text("", 0));
    CHECK(strstr(err.msg, "no complete call"));
    CHECK(!read_text("[]\n", 0));
    CHECK(!read_text("{\"a\": 1}\n", 0));
    struct tare_buf buf;
    tare_buf_init(&buf, 1 << 20);
    add_node(&buf, "a", "Add", 0, 10); /* cut short: the call never ends */
    CHECK(!read_text(buf.data, 0));
    tare_buf_finish(&buf);
}

/* The runtime stops writing at a million events; the calls before that are whole. */
static void says_when_events_were_dropped(void)
{
    struct tare_buf buf;
    tare_buf_init(&buf, (size_t)1 << 30);
    for (int64_t call = 0; call < TARE_ORT_PROFILE_EVENTS / 4; call++) {
        int64_t at = call * 100;
        tare_buf_printf(
            &buf,
            "{\"cat\":\"Node\",\"tid\":1,\"dur\":5,\"ts\":%lld,\"name\":\"a_kernel_time\",\"args\":{"
            "\"op_name\":\"Add\"}},\n{\"cat\":\"Node\",\"tid\":1,\"dur\":7,\"ts\":%lld,\"name\":\"b_"
            "kernel_time\",\"args\":{\"op_name\":\"Add\"}},\n",
            (long long)at, (long long)at + 10);
        add_session(&buf, "SequentialExecutor::Execute", at, 20);
        add_session(&buf, "model_run", at, 20);
    }
    struct tare_ort_profile *profile = read_text(buf.data, 0);
    CHECK(profile && profile->full);
    if (profile) {
        CHECK_INT(profile->calls, TARE_ORT_PROFILE_EVENTS / 4);
        CHECK_REAL(profile->sum_ns, 12e3, 1e-9);
    }
    tare_ort_profile_destroy(profile);
    tare_buf_finish(&buf);
}

int main(void)
{
    RUN(reads_times_gaps_and_shapes);
    RUN(rests_on_typical_calls);
    RUN(leaves_stops_out);
    RUN(does_not_add_bodies_to_their_node);
    RUN(takes_names_that_break_json);
    RUN(refuses_what_is_no_profile);
    RUN(says_when_events_were_dropped);
    return check_done();
}
