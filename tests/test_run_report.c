/* SPDX-License-Identifier: Apache-2.0 */
/* A run's file as a file, and every view of a run. */
#include <stdlib.h>
#include <zlib.h>

#include "check.h"
#include "report/run_report.h"
#include "run_samples.h"

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

static int load_text(const void *data, size_t size, struct tare_error *err)
{
    struct tare_in *in = NULL;
    struct tare_run *run = NULL;
    if (tare_in_open_memory(data, size, "t", &in, err))
        return -1;
    int result = tare_run_load(in, &run, err);
    tare_run_destroy(run);
    tare_in_close(in);
    return result;
}

static void files_that_cannot_be_runs_are_refused_at_once(void)
{
    struct tare_error err = {0};
    CHECK_INT(load_text("", 0, &err), -1);
    CHECK_TEXT(err.msg, "'t' is empty where a run was expected");
    CHECK_INT(load_text(" \n ", 3, &err), -1);
    CHECK_TEXT(err.msg, "'t' is empty where a run was expected");
    CHECK_INT(load_text("\x89PNG", 4, &err), -1);
    CHECK_TEXT(err.msg, "'t' is not a run: it does not start with an object");
    CHECK_INT(load_text("{\"schema\":", 10, &err), -1);
    CHECK(strstr(err.msg, "'t' is not valid JSON: ") == err.msg);
    /* Blanks that compress a thousandfold. */
    size_t size = (size_t)40 << 20;
    uLongf packed = compressBound((uLong)size) + 64;
    char *plain = malloc(size);
    Bytef *gzip = malloc(packed);
    CHECK(plain && gzip);
    if (plain && gzip) {
        memset(plain, ' ', size);
        memcpy(plain, "{\"schema\":\"tare.run/1\",", 23);
        z_stream z = {
            .next_in = (Bytef *)plain, .avail_in = (uInt)size, .next_out = gzip, .avail_out = (uInt)packed};
        CHECK_INT(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        CHECK_INT(deflate(&z, Z_FINISH), Z_STREAM_END);
        CHECK_INT(load_text(gzip, z.total_out, &err), -1);
        CHECK_INT(err.code, TARE_E_LIMIT);
        deflateEnd(&z);
    }
    free(plain);
    free(gzip);
}

/* A large file of another kind, and one whose keys another tool has sorted. */
static void the_schema_may_stand_anywhere(void)
{
    struct tare_buf text;
    struct tare_error err = {0};
    tare_buf_init(&text, (size_t)8 << 20);
    tare_buf_add_text(&text, "{\"note\": \"\\\"schema\\\": \", \"rows\": [{\"schema\": \"tare.run/1\"}");
    for (int i = 0; i < 400000; i++)
        tare_buf_add_text(&text, ",{}");
    tare_buf_add_text(&text, "]");
    size_t length = text.length;
    tare_buf_add_text(&text, "}");
    CHECK_INT(load_text(text.data, text.length, &err), -1);
    CHECK_TEXT(err.msg, "'t' is not a run: it is JSON without \"schema\": \"tare.run/1\"");
    text.length = length;
    tare_buf_add_text(&text, ",\"configurations\":[],\"timestamp\":\"2026-01-31T12:00:00Z\",\"unit\":\"a\","
                             "\"schema\" : \"tare.run/1\"}");
    CHECK_INT(load_text(text.data, text.length, &err), 0);
    tare_buf_finish(&text);
}

static bool recognised(const char *text)
{
    return tare_run_recognise((const uint8_t *)text, strlen(text), true);
}

static void a_run_is_recognised_by_its_content(void)
{
    CHECK(recognised("{\"schema\":\"tare.run/1\"}"));
    CHECK(recognised("\xef\xbb\xbf {\n \"a\": 1,\n  \"schema\" : \"tare.run/2\"}"));
    CHECK(!recognised(""));
    CHECK(!recognised("{"));
    CHECK(!recognised("[{\"schema\":\"tare.run/1\"}]"));
    CHECK(!recognised("{\"schema\":\"tare.machine/1\"}"));
    CHECK(!recognised("{\"text\":\"tare.run/1\"}"));
    CHECK(!recognised("a;b;c 3\n"));
}

static void text_is_a_table(void)
{
    struct tare_run *run = run_sample_small();
    char *text = written(run, &tare_run_writer_text);
    CHECK_TEXT(text,
               "Run     2026-01-31T12:00:00Z\n"
               "System  cpu\n"
               "Model   nli.onnx\n"
               "Fixed   seq=128 threads=2 precision=fp32\n"
               "\n"
               "Batch | Pairs/Sec | Latency (ms) | Memory (MB)\n"
               "------|-----------|--------------|------------\n"
               "    1 |     100.0 |        10.00 |       2.800\n"
               "    8 |     200.0 |        5.000 |       2.800\n"
               "Latency is the mean per pair; memory is what the process gained while processing; 1 MB is "
               "1,000,000 bytes.\n"
               "\n"
               "Time of one call\n"
               "Batch |            Pairs/Sec |             p50 (ms) |                       p99 (ms) | Max "
               "(ms) | Cold (ms) | Samples | Effective\n"
               "------|----------------------|----------------------|--------------------------------|-----"
               "-----|-----------|---------|----------\n"
               "    1 | 100.0 [99.50, 100.5] | 10.00 [9.999, 10.00] | 10.00 (needs 656 more samples) |     "
               "   - |         - |       6 |         -\n"
               "    8 | 200.0 [199.5, 200.5] | 40.00 [40.00, 40.00] | 40.00 (needs 656 more samples) |     "
               "   - |         - |       6 |         -\n"
               "\n"
               "Same answers?\n"
               "Configuration |   max_abs\n"
               "--------------|----------\n"
               "batch=1       | 2.500e-07\n"
               "batch=8       | 2.500e-07\n"
               "\n"
               "Not measured: batch=64: the time was spent before its turn\n"
               "Bottleneck: one core is idle\n"
               "Do: batch 8\n"
               "Tried, did not help: spin less\n");
    free(text);
    tare_run_destroy(run);
}

/* Words in a file are other people's. */
static void words_do_no_harm(void)
{
    struct tare_run *run = run_sample_small();
    run->model.name = "a\x1b[2Jb|<img src=x>\n@all,\"q\"";
    run->configs[0].keys.precision = "fp32,\"odd\"\r\nline";
    char *text = written(run, &tare_run_writer_text);
    CHECK(strstr(text, "Model   a?[2Jb|<img src=x>?@all,\"q\"\n") != NULL);
    CHECK(strchr(text, '\x1b') == NULL);
    free(text);
    text = written(run, &tare_run_writer_markdown);
    CHECK(strstr(text, "- **Model:** a?\\[2Jb\\|&lt;img src=x> &#64;all,\"q\"\n") != NULL);
    CHECK(strstr(text, "| fp32,\"odd\"? line |") != NULL);
    free(text);
    text = written(run, &tare_run_writer_csv);
    CHECK(strstr(text, ",\"a\x1b[2Jb|<img src=x>\n@all,\"\"q\"\"\",cpu,") != NULL);
    CHECK(strstr(text, ",1,128,2,\"fp32,\"\"odd\"\"\r\nline\",100.0,99.5,100.5,10.0,") != NULL);
    free(text);
    tare_run_destroy(run);
}

static void a_wide_cell_is_cut(void)
{
    struct tare_run *run = run_sample_small();
    char wide[300];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    run->configs[0].keys.precision = wide;
    char *text = written(run, &tare_run_writer_text);
    const char *head = strstr(text, "Batch |");
    CHECK(head && strcspn(head, "\n") < 120);
    free(text);
    tare_run_destroy(run);
}

static void every_writer_survives_every_run(void)
{
    struct tare_run *runs[] = {run_sample_full(), run_sample_small(), NULL};
    struct tare_error err;
    CHECK_INT(tare_run_create(0, &runs[2], &err), 0);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        size_t writers = 0;
        for (; tare_run_writers[writers]; writers++) {
            char *text = written(runs[i], tare_run_writers[writers]);
            CHECK(*text);
            free(text);
        }
        CHECK_INT(writers, 4);
        tare_run_destroy(runs[i]);
    }
}

int main(void)
{
    RUN(files_that_cannot_be_runs_are_refused_at_once);
    RUN(the_schema_may_stand_anywhere);
    RUN(a_run_is_recognised_by_its_content);
    RUN(text_is_a_table);
    RUN(words_do_no_harm);
    RUN(a_wide_cell_is_cut);
    RUN(every_writer_survives_every_run);
    return check_done();
}
