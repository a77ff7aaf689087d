/* SPDX-License-Identifier: Apache-2.0 */
/* The run: written, read and written again; what a bad file is told; what follows from its samples. */
#include <dirent.h>
#include <stdlib.h>

#include "check.h"
#include "core/run_fields.h"
#include "report/run_report.h"
#include "run_samples.h"

static const char *data_folder;

/* Written in a format; the caller frees it. */
static char *written(const struct tare_run *run, const struct tare_run_writer *writer)
{
    struct tare_out out;
    tare_out_init_memory(&out, (size_t)64 << 20);
    writer->write(run, &out);
    CHECK(!out.failed);
    char *text = strdup(out.buf.data);
    tare_out_finish(&out);
    return text;
}

static char *json_of(const struct tare_run *run)
{
    return written(run, &tare_run_writer_json);
}

/* Read text, write it; NULL and the message in err when it is refused. */
static char *again(const char *text, struct tare_error *err)
{
    struct tare_run *run = NULL;
    if (tare_run_read(text, strlen(text), "t", &run, err))
        return NULL;
    char *result = json_of(run);
    tare_run_destroy(run);
    return result;
}

static void check_round_trip(struct tare_run *run)
{
    struct tare_error err = {0};
    CHECK(run != NULL);
    if (!run)
        return;
    CHECK_INT(tare_run_check(run, "sample", &err), 0);
    char *first = json_of(run);
    char *second = again(first, &err);
    CHECK_TEXT(second ? second : err.msg, first);
    free(first);
    free(second);
    tare_run_destroy(run);
}

static void written_read_and_written_again_is_equal(void)
{
    check_round_trip(run_sample_full());
    check_round_trip(run_sample_small());
}

/* The filler knows every key, so each must be in the text. */
static void check_keys(const struct tare_run_shape *shape, const char *text)
{
    CHECK(shape->field_count <= 64);
    for (size_t i = 0; i < shape->field_count; i++) {
        char key[80];
        snprintf(key, sizeof key, "\"%s\": ", shape->fields[i].key);
        if (!strstr(text, key))
            check_report(__FILE__, __LINE__, key);
        if (shape->fields[i].shape)
            check_keys(shape->fields[i].shape, text);
    }
}

static void every_key_is_written(void)
{
    struct tare_run *run = run_sample_full();
    char *text = json_of(run);
    check_keys(&tare_run_shape, text);
    free(text);
    tare_run_destroy(run);
}

static void saved_files_are_kept_to_the_byte(void)
{
    struct dirent *entry;
    int files = 0;
    DIR *folder = opendir(data_folder);
    CHECK(folder != NULL);
    while (folder && (entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        char path[1024];
        struct tare_in *in = NULL;
        struct tare_run *run = NULL;
        struct tare_buf text;
        struct tare_error err = {0};
        snprintf(path, sizeof path, "%s/%s", data_folder, entry->d_name);
        tare_buf_init(&text, (size_t)1 << 24);
        CHECK_INT(tare_in_open(path, &in, &err), 0);
        CHECK_INT(tare_in_all(in, &text, &err), 0);
        CHECK(tare_run_recognise((const uint8_t *)text.data, text.length < 4096 ? text.length : 4096, false));
        CHECK_INT(tare_in_rewind(in, &err), 0);
        if (tare_run_load(in, &run, &err) == 0) {
            char *result = json_of(run);
            CHECK_TEXT(result, text.data);
            free(result);
        } else {
            check_report(__FILE__, __LINE__, err.msg);
        }
        files++;
        tare_run_destroy(run);
        tare_in_close(in);
        tare_buf_finish(&text);
    }
    if (folder)
        closedir(folder);
    CHECK(files >= 4);
}

static void what_is_not_known_stays_absent(void)
{
    struct tare_run *run = NULL;
    struct tare_error err;
    CHECK_INT(tare_run_create(0, &run, &err), 0);
    tare_run_stamp(run, 0);
    struct tare_run_config *config =
        tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs);
    CHECK(config != NULL);
    if (!config)
        return;
    config->status = TARE_RUN_MEASURED;
    config->memory.growth_bytes.value = tare_run_real((double)NAN);
    char *text = json_of(run);
    CHECK_TEXT(text, "{\n  \"schema\": \"tare.run/1\",\n  \"tool_version\": \"" TARE_VERSION "\",\n"
                     "  \"timestamp\": \"1970-01-01T00:00:00Z\",\n  \"unit\": \"samples\",\n"
                     "  \"system\": {\n    \"device\": null,\n    \"model\": null\n  },\n"
                     "  \"batch_profiles\": [\n    {\n      \"batch_size\": null,\n"
                     "      \"throughput_samples_per_sec\": null,\n      \"latency_ms_per_sample\": null,\n"
                     "      \"memory_delta_mb\": null,\n      \"accuracy_metrics\": {},\n"
                     "      \"stable\": true,\n      \"configuration\": 0\n    }\n  ],\n"
                     "  \"bottlenecks\": [],\n  \"recommendations\": [],\n"
                     "  \"configurations\": [\n    {\n      \"status\": \"measured\"\n    }\n  ]\n}\n");
    free(text);
    tare_run_destroy(run);
}

