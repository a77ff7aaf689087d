/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading an ONNX Runtime, with a library that stands in for it. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "bench/ort_find.h"
#include "bench/ort_load.h"
#include "check.h"
#include "scratch.h"

static struct tare_arena arena;
static struct tare_error err;

#define CHECK_ERROR(words)                                                                                   \
    do {                                                                                                     \
        if (!strstr(err.msg, words)) {                                                                       \
            check_report(__FILE__, __LINE__, "the error does not say: " words);                              \
            fprintf(stderr, "    it says: %s\n", err.msg);                                                   \
        }                                                                                                    \
    } while (0)

static const char *here(const char *name)
{
    return tare_arena_printf(&arena, "%s/%s", scratch_path, name);
}

static void make(const char *path)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fclose(file) == 0);
}

static void folders(const char *path)
{
    for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
        mkdir(tare_arena_text(&arena, path, (size_t)(at - path)), 0700);
    CHECK_INT(mkdir(path, 0700), 0);
}

static struct tare_ort_found find(const struct tare_ort_search *search)
{
    struct tare_ort_found found = {0};
    err = (struct tare_error){0};
    CHECK_INT(tare_ort_find(search, &arena, &found, &err), 0);
    return found;
}

static void forget_variables(void)
{
    unsetenv("TARE_ORT");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
}

static void order_of_the_search(void)
{
    forget_variables();
    struct tare_ort_found found = find(NULL);
    CHECK(found.path == NULL);
    CHECK_TEXT(found.source, "system");

    folders("conda/lib");
    make("conda/lib/libonnxruntime.so");
    make("conda/lib/libonnxruntime.so.1.17.0");
    make("conda/lib/libonnxruntime.so.1.17.0.debug");
    make("conda/lib/libonnxruntime_providers_shared.so");
    setenv("CONDA_PREFIX", here("conda"), 1);
    found = find(NULL);
    CHECK_TEXT(found.path, here("conda/lib/libonnxruntime.so.1.17.0"));
    CHECK_TEXT(found.source, "CONDA_PREFIX");

    folders("env/lib/python3.13/site-packages/onnxruntime/capi");
    make("env/lib/python3.13/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1");
    folders("env/lib/python3.9");
    setenv("VIRTUAL_ENV", here("env"), 1);
    found = find(NULL);
    CHECK_TEXT(found.path,
               here("env/lib/python3.13/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1"));
    CHECK_TEXT(found.source, "VIRTUAL_ENV");

    folders("asked/capi");
    make("asked/capi/libonnxruntime.so.1.20.0");
    const struct tare_ort_place places[] = {{here("nowhere"), "first"}, {here("asked/capi"), "beside tare"}};
    struct tare_ort_search search = {.places = places, .count = 2};
    found = find(&search);
    CHECK_TEXT(found.path, here("asked/capi/libonnxruntime.so.1.20.0"));
    CHECK_TEXT(found.source, "beside tare");

    setenv("TARE_ORT", here("conda"), 1);
    found = find(&search);
    CHECK_TEXT(found.path, here("conda/lib/libonnxruntime.so.1.17.0"));
    CHECK_TEXT(found.source, "TARE_ORT");

    search.named = "asked";
    found = find(&search);
    CHECK_TEXT(found.path, "asked/capi/libonnxruntime.so.1.20.0");
    CHECK_TEXT(found.source, "--ort");

    /* Named by hand: it is not replaced, whether it exists or not, and the loader may not look elsewhere. */
    search.named = "libonnxruntime.so.1";
    found = find(&search);
    CHECK_TEXT(found.path, "./libonnxruntime.so.1");
    folders("empty");
    search.named = "empty";
    CHECK_INT(tare_ort_find(&search, &arena, &found, &err), -1);
    CHECK_ERROR("'empty' (--ort) holds no libonnxruntime.so");
    forget_variables();
}

