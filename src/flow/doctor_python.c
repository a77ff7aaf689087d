/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Pythons there are, and whether tare is in them. Only the interpreter itself knows its folders, so
 * each is asked, all at once and with one deadline. The first in this order is the active one: $VIRTUAL_ENV,
 * $CONDA_PREFIX, the environment that holds this very program, PATH; then what pyenv and conda keep.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow/ask.h"
#include "flow/doctor_part.h"

enum { ASK_NS = 1500000000, OLDEST_MINOR = 10, NEWEST_MINOR = 15 };

/* Any Python from 2.7 on understands this; it imports nothing that is not loaded already. */
static const char question[] =
    "import os, sys\n"
    "def say(key, value):\n"
    "    sys.stdout.write('%s=%s\\n' % (key, value))\n"
    "say('version', '%d.%d.%d' % sys.version_info[:3] + getattr(sys, 'abiflags', '').replace('m', ''))\n"
    "say('minor', sys.version_info[1] if sys.version_info[0] == 3 else 0)\n"
    "say('kind', getattr(getattr(sys, 'implementation', None), 'name', 'cpython'))\n"
    "own = sys.prefix == getattr(sys, 'base_prefix', sys.prefix)\n"
    "if own and os.path.exists(os.path.join(os.path.dirname(os.__file__), 'EXTERNALLY-MANAGED')):\n"
    "    say('managed', 1)\n"
    "for folder in sys.path[1:]:\n"
    "    try:\n"
    "        names = os.listdir(folder)\n"
    "    except Exception:\n"
    "        continue\n"
    "    for name in names:\n"
    "        if name.startswith('tareprof-') and name.endswith('.dist-info'):\n"
    "            say('tare', name[9:-10])\n"
    "        if name.startswith('tare-') and name.endswith('.dist-info'):\n"
    "            say('other', name[5:-10])\n"
    "    if 'onnxruntime' in names:\n"
    "        say('ort', os.path.join(folder, 'onnxruntime', 'capi'))\n";

struct candidates {
    struct tare_doctor *doctor;
    const char *paths[TARE_DOCTOR_PYTHONS], *keys[TARE_DOCTOR_PYTHONS], *sources[TARE_DOCTOR_PYTHONS];
    size_t count;
};

/* An environment is its folder; anything else is the file that all its names lead to. */
static const char *identity(struct tare_arena *arena, const char *path)
{
    char real[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const char *folder = tare_arena_printf(arena, "%.*s/..", (int)(slash - path), path);
    if (access(tare_arena_printf(arena, "%s/pyvenv.cfg", folder), F_OK) == 0)
        return realpath(folder, real) ? tare_arena_copy(arena, real) : NULL;
    return realpath(path, real) ? tare_arena_copy(arena, real) : NULL;
}

static bool add(struct candidates *candidates, const char *path, const char *source)
{
    if (*path != '/' || access(path, X_OK) < 0)
        return false;
    const char *key = identity(candidates->doctor->arena, path);
    if (!key)
        return false;
    for (size_t i = 0; i < candidates->count; i++)
        if (strcmp(candidates->keys[i], key) == 0)
            return true;
    if (candidates->count == TARE_DOCTOR_PYTHONS)
        return false;
    candidates->paths[candidates->count] = tare_arena_copy(candidates->doctor->arena, path);
    candidates->keys[candidates->count] = key;
    candidates->sources[candidates->count++] = source;
    return true;
}

static bool add_in(struct candidates *candidates, const char *folder, const char *source)
{
    struct tare_arena *arena = candidates->doctor->arena;
    return add(candidates, tare_arena_printf(arena, "%s/python3", folder), source) ||
           add(candidates, tare_arena_printf(arena, "%s/python", folder), source);
}

static void add_environment(struct candidates *candidates, const char *variable)
{
    const char *folder = getenv(variable);
    if (folder && *folder)
        add_in(candidates, tare_arena_printf(candidates->doctor->arena, "%s/bin", folder), variable);
}

/* `.venv/bin/tare` works without activating anything. */
static void add_beside(struct candidates *candidates)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    if (access(tare_arena_printf(candidates->doctor->arena, "%s/../pyvenv.cfg", self), F_OK) == 0)
        add_in(candidates, self, "beside tare");
}

static const char *pyenv_root(const struct tare_doctor *doctor)
{
    const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
    if (root && *root)
        return root;
    return home && *home ? tare_arena_printf(doctor->arena, "%s/.pyenv", home) : NULL;
}

struct folder_names {
    struct tare_arena *arena;
    const char *names[TARE_DOCTOR_PYTHONS * 2];
    size_t count;
};

