/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/interpreter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "core/machine_file.h"
#include "flow/ask.h"

/* Starting Python from a cold network file system takes its time. */
#define ASK_NS INT64_C(20000000000)

/* Says what is so and imports what the recording imports. The .pth file must lie where this interpreter,
 * started in this way, reads it. */
static const char question[] =
    "import os, sys\n"
    "print('version=%d.%d.%d' % sys.version_info[:3] + getattr(sys, 'abiflags', ''))\n"
    "own = sys.prefix == getattr(sys, 'base_prefix', sys.prefix)\n"
    "if own and os.path.exists(os.path.join(os.path.dirname(os.__file__), 'EXTERNALLY-MANAGED')):\n"
    "    print('managed=1')\n"
    "for folder in sys.path[1:]:\n"
    "    if os.path.exists(os.path.join(folder, 'tareprof.pth')):\n"
    "        print('pth=' + folder)\n"
    "try:\n"
    "    import tare\n"
    "    print('tare=' + tare.__version__)\n"
    "except Exception as why:\n"
    "    print('why=' + ' '.join(str(why).split()))\n";

static bool executable(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static const char *python_in(struct tare_arena *arena, const char *folder, size_t length)
{
    static const char *const names[] = {"python3", "python"};
    for (size_t i = 0; i < 2; i++) {
        const char *path = tare_arena_printf(arena, "%.*s/%s", (int)length, folder, names[i]);
        if (executable(path))
            return path;
    }
    return NULL;
}

static const char *in_environment(struct tare_arena *arena, const char *variable)
{
    const char *prefix = getenv(variable);
    if (!prefix || *prefix != '/')
        return NULL;
    const char *folder = tare_arena_printf(arena, "%s/bin", prefix);
    return python_in(arena, folder, strlen(folder));
}

/* An environment that a tool manager made for this command does not have the user's packages. */
static const char *beside(struct tare_arena *arena)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return NULL;
    self[length] = '\0';
    if (strstr(self, "/pipx/venvs/") || strstr(self, "/uv/tools/"))
        return NULL;
    char *slash = strrchr(self, '/');
    return slash ? python_in(arena, self, (size_t)(slash - self)) : NULL;
}

/* The first on PATH that may be executed; name NULL: python3 or python. */
static const char *on_path(struct tare_arena *arena, const char *name)
{
    const char *at = getenv("PATH");
    for (at = at ? at : ""; *at;) {
        size_t length = strcspn(at, ":");
        const char *path = NULL;
        if (*at == '/' && !name)
            path = python_in(arena, at, length);
        else if (*at == '/')
            path = tare_arena_printf(arena, "%.*s/%s", (int)length, at, name);
        if (path && executable(path))
            return path;
        at += length + (at[length] == ':');
    }
    return NULL;
}

int tare_interpreter_find(const char *named, struct tare_arena *arena,
                          struct tare_interpreter *ret_interpreter, struct tare_error *err)
{
    struct tare_interpreter found = {0};
    const char *running = getenv("TARE_PYTHON");
    if (named) {
        found.source = "--python";
        /* A path that does not exist is still what was asked for: starting it says what is wrong. */
        found.path = strchr(named, '/') ? named : on_path(arena, named);
        if (!found.path)
            return tare_fail(err, TARE_E_UNSUPPORTED, ENOENT, "'%s' is not on PATH", named);
    } else if (running && *running == '/') {
        found.path = running;
        found.source = "python -m tare";
    } else if ((found.path = in_environment(arena, "VIRTUAL_ENV"))) {
        found.source = "VIRTUAL_ENV";
    } else if ((found.path = in_environment(arena, "CONDA_PREFIX"))) {
        found.source = "CONDA_PREFIX";
    } else if ((found.path = beside(arena))) {
        found.source = "beside tare";
    } else if ((found.path = on_path(arena, NULL))) {
        found.source = "PATH";
    } else {
        return tare_fail(err, TARE_E_UNSUPPORTED, ENOENT,
                         "no Python was found: activate an environment, or give --python PATH");
    }
    *ret_interpreter = found;
    return tare_arena_check(arena, err);
}

struct asking {
    const char *argv[12];
    size_t count;
};

