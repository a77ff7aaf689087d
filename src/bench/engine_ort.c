/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own ONNX Runtime: making a session and asking about it. What is done with it while time is
 * measured is in engine_ort_run.c. */
#include "bench/engine_ort.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static struct tare_ort_engine *of(struct tare_engine *engine)
{
    return (struct tare_ort_engine *)engine;
}

/* Its own words begin with the node, a source file, a function and the check that failed there; only what
 * follows is of use to a user. */
static const char *plain_words(const char *words)
{
    static const char message[] = "Status Message: ", check[] = "was false. ", loading[] = " failed:";
    const char *past = strstr(words, message);
    if (past)
        words = past + sizeof message - 1;
    /* Which file it is, the user knows; of a node that is not valid all of it is told before what is wrong.
     */
    past = strncmp(words, "Load model from ", 16) == 0 ? strstr(words, loading) : NULL;
    if (past)
        words = past + sizeof loading - 1;
    past = strncmp(words, "This is an invalid model.", 25) == 0 ? strstr(words, " Error ") : NULL;
    if (past)
        words = past + 7;
    past = words[0] == '/' ? strstr(words, ") ") : NULL;
    if (past)
        words = past + 2;
    past = strstr(words, check);
    if (past && past[sizeof check - 1])
        words = past + sizeof check - 1;
    return words + strspn(words, " \n");
}

/* "node 'NAME' (OP): ", when it says which; "" else. */
static void which_node(const char *words, char *node, size_t size)
{
    const char *op = strstr(words, "running "), *name = strstr(words, "Name:'");
    node[0] = '\0';
    if (op && name)
        snprintf(node, size, "node '%.*s' (%.*s): ", (int)strcspn(name + 6, "'"), name + 6,
                 (int)strcspn(op + 8, " "), op + 8);
}

static const char *remedy_of(OrtErrorCode code, const char *words)
{
    if (strstr(words, "Unsupported model IR version") || strstr(words, "is under development") ||
        strstr(words, "not a registered function/op") || strstr(words, "No Op registered for"))
        return "; a newer onnxruntime may know it";
    if (code == ORT_NOT_IMPLEMENTED && strstr(words, "Could not find an implementation"))
        return "; this provider has no such operator: try another --provider or --precision";
    if (strstr(words, "Got invalid dimensions") || strstr(words, "Invalid rank"))
        return "; give --dim NAME=VALUE, or --inputs FILE.npz";
    return "";
}

int tare_ort_check(const struct tare_ort_engine *engine, OrtStatus *status, const char *what,
                   struct tare_error *err)
{
    if (!status)
        return 0;
    OrtErrorCode code = engine->api->GetErrorCode(status);
    const char *all = engine->api->GetErrorMessage(status), *words = plain_words(all);
    char node[80];
    which_node(all, node, sizeof node);
    const char *remedy = remedy_of(code, words);
    int room = 160 - (int)strlen(remedy) - (int)strlen(node);
    tare_fail(err, code == ORT_NOT_IMPLEMENTED ? TARE_E_UNSUPPORTED : TARE_E_INPUT, 0, "%.60s: %s%.*s%s",
              what, node, (int)strcspn(words, "\n") < room ? (int)strcspn(words, "\n") : room, words, remedy);
    engine->api->ReleaseStatus(status);
    return -1;
}

/* ---- providers ---- */

/* "CUDAExecutionProvider" and "cuda" are the same. */
static bool same_provider(const char *name, const char *wanted)
{
    static const char tail[] = "ExecutionProvider";
    size_t length = strlen(name), tail_length = sizeof tail - 1;
    if (strcasecmp(name, wanted) == 0)
        return true;
    if (length > tail_length && strcmp(name + length - tail_length, tail) == 0)
        length -= tail_length;
    return strlen(wanted) == length && strncasecmp(name, wanted, length) == 0;
}

