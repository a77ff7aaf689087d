/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ONNX Runtime a benchmark would use. Loading a library runs its code, so that it happens in a process
 * of its own: a broken one crashes that process only. What was named by hand is never replaced by another
 * one.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow/ask.h"
#include "flow/doctor_part.h"

enum { LOAD_NS = 1500000000 };

/* The first two entries of the runtime's C interface; they have been the same since its first version. */
struct ort_base {
    const void *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

static const char *const system_names[] = {"libonnxruntime.so.1", "libonnxruntime.so", NULL};

/* Writes "version\nfile" or "!reason". */
static int load(void *context, int fd)
{
    const char *const *names = context;
    void *library = NULL;
    for (; *names && !library; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dprintf(fd, "!%s", dlerror()) < 0;
    union {
        void *object;
        const struct ort_base *(*call)(void);
    } entry = {.object = dlsym(library, "OrtGetApiBase")};
    if (!entry.object)
        return dprintf(fd, "!it has no OrtGetApiBase: not an ONNX Runtime library") < 0;
    const struct ort_base *base = entry.call();
    Dl_info info = {0};
    dladdr(entry.object, &info);
    return dprintf(fd, "%s\n%s", base->get_version(), info.dli_fname ? info.dli_fname : "") < 0;
}

/* False when there is nothing under these names; otherwise ort says what there is. */
static bool ask_library(struct tare_doctor *doctor, const char *const *names, const char *source)
{
    struct tare_doctor_ort *ort = &doctor->ort;
    struct tare_arena *arena = doctor->arena;
    struct tare_ask ask;
    union {
        const char *const *given;
        void *passed;
    } words = {.given = names};
    *ort = (struct tare_doctor_ort){.source = source};
    if (!tare_ask_start(&ask, load, words.passed))
        return false;
    tare_ask_wait(&ask, 1, LOAD_NS);
    if (!ask.finished) {
        ort->path = names[0];
        ort->error = "loading it takes longer than 1.5 s";
    } else if (WIFSIGNALED(ask.status)) {
        ort->path = names[0];
        ort->error = tare_arena_printf(arena, "loading it crashes (signal %d)", WTERMSIG(ask.status));
    } else if (ask.length == 0) {
        ort->path = names[0];
        ort->error =
            tare_arena_printf(arena, "loading it ends the process (status %d)", WEXITSTATUS(ask.status));
    } else if (ask.answer[0] == '!') {
        ort->error = tare_machine_clean(arena, ask.answer + 1);
    } else {
        char *line = strchr(ask.answer, '\n');
        if (line)
            *line++ = '\0';
        ort->version = tare_machine_clean(arena, ask.answer);
        if (line && *line)
            ort->path = tare_arena_copy(arena, line);
        if (!ort->version)
            ort->error = "it does not say its version";
    }
    return true;
}

static void ask_file(struct tare_doctor *doctor, const char *path, const char *source)
{
    /* Without a slash the loader would look elsewhere than the user did. */
    const char *names[] = {strchr(path, '/') ? path : tare_arena_printf(doctor->arena, "./%s", path), NULL};
    ask_library(doctor, names, source);
    doctor->ort.path = path;
}

struct library_file {
    struct tare_arena *arena;
    const char *name;
};

/* libonnxruntime.so.1.31.1 rather than the links that lead to it. */
static bool library_name(void *context, const char *name)
{
    static const char start[] = "libonnxruntime.so";
    struct library_file *file = context;
    const char *version = name + sizeof start - 1;
    bool fits =
        strncmp(name, start, sizeof start - 1) == 0 && strspn(version, ".0123456789") == strlen(version);
    if (fits && (!file->name || strlen(name) > strlen(file->name)))
        file->name = tare_arena_copy(file->arena, name);
    return true;
}

static bool ask_folder(struct tare_doctor *doctor, const char *folder, const char *source)
{
    struct tare_machine_files files = {.root = "", .arena = doctor->arena};
    struct library_file file = {.arena = doctor->arena};
    tare_machine_file_entries(&files, folder, library_name, &file);
    if (file.name)
        ask_file(doctor, tare_arena_printf(doctor->arena, "%s/%s", folder, file.name), source);
    return file.name != NULL;
}

/* A folder is taken for the library in it, as people give what they have unpacked. */
static void ask_named(struct tare_doctor *doctor, const char *path, const char *source)
{
    struct stat info;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (folder && (ask_folder(doctor, path, source) ||
                   ask_folder(doctor, tare_arena_printf(doctor->arena, "%s/lib", path), source)))
        return;
    ask_file(doctor, path, source);
}

static void find(struct tare_doctor *doctor)
{
    const char *named = doctor->options->ort, *variable = getenv("TARE_ORT");
    const char *conda = getenv("CONDA_PREFIX");
    bool path_seen = false;
    if (named) {
        ask_named(doctor, named, "--ort");
        return;
    }
    if (variable && *variable) {
        ask_named(doctor, variable, "TARE_ORT");
        return;
    }
    for (size_t i = 0; i < doctor->python_count; i++) {
        const struct tare_doctor_python *python = &doctor->pythons[i];
        bool on_path = strcmp(python->source, "PATH") == 0;
        bool kept = strcmp(python->source, "pyenv") == 0 || strcmp(python->source, "conda") == 0;
        /* Of PATH only the first one is what `python` means. */
        if (!kept && !(on_path && path_seen) && python->ort &&
            ask_folder(doctor, python->ort, python->source))
            return;
        path_seen |= on_path;
    }
    if (conda && *conda &&
        ask_folder(doctor, tare_arena_printf(doctor->arena, "%s/lib", conda), "CONDA_PREFIX"))
        return;
    ask_library(doctor, system_names, "system");
}

void tare_doctor_check_ort(struct tare_doctor *doctor)
{
    const char *why = "`tare bench` runs models on your own ONNX Runtime";
    struct tare_arena *arena = doctor->arena;
    const struct tare_doctor_ort *ort = &doctor->ort;
    find(doctor);
    const struct tare_doctor_python *python = NULL;
    for (size_t i = 0; i < doctor->python_count && !python; i++)
        if (doctor->pythons[i].supported)
            python = &doctor->pythons[i];
    if (ort->version) {
        tare_doctor_add(doctor, "onnxruntime", TARE_DOCTOR_OK,
                        tare_arena_printf(arena, "%s (%s) at %s", ort->version, ort->source, ort->path), why,
                        NULL);
    } else if (ort->path) {
        const char *fix = strcmp(ort->source, "--ort") == 0 ? "tare doctor --ort /path/to/libonnxruntime.so"
                          : strcmp(ort->source, "TARE_ORT") == 0
                              ? "unset TARE_ORT"
                              : tare_doctor_install(doctor, python, "--force-reinstall onnxruntime");
        tare_doctor_add(
            doctor, "onnxruntime", TARE_DOCTOR_MISSING,
            tare_arena_printf(arena, "'%s' (%s) does not load: %s", ort->path, ort->source, ort->error), why,
            fix);
    } else {
        tare_doctor_add(doctor, "onnxruntime", TARE_DOCTOR_MISSING,
                        "none in the active Python environment or among the system's libraries", why,
                        tare_doctor_install(doctor, python, "onnxruntime"));
    }
}