static void unknown_keys_are_kept(void)
{
    const char *text =
        "{\"schema\":\"tare.run/1\",\"timestamp\":\"2026-01-31T12:00:00.25Z\",\"unit\":\"texts\","
        "\"later\":{\"a\":[1,{\"b\":null}]},\"model\":{\"colour\":\"red\"},"
        "\"machine\":{\"cpu\":{\"model\":\"A\",\"new\":3},\"fresh\":1.5},"
        "\"configurations\":[{\"status\":\"measured\",\"samples\":[{\"process\":0,\"ns\":[1],"
        "\"pid\":77}],\"latency\":{\"p50_ns\":{\"value\":1,\"why\":\"x\"}}}]}";
    static const char *const kept[] = {"\"later\": {",   "\"b\": null", "\"colour\": \"red\"", "\"new\": 3",
                                       "\"fresh\": 1.5", "\"pid\": 77", "\"why\": \"x\""};
    struct tare_error err = {0};
    char *first = again(text, &err);
    CHECK(first != NULL);
    for (size_t i = 0; first && i < sizeof kept / sizeof kept[0]; i++)
        if (!strstr(first, kept[i]))
            check_report(__FILE__, __LINE__, kept[i]);
    char *second = first ? again(first, &err) : NULL;
    CHECK_TEXT(second ? second : err.msg, first ? first : "");
    free(first);
    free(second);
}

static void the_machine_is_read(void)
{
    const char *text = "{\"schema\":\"tare.run/1\",\"timestamp\":\"2026-01-31T12:00:00Z\",\"unit\":\"texts\","
                       "\"machine\":{\"cpu\":{\"model\":\"A\"}},\"configurations\":[]}";
    struct tare_run *run = NULL;
    struct tare_error err = {0};
    CHECK_INT(tare_run_read(text, strlen(text), "t", &run, &err), 0);
    CHECK(run && run->machine);
    if (run && run->machine)
        CHECK_TEXT(run->machine->cpu_model, "A");
    tare_run_destroy(run);
}

#define HEAD   "{\"schema\":\"tare.run/1\",\"timestamp\":\"2026-01-31T12:00:00Z\",\"unit\":\"texts\","
#define ONE(x) HEAD "\"configurations\":[{\"status\":\"measured\"," x "}]}"
#define TWO(x) HEAD "\"configurations\":[{\"status\":\"measured\"},{\"status\":\"measured\"," x "}]}"