/* The provider's own name, without its tail, in short; an error that lists what there is otherwise. */
static int find_provider(const struct tare_ort_engine *engine, const char *wanted, char *name, size_t size,
                         struct tare_error *err)
{
    char **names = NULL, list[160] = "";
    int count = 0;
    bool found = false;
    if (tare_ort_check(engine, engine->api->GetAvailableProviders(&names, &count), "ONNX Runtime's providers",
                       err))
        return -1;
    for (int i = 0; i < count; i++) {
        char lower[40];
        int length = (int)strcspn(names[i], "E");
        const char *tail = strstr(names[i], "ExecutionProvider");
        length = tail ? (int)(tail - names[i]) : length;
        snprintf(lower, sizeof lower, "%.*s", length, names[i]);
        if (same_provider(names[i], wanted)) {
            snprintf(name, size, "%s", lower);
            found = true;
        }
        for (char *c = lower; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", lower);
    }
    OrtStatus *status = engine->api->ReleaseAvailableProviders(names, count);
    if (status)
        engine->api->ReleaseStatus(status);
    if (!found)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "ONNX Runtime %s at '%.60s' has no provider '%.30s'; it has %s", engine->ort.version,
                         engine->ort.path, wanted, list);
    return 0;
}

static OrtStatus *append_cuda(const OrtApi *api, OrtSessionOptions *options)
{
    OrtCUDAProviderOptionsV2 *cuda = NULL;
    OrtStatus *status = api->CreateCUDAProviderOptions(&cuda);
    if (!status)
        status = api->SessionOptionsAppendExecutionProvider_CUDA_V2(options, cuda);
    if (cuda)
        api->ReleaseCUDAProviderOptions(cuda);
    return status;
}

static OrtStatus *append_tensorrt(const OrtApi *api, OrtSessionOptions *options)
{
    OrtTensorRTProviderOptionsV2 *tensorrt = NULL;
    OrtStatus *status = api->CreateTensorRTProviderOptions(&tensorrt);
    if (!status)
        status = api->SessionOptionsAppendExecutionProvider_TensorRT_V2(options, tensorrt);
    if (tensorrt)
        api->ReleaseTensorRTProviderOptions(tensorrt);
    return status;
}

static OrtStatus *append_dnnl(const OrtApi *api, OrtSessionOptions *options)
{
    OrtDnnlProviderOptions *dnnl = NULL;
    OrtStatus *status = api->CreateDnnlProviderOptions(&dnnl);
    if (!status)
        status = api->SessionOptionsAppendExecutionProvider_Dnnl(options, dnnl);
    if (dnnl)
        api->ReleaseDnnlProviderOptions(dnnl);
    return status;
}

static OrtStatus *append_openvino(const OrtApi *api, OrtSessionOptions *options)
{
    OrtOpenVINOProviderOptions openvino = {0};
    return api->SessionOptionsAppendExecutionProvider_OpenVINO(options, &openvino);
}

static OrtStatus *append_rocm(const OrtApi *api, OrtSessionOptions *options)
{
    OrtROCMProviderOptions *rocm = NULL;
    OrtStatus *status = api->CreateROCMProviderOptions(&rocm);
    if (!status)
        status = api->SessionOptionsAppendExecutionProvider_ROCM(options, rocm);
    if (rocm)
        api->ReleaseROCMProviderOptions(rocm);
    return status;
}

/* Providers with an entry of their own; all others go by their name. */
static const struct {
    const char *name;
    OrtStatus *(*append)(const OrtApi *api, OrtSessionOptions *options);
} appenders[] = {
    {"CUDA", append_cuda},         {"Tensorrt", append_tensorrt}, {"Dnnl", append_dnnl},
    {"OpenVINO", append_openvino}, {"ROCM", append_rocm},
};

/* By its name; versions differ in how they spell it. */
static OrtStatus *append_by_name(const OrtApi *api, OrtSessionOptions *options, const char *name)
{
    char upper[40], full[64];
    const char *const spellings[] = {name, upper, full};
    OrtStatus *status = NULL;
    snprintf(full, sizeof full, "%sExecutionProvider", name);
    snprintf(upper, sizeof upper, "%s", name);
    for (char *c = upper; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        if (status)
            api->ReleaseStatus(status);
        status = api->SessionOptionsAppendExecutionProvider(options, spellings[i], NULL, NULL, 0);
        if (!status)
            break;
    }
    return status;
}

static int append_provider(const struct tare_ort_engine *engine, const char *wanted,
                           OrtSessionOptions *options, struct tare_error *err)
{
    char name[40] = "", what[80];
    OrtStatus *status = NULL;
    bool own = false;
    if (!wanted || same_provider("CPUExecutionProvider", wanted))
        return 0;
    if (find_provider(engine, wanted, name, sizeof name, err))
        return -1;
    for (size_t i = 0; i < sizeof appenders / sizeof *appenders && !own; i++) {
        own = strcasecmp(appenders[i].name, name) == 0;
        if (own)
            status = appenders[i].append(engine->api, options);
    }
    if (!own)
        status = append_by_name(engine->api, options, name);
    snprintf(what, sizeof what, "provider '%.30s' cannot be had", wanted);
    return tare_ort_check(engine, status, what, err);
}