static void an_old_package_is_named(void)
{
    struct tare_ort_found found;
    folders("old/capi");
    make("old/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so");
    const struct tare_ort_place place = {here("old/capi"), "PATH"};
    const struct tare_ort_search search = {.places = &place, .count = 1};
    CHECK_INT(tare_ort_find(&search, &arena, &found, &err), -1);
    CHECK_INT(err.code, TARE_E_UNSUPPORTED);
    CHECK_ERROR("from before 1.19");
    CHECK_ERROR("pip install --upgrade onnxruntime");
}

static const char *fake(void)
{
    return tare_arena_printf(&arena, "%s/libonnxruntime.so", getenv("TARE_LIBS"));
}

static void the_older_interface_is_asked_for(void)
{
    struct tare_ort ort;
    setenv("TARE_FAKE_ORT_VERSION", "1.16.0", 1);
    CHECK_INT(tare_ort_load(fake(), &ort, &err), 0);
    CHECK_TEXT(ort.version, "1.16.0");
    CHECK_TEXT(ort.path, fake());
    CHECK(ort.handle != NULL);
    int header = tare_ort_header();
    CHECK_INT(ort.api_version, header < 16 ? header : 16);
    if (header > 0)
        CHECK_INT(*(const unsigned char *)ort.api, 16);
    else
        CHECK(ort.api == NULL);
    unsetenv("TARE_FAKE_ORT_VERSION");
    CHECK_INT(tare_ort_load(fake(), &ort, &err), 0);
    CHECK_INT(ort.api_version, header);
    if (header > 0)
        CHECK_INT(*(const unsigned char *)ort.api, header);
}

static void what_is_wrong_is_named_with_the_remedy(void)
{
    struct tare_ort ort;
    static const struct {
        const char *version, *words;
    } wrong[] = {{"1.15.1", "is ONNX Runtime 1.15.1 and tare needs 1.16 or newer"},
                 {"2.0.0", "says it is ONNX Runtime 2.0.0"},
                 {"1.x", "says it is ONNX Runtime 1.x"},
                 {"", "says it is ONNX Runtime"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setenv("TARE_FAKE_ORT_VERSION", wrong[i].version, 1);
        CHECK_INT(tare_ort_load(fake(), &ort, &err), -1);
        CHECK_INT(err.code, TARE_E_UNSUPPORTED);
        CHECK(strstr(err.msg, wrong[i].words) != NULL);
        CHECK(ort.api == NULL && ort.version == NULL);
    }
    unsetenv("TARE_FAKE_ORT_VERSION");

    if (tare_ort_header() > 0) {
        setenv("TARE_FAKE_ORT_NO_API", "1", 1);
        CHECK_INT(tare_ort_load(fake(), &ort, &err), -1);
        CHECK_ERROR("gives no interface");
        unsetenv("TARE_FAKE_ORT_NO_API");
    }
    CHECK_INT(tare_ort_load("/nonexistent/libonnxruntime.so", &ort, &err), -1);
    CHECK_ERROR("there is no ONNX Runtime at '/nonexistent/libonnxruntime.so'");
    CHECK_ERROR("give --ort");
    make("text.so");
    CHECK_INT(tare_ort_load(here("text.so"), &ort, &err), -1);
    CHECK_ERROR("text.so' does not load as ONNX Runtime: file too short");
    CHECK_INT(
        tare_ort_load(tare_arena_printf(&arena, "%s/libnot_a_runtime.so", getenv("TARE_LIBS")), &ort, &err),
        -1);
    CHECK_ERROR("is not an ONNX Runtime library (it has no OrtGetApiBase)");
}

int main(void)
{
    tare_arena_init(&arena, 0);
    scratch_enter();
    RUN(order_of_the_search);
    RUN(an_old_package_is_named);
    RUN(the_older_interface_is_asked_for);
    RUN(what_is_wrong_is_named_with_the_remedy);
    scratch_leave();
    tare_arena_finish(&arena);
    return check_done();
}