static bool folder_name(void *context, const char *name)
{
    struct folder_names *folder = context;
    if (*name != '.' && folder->count < sizeof folder->names / sizeof folder->names[0])
        folder->names[folder->count++] = tare_arena_copy(folder->arena, name);
    return true;
}

static int newest_first(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)b, *(const char *const *)a);
}

static void pyenv_versions(const struct tare_doctor *doctor, struct folder_names *ret_folder)
{
    const char *root = pyenv_root(doctor);
    struct tare_machine_files files = {.root = "", .arena = doctor->arena};
    *ret_folder = (struct folder_names){.arena = doctor->arena};
    if (root)
        tare_machine_file_entries(&files, tare_arena_printf(doctor->arena, "%s/versions", root), folder_name,
                                  ret_folder);
    qsort(ret_folder->names, ret_folder->count, sizeof ret_folder->names[0], newest_first);
}

/* What pyenv's shims would run: $PYENV_VERSION, .python-version here or above, or the global choice. */
static const char *pyenv_choice(const struct tare_doctor *doctor)
{
    struct tare_machine_files files = {.root = "", .arena = doctor->arena};
    char folder[PATH_MAX];
    const char *choice = getenv("PYENV_VERSION");
    if (choice && *choice)
        return choice;
    for (char *at = getcwd(folder, sizeof folder); at; *at = '\0') {
        choice = tare_machine_file_line(&files, "%s/.python-version", folder);
        if (choice || !(at = strrchr(folder, '/')))
            break;
    }
    return choice ? choice : tare_machine_file_line(&files, "%s/version", pyenv_root(doctor));
}

static void add_pyenv_active(struct candidates *candidates)
{
    const struct tare_doctor *doctor = candidates->doctor;
    const char *choice = pyenv_root(doctor) ? pyenv_choice(doctor) : NULL;
    struct folder_names folder;
    if (!choice)
        return;
    pyenv_versions(doctor, &folder);
    size_t length = strcspn(choice, ": ");
    for (size_t i = 0; i < folder.count; i++) {
        const char *name = folder.names[i];
        /* "3.11" means the newest 3.11.x */
        if (strncmp(name, choice, length) == 0 && (name[length] == '\0' || name[length] == '.') &&
            add_in(candidates,
                   tare_arena_printf(doctor->arena, "%s/versions/%s/bin", pyenv_root(doctor), name), "PATH"))
            return;
    }
}

static void add_path(struct candidates *candidates)
{
    struct tare_arena *arena = candidates->doctor->arena;
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        size_t length = strcspn(at, ":");
        const char *folder = tare_arena_text(arena, at, length);
        at += length;
        if (*folder != '/')
            continue;
        if (length > 6 && strcmp(folder + length - 6, "/shims") == 0) {
            add_pyenv_active(candidates);
            continue;
        }
        add_in(candidates, folder, "PATH");
        for (int minor = NEWEST_MINOR + 1; minor > OLDEST_MINOR - 4; minor--) {
            add(candidates, tare_arena_printf(arena, "%s/python3.%d", folder, minor), "PATH");
            add(candidates, tare_arena_printf(arena, "%s/python3.%dt", folder, minor), "PATH");
        }
    }
}

static void add_pyenv(struct candidates *candidates)
{
    struct folder_names folder;
    pyenv_versions(candidates->doctor, &folder);
    for (size_t i = 0; i < folder.count; i++)
        add_in(candidates,
               tare_arena_printf(candidates->doctor->arena, "%s/versions/%s/bin",
                                 pyenv_root(candidates->doctor), folder.names[i]),
               "pyenv");
}

/* conda keeps a list of its environments, a folder a line. */
static bool conda_line(void *context, char *line)
{
    struct candidates *candidates = context;
    if (*line == '/')
        add_in(candidates, tare_arena_printf(candidates->doctor->arena, "%s/bin", line), "conda");
    return candidates->count < TARE_DOCTOR_PYTHONS;
}

static void add_conda(struct candidates *candidates)
{
    const char *home = getenv("HOME");
    struct tare_machine_files files = {.root = home ? home : "", .arena = candidates->doctor->arena};
    if (home && *home)
        tare_machine_file_lines(&files, "/.conda/environments.txt", TARE_MACHINE_FILE, conda_line,
                                candidates);
}

/* The first answer to each question counts, as the first folder on the path does. */
static void keep(struct tare_arena *arena, const char **text, const char *value)
{
    if (!*text)
        *text = tare_arena_copy(arena, value);
}