/* Of the flags in front of the program, those that change what site-packages are: -E -I -P -s -S. */
static void keep_flags(struct asking *asking, const char *const *arguments, size_t count,
                       struct tare_arena *arena)
{
    bool seen[128] = {0};
    for (size_t i = 0; i < count && arguments[i][0] == '-' && arguments[i][1]; i++) {
        const char *at = arguments[i] + 1;
        for (; *at && !strchr("WXmc", *at); at++)
            if (strchr("EIPS", *at) && !seen[(unsigned char)*at]) {
                seen[(unsigned char)*at] = true;
                asking->argv[asking->count++] = tare_arena_printf(arena, "-%c", *at);
            }
        if (*at == 'm' || *at == 'c')
            return;
        if (*at && !at[1])
            i++;
    }
}

static int answer(void *context, int fd)
{
    struct asking *asking = context;
    /* If we are recorded ourselves, the question is not part of it. */
    unsetenv("TARE_RECORD");
    if (chdir("/") < 0 || dup2(fd, STDOUT_FILENO) < 0)
        return 127;
    execv(asking->argv[0], tare_words_argv(asking->argv));
    return errno == ENOENT || errno == ENOTDIR ? 127 : 126;
}

/* A path that holds after chdir. */
static const char *absolute(const char *path, struct tare_arena *arena)
{
    char folder[PATH_MAX];
    if (*path == '/' || !getcwd(folder, sizeof folder))
        return path;
    return tare_arena_printf(arena, "%s/%s", folder, path);
}

static int not_there(const struct tare_interpreter *interpreter, bool managed, const char *pth,
                     const char *why, struct tare_error *err)
{
    const char *path = interpreter->path;
    if (interpreter->tare && !pth)
        return tare_fail(
            err, TARE_E_UNSUPPORTED, 0,
            "%s can import tare but would not record: it does not read tareprof.pth when started "
            "like this (-S, or tare is only on PYTHONPATH)",
            path);
    if (pth)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "tare does not load in %s: %s", path, why ? why : "");
    if (managed)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "%s does not have tare; install it with: %s -m venv .venv && .venv/bin/pip install "
                         "tareprof, and use .venv/bin/tare",
                         path, path);
    return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                     "%s does not have tare; install it with: %s -m pip install tareprof", path, path);
}

int tare_interpreter_ask(struct tare_interpreter *interpreter, const char *const *arguments, size_t count,
                         struct tare_arena *arena, struct tare_error *err)
{
    struct asking asking = {.argv = {absolute(interpreter->path, arena)}, .count = 1};
    keep_flags(&asking, arguments, count, arena);
    asking.argv[asking.count++] = "-c";
    asking.argv[asking.count++] = question;
    struct tare_ask *ask = tare_arena_alloc(arena, sizeof *ask);
    if (!ask)
        return tare_fail_memory(err);
    if (!tare_ask_start(ask, answer, &asking))
        return tare_fail(err, TARE_E_IO, errno, "cannot start a process");
    tare_ask_wait(ask, 1, ASK_NS);
    const char *managed = NULL, *pth = NULL, *why = NULL;
    const struct {
        const char *key;
        const char **text;
    } rows[] = {{"version", &interpreter->version},
                {"tare", &interpreter->tare},
                {"managed", &managed},
                {"pth", &pth},
                {"why", &why}};
    char *rest = ask->answer, *line;
    while ((line = strsep(&rest, "\n")) != NULL)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const char *value = tare_machine_value(line, rows[i].key);
            if (value && !*rows[i].text)
                *rows[i].text = tare_arena_copy(arena, value);
        }
    if (!ask->finished)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "%s does not answer within 20 s", interpreter->path);
    if (!interpreter->version) {
        /* Not one we can talk to; if it cannot even be executed, starting it will say so. */
        errno = 0;
        int found = access(interpreter->path, X_OK) == 0 ? 0 : errno;
        return tare_fail(err, TARE_E_UNSUPPORTED, found, "'%s' does not run as a Python", interpreter->path);
    }
    if (!interpreter->tare || !pth)
        return not_there(interpreter, managed != NULL, pth, why, err);
    return tare_arena_check(arena, err);
}
