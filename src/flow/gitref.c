/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/gitref.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/words.h"

/* Run git with its output in a file, and its input from one (or from nowhere). */
static int git(const char *const *argv, const char *input, const char *output, struct tare_error *err)
{
    int status;
    pid_t child = fork();
    if (child < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot start git");
    if (child == 0) {
        int in = open(input ? input : "/dev/null", O_RDONLY);
        int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int null = open("/dev/null", O_WRONLY);
        if (in < 0 || out < 0 || null < 0)
            _exit(126);
        dup2(in, STDIN_FILENO);
        dup2(out, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp("git", tare_words_argv(argv));
        _exit(127);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return tare_fail(err, TARE_E_IO, errno, "cannot wait for git");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return tare_fail(err, TARE_E_UNSUPPORTED, 0, "git is not installed, and --baseline-ref needs it");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : tare_fail(err, TARE_E_INPUT, 0, "git failed");
}

/* What stands in the repository instead of a file that Git LFS keeps: a line "version", then its address. */
static bool is_pointer(const char *path)
{
    char head[64] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t length = read(file, head, sizeof head - 1);
    close(file);
    return length > 0 && strncmp(head, "version ", 8) == 0 && strstr(head, "git-lfs") != NULL;
}

int tare_gitref_file(const char *ref, const char *path, const char *folder, struct tare_arena *arena,
                     const char **ret_path, struct tare_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *where = slash ? tare_arena_text(arena, path, slash > path ? (size_t)(slash - path) : 1) : ".";
    const char *object = tare_arena_printf(arena, "%s:./%s", ref, name);
    const char *output = tare_arena_printf(arena, "%s/base-%s", folder, name);
    const char *show[] = {"git", "-C", where, "show", "--end-of-options", object, NULL};
    const char *smudge[] = {"git", "-C", where, "lfs", "smudge", NULL};
    struct tare_error why;
    if (tare_arena_check(arena, err))
        return -1;
    if (git(show, NULL, output, &why)) {
        if (why.code != TARE_E_INPUT)
            return tare_fail(err, why.code, why.sys, "%s", why.msg);
        return tare_fail(err, TARE_E_INPUT, 0, "git has no '%s' in '%s': is it committed there?", path, ref);
    }
    if (is_pointer(output)) {
        const char *real = tare_arena_printf(arena, "%s/lfs-%s", folder, name);
        if (git(smudge, output, real, &why) || is_pointer(real))
            return tare_fail(err, TARE_E_INPUT, 0,
                             "'%s' of '%s' is kept by Git LFS, and 'git lfs' could not get it", path, ref);
        output = real;
    }
    *ret_path = output;
    return tare_arena_check(arena, err);
}