static void understand(struct tare_doctor *doctor, char *answer, struct tare_doctor_python *python)
{
    const char *kind = NULL, *minor = NULL, *managed = NULL;
    const struct {
        const char *key;
        const char **text;
    } rows[] = {{"version", &python->version}, {"tare", &python->tare}, {"other", &python->other},
                {"ort", &python->ort},         {"kind", &kind},         {"minor", &minor},
                {"managed", &managed}};
    char *rest = answer, *line;
    while ((line = strsep(&rest, "\n")) != NULL)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const char *value = tare_machine_value(line, rows[i].key);
            if (value && *value)
                keep(doctor->arena, rows[i].text, value);
        }
    int64_t number = 0;
    if (minor)
        tare_machine_parse_int(minor, &number);
    python->supported =
        number >= OLDEST_MINOR && number <= NEWEST_MINOR && kind && strcmp(kind, "cpython") == 0;
    python->managed = managed != NULL;
}

static void ask_all(struct candidates *candidates)
{
    struct tare_doctor *doctor = candidates->doctor;
    struct tare_ask *asks = tare_arena_array(doctor->arena, TARE_DOCTOR_PYTHONS, sizeof *asks);
    if (!asks)
        return;
    for (size_t i = 0; i < candidates->count; i++) {
        const char *argv[] = {candidates->paths[i], "-c", question, NULL};
        tare_ask_program(&asks[i], argv);
    }
    tare_ask_wait(asks, candidates->count, ASK_NS);
    for (size_t i = 0; i < candidates->count; i++) {
        struct tare_doctor_python python = {.path = candidates->paths[i], .source = candidates->sources[i]};
        if (tare_ask_succeeded(&asks[i]))
            understand(doctor, asks[i].answer, &python);
        if (!python.version)
            python.error = asks[i].finished ? "does not run" : "does not answer within 1.5 s";
        doctor->pythons[doctor->python_count++] = python;
    }
}

static void judge(struct tare_doctor *doctor)
{
    const char *why = "`import tare` and `tare run` work where it is installed";
    struct tare_arena *arena = doctor->arena;
    if (doctor->python_count == 0) {
        tare_doctor_add(doctor, "python", TARE_DOCTOR_MISSING, "no interpreter was found", why,
                        access("/usr/bin/apt-get", X_OK) == 0 ? "sudo apt-get install python3-venv"
                        : access("/usr/bin/dnf", X_OK) == 0   ? "sudo dnf install python3"
                        : access("/sbin/apk", X_OK) == 0      ? "apk add python3"
                                                              : NULL);
        return;
    }
    const struct tare_doctor_python *active = &doctor->pythons[0], *usable = NULL;
    for (size_t i = 0; i < doctor->python_count && !usable; i++)
        if (doctor->pythons[i].supported)
            usable = &doctor->pythons[i];
    if (!active->version) {
        tare_doctor_add(doctor, "python", TARE_DOCTOR_DEGRADED,
                        tare_arena_printf(arena, "%s %s", active->path, active->error), why, NULL);
        return;
    }
    const char *it = tare_arena_printf(arena, "%s at %s", active->version, active->path);
    if (!active->supported) {
        tare_doctor_add(
            doctor, "python", TARE_DOCTOR_DEGRADED,
            tare_arena_printf(arena, "%s is not supported (CPython 3.%d to 3.%d are)", it, OLDEST_MINOR,
                              NEWEST_MINOR),
            why,
            usable
                ? tare_arena_printf(arena, "%s -m venv .venv && .venv/bin/pip install tareprof", usable->path)
                : NULL);
    } else if (active->tare && strcmp(active->tare, TARE_VERSION) == 0) {
        tare_doctor_add(doctor, "python", TARE_DOCTOR_OK,
                        tare_arena_printf(arena, "%s has tare %s", it, active->tare), why, NULL);
    } else if (active->tare) {
        tare_doctor_add(
            doctor, "python", TARE_DOCTOR_DEGRADED,
            tare_arena_printf(arena, "%s has tare %s; this command is " TARE_VERSION, it, active->tare), why,
            tare_doctor_install(doctor, active, "tareprof==" TARE_VERSION));
    } else {
        tare_doctor_add(doctor, "python", TARE_DOCTOR_DEGRADED,
                        tare_arena_printf(arena,
                                          active->other ? "%s has no tare, but another package of that name"
                                                        : "%s has no tare",
                                          it),
                        why, tare_doctor_install(doctor, active, "tareprof"));
    }
}

void tare_doctor_check_python(struct tare_doctor *doctor)
{
    struct candidates candidates = {.doctor = doctor};
    add_environment(&candidates, "VIRTUAL_ENV");
    add_environment(&candidates, "CONDA_PREFIX");
    add_beside(&candidates);
    add_path(&candidates);
    add_pyenv(&candidates);
    add_conda(&candidates);
    ask_all(&candidates);
    judge(doctor);
}