static void bad_files_are_told_what_is_wrong(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "'t' is empty where JSON was expected"},
        {"[]", "'t' is not a run: it is JSON without \"schema\": \"tare.run/1\""},
        {"{\"schema\":7}", "'t' is not a run: it is JSON without \"schema\": \"tare.run/1\""},
        {"{\"schema\":\"tare.machine/1\"}",
         "'t' is not a run: its schema is \"tare.machine/1\" and not tare.run/1"},
        {"{\"schema\":\"tare.run/2\"}", "'t' is a run of schema tare.run/2 and this tare (" TARE_VERSION
                                        ") reads tare.run/1: use the tare that wrote it, or a newer one"},
        {"{\"schema\":\"tare.run/1\"}", "'t': the file: lacks the key \"timestamp\""},
        {HEAD "\"configurations\":null}", "'t': configurations: is null, and has to be known"},
        {HEAD "\"configurations\":{}}", "'t': configurations: is an object where an array belongs"},
        {HEAD "\"configurations\":[3]}", "'t': configurations[0]: is a number where an object belongs"},
        {HEAD "\"configurations\":[{}]}", "'t': configurations[0]: lacks the key \"status\""},
        {HEAD "\"configurations\":[{\"status\":\"fine\"}]}",
         "'t': configurations[0].status: is \"fine\" and not one of: not_measured, measured, unstable"},
        {HEAD "\"configurations\":[{\"status\":\"not_measured\"}]}",
         "'t': configurations[0].reason: is missing: a configuration that was not measured says why"},
        {HEAD "\"configurations\":[],\"unit\":\"texts\"}", "'t': unit: is given twice"},
        {HEAD "\"configurations\":[],\"model\":{\"sha256\":\"ABC\"}}",
         "'t': model.sha256: is not 64 hexadecimal digits in lower case"},
        {HEAD "\"configurations\":[],\"model\":{\"name\":\"a\\u0000b\"}}",
         "'t': model.name: holds a NUL character"},
        {HEAD "\"configurations\":[],\"model\":{\"a\\u0000b\":1}}", "'t': model: holds a NUL character"},
        {HEAD "\"configurations\":[],\"findings\":[{\"kind\":\"x\",\"text\":\"y\",\"configuration\":0}]}",
         "'t': findings[0].configuration: is 0, but there are 0 configurations, counted from 0"},
        {HEAD "\"configurations\":[],\"machine\":[]}", "'t': machine: is an array where an object belongs"},
        {HEAD "\"configurations\":[],\"machine\":{\"cpu\":{\"model\":3}}}",
         "'t': machine: 'cpu.model' is not a string"},
        {TWO("\"samples\":[{\"process\":0,\"ns\":[5,-5]}]"),
         "'t': configurations[1].samples[0].ns[1]: is -5, below zero"},
        {TWO("\"samples\":[{\"process\":0,\"ns\":[1.5]}]"),
         "'t': configurations[1].samples[0].ns[0]: is 1.5 where a whole number belongs"},
        {TWO("\"samples\":[{\"process\":0,\"ns\":[18446744073709551615]}]"),
         "'t': configurations[1].samples[0].ns[0]: is 18446744073709551615, more than 64 bits with a sign "
         "can "
         "hold"},
        {TWO("\"samples\":[{\"process\":0,\"ns\":[\"1\"]}]"),
         "'t': configurations[1].samples[0].ns[0]: is a text where a whole number belongs"},
        {TWO("\"samples\":[{\"ns\":[1]}]"), "'t': configurations[1].samples[0]: lacks the key \"process\""},
        {ONE("\"samples\":[{\"process\":1,\"ns\":[]},{\"process\":1,\"ns\":[]}]"),
         "'t': configurations[0].samples[1]: process numbers must rise, and 1 follows 1"},
        {ONE("\"samples\":[{\"process\":1,\"ns\":[4],\"rounds\":[2]}]"),
         "'t': configurations[0].samples[0]: its rounds hold more than its 1 samples"},
        {ONE("\"samples\":[{\"process\":1,\"ns\":[4,4],\"rounds\":[1]}]"),
         "'t': configurations[0].samples[0]: its rounds hold 1 of its 2 samples"},
        {ONE("\"stages\":[{\"name\":\"a\",\"samples\":[{\"process\":1,\"ns\":[4,4],\"rounds\":[1]}]}]"),
         "'t': configurations[0].stages[0].samples[0]: its rounds hold 1 of its 2 samples"},
        {ONE("\"latency\":{\"p99_ns\":{\"value\":2,\"lower\":3,\"upper\":1}}"),
         "'t': configurations[0].latency.p99_ns: its lower bound 3 is above its upper bound 1"},
        {ONE("\"latency\":{\"confidence\":95}"),
         "'t': configurations[0].latency.confidence: is 95 and not between 0 and 1"},
        {ONE("\"items_per_call\":0"), "'t': configurations[0].items_per_call: is not above zero"},
        {ONE("\"calls_per_sample\":0"), "'t': configurations[0].calls_per_sample: is below 1"},
        {ONE("\"keys\":{\"dims\":{\"seq\":1,\"seq\":2}}"),
         "'t': configurations[0].keys.dims: \"seq\" is given twice"},
        {ONE("\"keys\":{\"dims\":{\"seq\":-1}}"), "'t': configurations[0].keys.dims.seq: is -1, below zero"},
        {ONE("\"keys\":{\"labels\":{\"\":\"x\"}}"),
         "'t': configurations[0].keys.labels: holds a key without a name"},
        {ONE("\"keys\":{\"model\":\"int8\"}"),
         "'t': configurations[0].keys.model: \"int8\" is not the label of one of other_models"},
        {ONE("\"accuracy\":[{\"name\":\"a\"},{\"name\":\"a\"}]"),
         "'t': configurations[0].accuracy: \"a\" is given twice"},
        {ONE("\"memory\":{\"peak_bytes\":true}"),
         "'t': configurations[0].memory.peak_bytes: is true where a whole number belongs"},
        {ONE("\"memory\":{\"timeline_ns\":[1,2],\"timeline_bytes\":[1]}"),
         "'t': configurations[0].memory.timeline_bytes: holds 1 sizes for 2 times"},
        {ONE("\"resources\":{\"cpu_use\":-0.5}"),
         "'t': configurations[0].resources.cpu_use: is -0.5, below zero"},
        {"{\"schema\":\"tare.run/"
         "1\",\"timestamp\":\"2026-13-31T12:00:00Z\",\"unit\":\"a\",\"configurations\":[]}",
         "'t': timestamp: is not a UTC time such as 2026-01-31T12:00:00Z"},
        {"{\"schema\":\"tare.run/1\",\"timestamp\":\"2026-01-31 "
         "12:00\",\"unit\":\"a\",\"configurations\":[]}",
         "'t': timestamp: is not a UTC time such as 2026-01-31T12:00:00Z"},
        {"{\"schema\":\"tare.run/1\",\"timestamp\":\"2026-01-31T12:00:00Z\",\"unit\":\"A "
         "b\",\"configurations\":[]}",
         "'t': unit: is not a plain lower-case word such as pairs"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tare_error err = {0};
        char *text = again(cases[i].text, &err);
        CHECK(text == NULL);
        CHECK_TEXT(text ? text : err.msg, cases[i].message);
        free(text);
    }
}