/* ---- the session ---- */

static GraphOptimizationLevel level_of(enum tare_graph_level level)
{
    switch (level) {
    case TARE_GRAPH_OFF:
        return ORT_DISABLE_ALL;
    case TARE_GRAPH_BASIC:
        return ORT_ENABLE_BASIC;
    case TARE_GRAPH_EXTENDED:
        return ORT_ENABLE_EXTENDED;
    case TARE_GRAPH_ALL:
        break;
    }
    return ORT_ENABLE_ALL;
}

static OrtStatus *set_options(const OrtApi *api, OrtSessionOptions *session,
                              const struct tare_engine_options *options)
{
    OrtStatus *status = api->SetSessionGraphOptimizationLevel(session, level_of(options->level));
    if (!status && options->threads)
        status = api->SetIntraOpNumThreads(session, options->threads);
    if (!status && options->inter_threads)
        status = api->SetInterOpNumThreads(session, options->inter_threads);
    /* Otherwise the second pool is never used. */
    if (!status && options->inter_threads > 1)
        status = api->SetSessionExecutionMode(session, ORT_PARALLEL);
    if (!status && options->no_spinning)
        status = api->AddSessionConfigEntry(session, "session.intra_op.allow_spinning", "0");
    if (!status && options->no_spinning)
        status = api->AddSessionConfigEntry(session, "session.inter_op.allow_spinning", "0");
    if (!status && options->profile_prefix)
        status = api->EnableProfiling(session, options->profile_prefix);
    if (!status && options->optimised_path)
        status = api->SetOptimizedModelFilePath(session, options->optimised_path);
    return status;
}

static int list_ports(struct tare_ort_engine *engine, bool inputs, struct tare_ort_port **ret_ports,
                      size_t *ret_count, struct tare_error *err)
{
    const OrtApi *api = engine->api;
    size_t count = 0;
    if (tare_ort_check(engine,
                       inputs ? api->SessionGetInputCount(engine->session, &count)
                              : api->SessionGetOutputCount(engine->session, &count),
                       "its inputs", err))
        return -1;
    struct tare_ort_port *ports = calloc(count + 1, sizeof *ports);
    if (!ports)
        return tare_fail_memory(err);
    *ret_ports = ports;
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        OrtStatus *status =
            inputs ? api->SessionGetInputName(engine->session, i, engine->allocator, &ports[i].name)
                   : api->SessionGetOutputName(engine->session, i, engine->allocator, &ports[i].name);
        if (tare_ort_check(engine, status, "its inputs", err))
            return -1;
    }
    return 0;
}

static void free_ports(struct tare_ort_engine *engine, struct tare_ort_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ports[i].name)
            engine->allocator->Free(engine->allocator, ports[i].name);
    free(ports);
}

static void ort_close(struct tare_engine *base)
{
    struct tare_ort_engine *engine = of(base);
    if (!engine)
        return;
    if (engine->api) {
        const OrtApi *api = engine->api;
        tare_ort_unbind(engine);
        free_ports(engine, engine->inputs, engine->inputs_count);
        free_ports(engine, engine->outputs, engine->outputs_count);
        if (engine->run_options)
            api->ReleaseRunOptions(engine->run_options);
        if (engine->session)
            api->ReleaseSession(engine->session);
        if (engine->memory)
            api->ReleaseMemoryInfo(engine->memory);
        if (engine->env)
            api->ReleaseEnv(engine->env);
    }
    free(engine);
}

static int make_session(struct tare_ort_engine *engine, const char *path,
                        const struct tare_engine_options *options, struct tare_error *err)
{
    const OrtApi *api = engine->api;
    OrtSessionOptions *session_options = NULL;
    char what[80];
    int status = -1;
    snprintf(what, sizeof what, "ONNX Runtime %.12s cannot load it", engine->ort.version);
    /* Its own log goes nowhere a user looks; what matters comes back as a status. */
    if (tare_ort_check(engine, api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "tare", &engine->env), what, err) ||
        tare_ort_check(engine, api->CreateSessionOptions(&session_options), what, err) ||
        tare_ort_check(engine, set_options(api, session_options, options), "session options", err) ||
        append_provider(engine, options->provider, session_options, err) ||
        tare_ort_check(engine, api->CreateSession(engine->env, path, session_options, &engine->session), what,
                       err))
        goto out;
    status = 0;
