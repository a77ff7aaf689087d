/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process says about itself in its capture: its command line, its Python, its role among the processes
 * of a run, and its rank. The role is told from how multiprocessing starts its helpers.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook.h"

enum { COMMAND_BYTES = 4096 };

/* The command line in one line, with spaces between its words, as far as it fits. */
static void read_command(char *text, size_t size)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    if (length < 0)
        length = 0;
    text[length] = '\0';
    for (ssize_t i = 0; i + 1 < length; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
}

/* tare makes the folder and names it .tare-PID-XXXXXX after itself: its own child is the main process. */
static bool started_by_tare(const char *folder)
{
    const char *slash = strrchr(folder, '/');
    long pid = 0;
    return slash && sscanf(slash, "/.tare-%ld-", &pid) == 1 && pid == (long)getppid();
}

static const char *role_of(const char *command, const char *folder)
{
    if (started_by_tare(folder))
        return "main";
    if (strstr(command, "--multiprocessing-fork"))
        return "spawn";
    if (strstr(command, "multiprocessing.forkserver"))
        return "forkserver";
    if (strstr(command, "multiprocessing.resource_tracker"))
        return "resource_tracker";
    return "subprocess";
}

void hook_describe(struct tare_recorder *recorder, const char *folder)
{
    static const struct {
        const char *variable, *key;
    } rows[] = {{"RANK", "rank"}, {"LOCAL_RANK", "local_rank"}};
    char command[COMMAND_BYTES], version[64];
    read_command(command, sizeof command);
    snprintf(version, sizeof version, "%.*s", (int)strcspn(Py_GetVersion(), " "), Py_GetVersion());
    tare_recorder_meta(recorder, "command", command);
    tare_recorder_meta(recorder, "python", version);
    tare_recorder_meta(recorder, "role", role_of(command, folder));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = getenv(rows[i].variable);
        if (value && *value)
            tare_recorder_meta(recorder, rows[i].key, value);
    }
}

void hook_describe_fork(struct tare_recorder *recorder)
{
    tare_recorder_meta(recorder, "role", "fork");
}

bool hook_program_begins(const char *name)
{
    if (strcmp(name, HOOK_RUNNER) == 0)
        return true;
    if (strcmp(name, "<module>") != 0)
        return false;
    PyObject *globals = PyEval_GetGlobals();
    PyObject *module = globals ? PyDict_GetItemString(globals, "__name__") : NULL;
    return module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "__main__") == 0;
}