static void whole_numbers_may_be_written_as_reals(void)
{
    struct tare_run *run = NULL;
    struct tare_error err = {0};
    const char *text = ONE("\"samples\":[{\"process\":0.0,\"ns\":[1e3,7]}]");
    CHECK_INT(tare_run_read(text, strlen(text), "t", &run, &err), 0);
    if (!run)
        return;
    CHECK_INT(run->configs[0].samples[0].ns[0], 1000);
    CHECK_INT(tare_run_config_samples(&run->configs[0]), 2);
    tare_run_destroy(run);
}

/* Three bytes of text may not cost thousands of bytes of memory without end. */
static void small_texts_cannot_claim_much_memory(void)
{
    enum { COUNT = 400000 };
    struct tare_buf text;
    struct tare_error err = {0};
    tare_buf_init(&text, (size_t)64 << 20);
    tare_buf_add_text(&text, HEAD "\"configurations\":[{}");
    for (int i = 0; i < COUNT; i++)
        tare_buf_add_text(&text, ",{}");
    tare_buf_add_text(&text, "]}");
    char *result = again(text.data, &err);
    CHECK(result == NULL);
    CHECK_INT(err.code, TARE_E_LIMIT);
    CHECK_TEXT(err.msg, "'t': configurations: holds more than so short a file can mean");
    free(result);
    tare_buf_finish(&text);
}

