/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ONNX Runtime a benchmark would use. Loading a library runs its code, so that it happens in a process
 * of its own: a broken one crashes that process only.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/ort_find.h"
#include "bench/ort_load.h"
#include "flow/ask.h"
#include "flow/doctor_part.h"

enum { LOAD_NS = 1500000000 };

/* Writes "version\nfile" or "!reason". */
static int load(void *context, int fd)
{
    const struct tare_ort_found *found = context;
    struct tare_ort ort;
    struct tare_error err = {0};
    if (tare_ort_load(found->path, &ort, &err) < 0)
        return dprintf(fd, "!%s", err.msg) < 0;
    return dprintf(fd, "%s\n%s", ort.version, ort.path) < 0;
}

/* Fills what the doctor knows about it; what is wrong, as a sentence, or NULL. */
static const char *ask_library(struct tare_doctor *doctor, struct tare_ort_found *found)
{
    struct tare_doctor_ort *ort = &doctor->ort;
    struct tare_arena *arena = doctor->arena;
    struct tare_ask ask;
    *ort = (struct tare_doctor_ort){.source = found->source, .path = found->path};
    if (!tare_ask_start(&ask, load, found))
        return ort->error = "no process could be started to load it";
    tare_ask_wait(&ask, 1, LOAD_NS);
    if (!ask.finished) {
        ort->error = "loading it takes longer than 1.5 s";
    } else if (WIFSIGNALED(ask.status)) {
        ort->error = tare_arena_printf(arena, "loading it crashes (signal %d)", WTERMSIG(ask.status));
    } else if (ask.length == 0) {
        ort->error =
            tare_arena_printf(arena, "loading it ends the process (status %d)", WEXITSTATUS(ask.status));
    } else if (ask.answer[0] == '!') {
        return ort->error = tare_machine_clean(arena, ask.answer + 1);
    } else {
        char *line = strchr(ask.answer, '\n');
        if (line)
            *line++ = '\0';
        ort->version = tare_machine_clean(arena, ask.answer);
        if (!ort->path && line)
            ort->path = tare_arena_copy(arena, line);
        if (!ort->version)
            ort->error = "it does not say its version";
    }
    if (!ort->error)
        return NULL;
    if (!ort->path)
        ort->path = "libonnxruntime.so.1";
    return tare_arena_printf(arena, "'%s' (%s) does not load: %s", ort->path, ort->source, ort->error);
}

static const char *find(struct tare_doctor *doctor)
{
    const struct tare_doctor_python *active = doctor->python_count > 0 ? &doctor->pythons[0] : NULL;
    /* What pyenv and conda merely keep is not what `python` means. */
    bool kept = active && (strcmp(active->source, "pyenv") == 0 || strcmp(active->source, "conda") == 0);
    struct tare_ort_place place = {0};
    struct tare_ort_search search = {.named = doctor->options->ort, .places = &place};
    struct tare_ort_found found = {0};
    struct tare_error err = {0};
    if (active && active->ort && !kept) {
        place = (struct tare_ort_place){active->ort, active->source};
        search.count = 1;
    }
    if (tare_ort_find(&search, doctor->arena, &found, &err) == 0)
        return ask_library(doctor, &found);
    doctor->ort =
        (struct tare_doctor_ort){.source = found.source, .error = tare_arena_copy(doctor->arena, err.msg)};
    return doctor->ort.error;
}

void tare_doctor_check_ort(struct tare_doctor *doctor)
{
    const char *why = "`tare bench` runs models on your own ONNX Runtime";
    struct tare_arena *arena = doctor->arena;
    const struct tare_doctor_ort *ort = &doctor->ort;
    const char *wrong = find(doctor);
    const struct tare_doctor_python *python = NULL;
    for (size_t i = 0; i < doctor->python_count && !python; i++)
        if (doctor->pythons[i].supported)
            python = &doctor->pythons[i];
    const char *it =
        ort->version ? tare_arena_printf(arena, "%s (%s) at %s", ort->version, ort->source, ort->path) : NULL;
    if (it && tare_ort_header() == 0) {
        tare_doctor_add(
            doctor, "onnxruntime", TARE_DOCTOR_DEGRADED,
            tare_arena_printf(arena, "%s, but this tare was built without the ONNX Runtime header", it), why,
            "pip install . -Csetup-args=-Dort_include=FOLDER");
    } else if (it) {
        tare_doctor_add(doctor, "onnxruntime", TARE_DOCTOR_OK, it, why, NULL);
    } else {
        const char *source = ort->source ? ort->source : "";
        const char *fix = strcmp(source, "--ort") == 0 ? "tare doctor --ort /path/to/libonnxruntime.so"
                          : strcmp(source, "TARE_ORT") == 0
                              ? "unset TARE_ORT"
                              : tare_doctor_install(doctor, python, "--upgrade onnxruntime");
        tare_doctor_add(doctor, "onnxruntime", TARE_DOCTOR_MISSING, wrong, why, fix);
    }
}