out:
    if (session_options)
        api->ReleaseSessionOptions(session_options);
    return status;
}

static int ort_open(const char *path, const struct tare_engine_options *options,
                    struct tare_engine **ret_engine, struct tare_error *err)
{
    struct tare_ort_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return tare_fail_memory(err);
    engine->base.kind = &tare_engine_ort;
    if (tare_ort_load(options->library, &engine->ort, err))
        goto fail;
    const OrtApi *api = engine->api = engine->ort.api;
    if (make_session(engine, path, options, err) ||
        tare_ort_check(engine, api->GetAllocatorWithDefaultOptions(&engine->allocator), "allocator", err) ||
        tare_ort_check(engine,
                       api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &engine->memory),
                       "memory", err) ||
        tare_ort_check(engine, api->CreateRunOptions(&engine->run_options), "run options", err) ||
        list_ports(engine, true, &engine->inputs, &engine->inputs_count, err) ||
        list_ports(engine, false, &engine->outputs, &engine->outputs_count, err))
        goto fail;
    *ret_engine = &engine->base;
    return 0;
fail:
    ort_close(&engine->base);
    return -1;
}

static void ort_about(const struct tare_engine *base, struct tare_engine_about *ret_about)
{
    const struct tare_ort_engine *engine = (const struct tare_ort_engine *)base;
    *ret_about = (struct tare_engine_about){
        .name = "onnxruntime", .version = engine->ort.version, .path = engine->ort.path};
}

/* ---- asking about it ---- */

#if ORT_API_VERSION >= 23
static void take_stats(const OrtApi *api, const OrtKeyValuePairs *pairs, struct tare_engine_memory *memory)
{
    const struct {
        const char *key;
        int64_t *value;
    } known[] = {
        {"RequestedInUse", &memory->requested},      {"InUse", &memory->in_use},
        {"TotalAllocated", &memory->total},          {"MaxInUse", &memory->peak},
        {"NumAllocs", &memory->allocations},         {"NumReserves", &memory->reserves},
        {"NumArenaExtensions", &memory->extensions}, {"MaxAllocSize", &memory->largest},
    };
    const char *const *keys = NULL, *const *values = NULL;
    size_t count = 0;
    api->GetKeyValuePairs(pairs, &keys, &values, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strcmp(keys[i], known[k].key) == 0)
                *known[k].value = strtoll(values[i], NULL, 10);
}
#endif

static void ort_memory(struct tare_engine *base, struct tare_engine_memory *ret_memory)
{
    *ret_memory = (struct tare_engine_memory){-1, -1, -1, -1, -1, -1, -1, -1};
#if ORT_API_VERSION >= 23
    struct tare_ort_engine *engine = of(base);
    const OrtApi *api = engine->api;
    OrtAllocator *arena = NULL;
    OrtKeyValuePairs *pairs = NULL;
    if (engine->ort.api_version < 23)
        return;
    OrtStatus *status = api->CreateAllocator(engine->session, engine->memory, &arena);
    if (!status)
        status = api->AllocatorGetStats(arena, &pairs);
    if (!status)
        take_stats(api, pairs, ret_memory);
    if (status)
        api->ReleaseStatus(status);
    if (pairs)
        api->ReleaseKeyValuePairs(pairs);
    if (arena)
        api->ReleaseAllocator(arena);
#else
    (void)base;
#endif
}

static int ort_profile_end(struct tare_engine *base, struct tare_arena *arena, const char **ret_path,
                           struct tare_error *err)
{
    struct tare_ort_engine *engine = of(base);
    char *path = NULL;
    if (tare_ort_check(engine, engine->api->SessionEndProfiling(engine->session, engine->allocator, &path),
                       "its profiler", err))
        return -1;
    const char *copy = tare_arena_copy(arena, path);
    engine->allocator->Free(engine->allocator, path);
    if (!copy || !*copy)
        return tare_fail(err, TARE_E_USAGE, 0, "its profiler was not started: no profile_prefix was given");
    *ret_path = copy;
    return 0;
}

const struct tare_engine_kind tare_engine_ort = {
    .name = "onnxruntime",
    .open = ort_open,
    .about = ort_about,
    .bind = tare_ort_bind,
    .run = tare_ort_run,
    .outputs = tare_ort_outputs,
    .memory = ort_memory,
    .profile_end = ort_profile_end,
    .close = ort_close,
};