static void units_have_a_singular(void)
{
    static const char *const cases[][2] = {
        {"pairs", "pair"},       {"texts", "text"},    {"tokens", "token"},  {"images", "image"},
        {"samples", "sample"},   {"queries", "query"}, {"batches", "batch"}, {"boxes", "box"},
        {"requests", "request"}, {"class", "class"},   {"s", "s"},           {"data", "data"},
    };
    char one[32];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tare_run_unit_singular(cases[i][0], one, sizeof one);
        CHECK_TEXT(one, cases[i][1]);
    }
    CHECK(tare_run_unit_valid("pairs"));
    CHECK(!tare_run_unit_valid(""));
    CHECK(!tare_run_unit_valid("Pairs"));
    CHECK(!tare_run_unit_valid("a-b"));
    CHECK(!tare_run_unit_valid("abcdefghijklmnopqrstuvwxyzabcdefg"));
}

static void lists_grow(void)
{
    struct tare_run *run = NULL;
    struct tare_error err;
    CHECK_INT(tare_run_create(0, &run, &err), 0);
    for (int i = 0; run && i < 1000; i++) {
        struct tare_run_config *config =
            tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs);
        CHECK(config && !config->keys.batch.known);
        if (config)
            config->keys.batch = tare_run_int(i);
    }
    CHECK_INT(run->configs_count, 1000);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(run->configs[i].keys.batch.value, i);
    tare_run_destroy(run);
    CHECK_INT(tare_run_create(1000, &run, &err), 0);
    CHECK(tare_run_append(run, &run->configs, &run->configs_count, sizeof *run->configs) == NULL);
    CHECK_INT(run->configs_count, 0);
    tare_run_destroy(run);
    tare_run_destroy(NULL);
}

static void the_name_holds_all_keys(void)
{
    struct tare_run *run = run_sample_small();
    struct tare_buf buf;
    tare_buf_init(&buf, 1000);
    tare_run_config_name(&run->configs[0], &buf);
    CHECK_TEXT(buf.data, "batch=1 seq=128 threads=2 precision=fp32");
    tare_buf_finish(&buf);
    tare_run_destroy(run);
}

static void time_of_an_item_follows_from_the_mean(void)
{
    struct tare_run *run = run_sample_small();
    struct tare_run_estimate item = tare_run_config_item_ns(&run->configs[1]);
    CHECK_REAL(item.value.value, 5e6, 0);
    CHECK_REAL(item.lower.value, 39999000.0 / 8, 0);
    CHECK_REAL(item.upper.value, 40001000.0 / 8, 0);
    CHECK(!tare_run_config_item_ns(&run->configs[2]).value.known);
    tare_run_destroy(run);
}

