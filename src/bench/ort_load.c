/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ort_load.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start of the runtime's C interface, the same since its first version: so the doctor can ask a library
 * for its version in a build without the header. */
struct ort_base {
    const struct OrtApi *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

static const char *const system_names[] = {"libonnxruntime.so.1", "libonnxruntime.so"};

/* The loader's words begin with the path, which the message has already. */
static const char *loader_words(const char *path)
{
    const char *words = dlerror();
    size_t length = path ? strlen(path) : 0;
    if (!words)
        return "no reason given";
    if (path && strncmp(words, path, length) == 0 && strncmp(words + length, ": ", 2) == 0)
        return words + length + 2;
    return words;
}

static int open_library(const char *path, void **ret_handle, struct tare_error *err)
{
    void *handle = NULL;
    if (path && access(path, F_OK) < 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "there is no ONNX Runtime at '%s' (%s): give --ort the path of libonnxruntime.so",
                         path, strerror(errno));
    if (path)
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !path && !handle && i < sizeof system_names / sizeof system_names[0]; i++)
        handle = dlopen(system_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!handle && path)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "'%s' does not load as ONNX Runtime: %s; give --ort the path of libonnxruntime.so",
                         path, loader_words(path));
    if (!handle)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "no ONNX Runtime in the active Python environment or among the system's libraries: "
                         "pip install onnxruntime, or give --ort the path of libonnxruntime.so");
    *ret_handle = handle;
    return 0;
}

/* The N of "1.N.P"; -1 for anything else. */
static int minor_version(const char *version)
{
    if (!version || strncmp(version, "1.", 2) != 0)
        return -1;
    char *end;
    long minor = strtol(version + 2, &end, 10);
    return end != version + 2 && minor >= 0 && minor < 10000 ? (int)minor : -1;
}

int tare_ort_load(const char *path, struct tare_ort *ret_ort, struct tare_error *err)
{
    void *handle;
    Dl_info info = {0};
    *ret_ort = (struct tare_ort){0};
    if (open_library(path, &handle, err) < 0)
        return -1;
    union {
        void *object;
        const struct ort_base *(*call)(void);
    } entry = {.object = dlsym(handle, "OrtGetApiBase")};
    if (!entry.object) {
        dlclose(handle);
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "'%s' is not an ONNX Runtime library (it has no OrtGetApiBase); give --ort the path "
                         "of libonnxruntime.so",
                         path ? path : system_names[0]);
    }
    dladdr(entry.object, &info);
    const char *file = info.dli_fname ? info.dli_fname : path ? path : system_names[0];
    const struct ort_base *base = entry.call();
    const char *version = base ? base->get_version() : NULL;
    int library = minor_version(version), header = tare_ort_header();
    if (library < 0)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "'%s' says it is ONNX Runtime %s; tare knows 1.%d and newer of 1", file,
                         version ? version : "of no version", TARE_ORT_OLDEST);
    if (library < TARE_ORT_OLDEST)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "'%s' is ONNX Runtime %s and tare needs 1.%d or newer: pip install --upgrade "
                         "onnxruntime, or give --ort",
                         file, version, TARE_ORT_OLDEST);
    ret_ort->api_version = header < library ? header : library;
    if (header > 0 && !(ret_ort->api = base->get_api((uint32_t)ret_ort->api_version)))
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "'%s' is ONNX Runtime %s but gives no interface %d: pip install --force-reinstall "
                         "onnxruntime, or give --ort",
                         file, version, ret_ort->api_version);
    ret_ort->version = version;
    ret_ort->path = file;
    ret_ort->handle = handle;
    return 0;
}
