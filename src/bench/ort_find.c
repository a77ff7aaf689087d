/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ort_find.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/machine_file.h"

struct names {
    struct tare_arena *arena;
    const char *library; /* the longest that fits */
    bool binding;        /* the module that Python imports is there */
};

/* libonnxruntime.so.1.31.1 rather than the links that lead to it. */
static bool look_at(void *context, const char *name)
{
    static const char start[] = "libonnxruntime.so", module[] = "onnxruntime_pybind11_state";
    struct names *names = context;
    const char *version = name + sizeof start - 1;
    bool fits =
        strncmp(name, start, sizeof start - 1) == 0 && strspn(version, ".0123456789") == strlen(version);
    if (fits && (!names->library || strlen(name) > strlen(names->library)))
        names->library = tare_arena_copy(names->arena, name);
    names->binding |= strncmp(name, module, sizeof module - 1) == 0;
    return true;
}

/* NULL when the folder holds none. */
static const char *library_in(const char *folder, struct tare_arena *arena, bool *ret_binding)
{
    struct tare_machine_files files = {.root = "", .arena = arena};
    struct names names = {.arena = arena};
    tare_machine_file_entries(&files, folder, look_at, &names);
    *ret_binding = names.binding;
    return names.library ? tare_arena_printf(arena, "%s/%s", folder, names.library) : NULL;
}

/* A folder is taken for the library in it, as people give what they have unpacked. */
static int by_hand(const char *path, const char *source, struct tare_arena *arena,
                   struct tare_ort_found *ret_found, struct tare_error *err)
{
    static const char *const inside[] = {"", "/lib", "/capi", "/onnxruntime/capi"};
    struct stat info;
    bool binding = false;
    *ret_found = (struct tare_ort_found){.source = source};
    if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)) {
        /* Without a slash the loader would look elsewhere than the user did. */
        ret_found->path =
            strchr(path, '/') ? tare_arena_copy(arena, path) : tare_arena_printf(arena, "./%s", path);
        return tare_arena_check(arena, err);
    }
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        ret_found->path = library_in(tare_arena_printf(arena, "%s%s", path, inside[i]), arena, &binding);
        if (ret_found->path)
            return tare_arena_check(arena, err);
    }
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' (%s) holds no libonnxruntime.so: give the library itself",
                     path, source);
}

/* 1 when the place decides, 0 when there is nothing. */
static int in_place(const char *folder, const char *source, struct tare_arena *arena,
                    struct tare_ort_found *ret_found, struct tare_error *err)
{
    bool binding = false;
    const char *path = library_in(folder, arena, &binding);
    if (path) {
        *ret_found = (struct tare_ort_found){.path = path, .source = source};
        return 1;
    }
    if (binding)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "the onnxruntime in %s is from before 1.19, whose packages hold no library to load: "
                         "pip install --upgrade onnxruntime, or give --ort",
                         folder);
    return 0;
}

struct versions {
    struct tare_arena *arena;
    const char *newest; /* python3.13 */
};

static bool keep_newest(void *context, const char *name)
{
    struct versions *versions = context;
    if (strncmp(name, "python3", 7) == 0 && (!versions->newest || strverscmp(name, versions->newest) > 0))
        versions->newest = tare_arena_copy(versions->arena, name);
    return true;
}

/* An environment's folders are known without asking its interpreter. */
static int in_environment(const char *variable, struct tare_arena *arena, struct tare_ort_found *ret_found,
                          struct tare_error *err)
{
    struct tare_machine_files files = {.root = "", .arena = arena};
    struct versions versions = {.arena = arena};
    const char *prefix = getenv(variable);
    if (!prefix || *prefix != '/')
        return 0;
    const char *lib = tare_arena_printf(arena, "%s/lib", prefix);
    tare_machine_file_entries(&files, lib, keep_newest, &versions);
    int found = 0;
    if (versions.newest)
        found =
            in_place(tare_arena_printf(arena, "%s/%s/site-packages/onnxruntime/capi", lib, versions.newest),
                     variable, arena, ret_found, err);
    /* conda keeps libraries of C there; a plain environment has none. */
    return found ? found : in_place(lib, variable, arena, ret_found, err);
}

int tare_ort_find(const struct tare_ort_search *search, struct tare_arena *arena,
                  struct tare_ort_found *ret_found, struct tare_error *err)
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    static const struct tare_ort_search nothing = {0};
    const char *variable = getenv("TARE_ORT");
    int found = 0;
    if (!search)
        search = &nothing;
    if (search->named)
        return by_hand(search->named, "--ort", arena, ret_found, err);
    if (variable && *variable)
        return by_hand(variable, "TARE_ORT", arena, ret_found, err);
    for (size_t i = 0; i < search->count && !found; i++)
        found = in_place(search->places[i].folder, search->places[i].source, arena, ret_found, err);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && !found; i++)
        found = in_environment(variables[i], arena, ret_found, err);
    if (found < 0)
        return -1;
    if (!found)
        *ret_found = (struct tare_ort_found){.source = "system"};
    return tare_arena_check(arena, err);
}