static void statistics_follow_from_the_samples(void)
{
    struct tare_run *run = run_sample_small();
    struct tare_run_config *config = &run->configs[1];
    struct tare_error err = {0};
    config->samples[0].cold_ns = tare_run_int(70);
    config->samples[1].cold_ns = tare_run_int(90);
    config->samples[1].ns[2] = 60000000; /* 39.999, 40, 40.001, 39.999, 40, 60 ms */
    CHECK_INT(tare_run_config_derive(config, &err), 0);
    const struct tare_run_latency *latency = &config->latency;
    CHECK_INT(latency->count.value, 6);
    CHECK_REAL(latency->mean_ns.value.value, 259999000.0 / 6, 1e-15);
    CHECK(latency->mean_ns.lower.value < 43e6 && latency->mean_ns.upper.value > 44e6);
    CHECK_REAL(latency->p50_ns.value.value, 40e6, 0);
    CHECK_REAL(latency->p90_ns.value.value, 60e6, 0);
    CHECK_REAL(latency->min_ns.value, 39999000, 0);
    CHECK_REAL(latency->max_ns.value.value, 60e6, 0);
    CHECK(latency->p99_ns.supported.known && !latency->p99_ns.supported.value);
    CHECK(latency->p99_ns.more_samples.known && latency->p99_ns.more_samples.value >= 656);
    CHECK(!latency->p99_ns.upper.known);
    CHECK_REAL(config->throughput_per_sec.value.value, 8e9 / latency->mean_ns.value.value, 1e-14);
    CHECK_REAL(config->throughput_per_sec.lower.value, 8e9 / latency->mean_ns.upper.value, 1e-14);
    CHECK_REAL(config->cold_ns.value.value, 80, 0);
    CHECK(!config->load_ns.value.known);
    tare_run_destroy(run);
}

static void few_samples_give_few_statistics(void)
{
    struct tare_run *run = run_sample_small();
    struct tare_run_config *config = &run->configs[0];
    struct tare_error err = {0};
    config->samples_count = 1;
    config->samples[0].ns_count = 1;
    CHECK_INT(tare_run_config_derive(config, &err), 0);
    CHECK_REAL(config->latency.mean_ns.value.value, 9999000, 0);
    CHECK(!config->latency.mean_ns.lower.known && !config->latency.stddev_ns.known);
    CHECK(config->throughput_per_sec.value.known && !config->throughput_per_sec.lower.known);
    config->samples[0].ns_count = 0;
    CHECK_INT(tare_run_config_derive(config, &err), 0);
    CHECK(!config->latency.count.known && !config->latency.p50_ns.value.known);
    tare_run_destroy(run);
}

static void blocks_of_calls_give_a_mean_only(void)
{
    struct tare_run *run = run_sample_small();
    struct tare_run_config *config = &run->configs[0];
    struct tare_error err = {0};
    config->calls_per_sample = tare_run_int(1000);
    CHECK_INT(tare_run_config_derive(config, &err), 0);
    CHECK_REAL(config->latency.mean_ns.value.value, 10e3, 1e-12);
    CHECK(!config->latency.p50_ns.value.known && !config->latency.max_ns.value.known);
    CHECK_REAL(config->throughput_per_sec.value.value, 1e5, 1e-12);
    config->calls_per_sample = tare_run_int(0);
    CHECK_INT(tare_run_config_derive(config, &err), -1);
    tare_run_destroy(run);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: test_run FOLDER-OF-RUNS\n");
        return 2;
    }
    data_folder = argv[1];
    RUN(written_read_and_written_again_is_equal);
    RUN(every_key_is_written);
    RUN(saved_files_are_kept_to_the_byte);
    RUN(what_is_not_known_stays_absent);
    RUN(unknown_keys_are_kept);
    RUN(the_machine_is_read);
    RUN(bad_files_are_told_what_is_wrong);
    RUN(whole_numbers_may_be_written_as_reals);
    RUN(small_texts_cannot_claim_much_memory);
    RUN(units_have_a_singular);
    RUN(lists_grow);
    RUN(the_name_holds_all_keys);
    RUN(time_of_an_item_follows_from_the_mean);
    RUN(statistics_follow_from_the_samples);
    RUN(few_samples_give_few_statistics);
    RUN(blocks_of_calls_give_a_mean_only);
    return check_done();
}
