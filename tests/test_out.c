/* SPDX-License-Identifier: Apache-2.0 */
/* out: a result appears whole or not at all, whatever the disk does. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/out.h"
#include "scratch.h"

enum { BIG = 300 * 1000 };

static void add_big(struct tare_out *out)
{
    char line[1000];
    memset(line, 'x', sizeof line);
    for (int i = 0; i < BIG / 1000; i++)
        tare_out_add(out, line, sizeof line);
}

static void memory_is_capped(void)
{
    struct tare_out out;
    struct tare_error err = {0};
    tare_out_init_memory(&out, 8);
    tare_out_text(&out, "1234");
    tare_out_printf(&out, "%d", 5678);
    CHECK_INT(tare_out_commit(&out, &err), 0);
    CHECK_TEXT(out.buf.data, "12345678");
    tare_out_text(&out, "9");
    tare_out_text(&out, "lost");
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK_INT(err.code, TARE_E_LIMIT);
    tare_out_finish(&out);
}

static void a_file_appears_at_commit(void)
{
    struct tare_out out;
    struct tare_error err;
    struct stat st;
    scratch_enter();
    mode_t mask = umask(027);
    CHECK_INT(tare_out_open(&out, "new", &err), 0);
    add_big(&out);
    CHECK(access("new", F_OK) < 0);
    CHECK_INT(tare_out_commit(&out, &err), 0);
    tare_out_finish(&out);
    CHECK_INT(stat("new", &st), 0);
    CHECK_INT(st.st_size, BIG);
    CHECK_INT(st.st_mode & 07777, 0640);
    CHECK_INT(scratch_files(false), 1);
    umask(mask);
    scratch_leave();
}

static void not_committed_is_not_there(void)
{
    struct tare_out out;
    scratch_enter();
    scratch_write("old", "before", 6);
    CHECK_INT(tare_out_open(&out, "old", NULL), 0);
    add_big(&out);
    tare_out_finish(&out);
    CHECK_TEXT(scratch_read("old"), "before");
    CHECK_INT(scratch_files(false), 1);
    scratch_leave();
}

static void a_writers_failure_is_kept(void)
{
    struct tare_out out;
    struct tare_error err = {0}, mine;
    scratch_enter();
    CHECK_INT(tare_out_open(&out, "x", NULL), 0);
    tare_out_text(&out, "half");
    tare_fail(&mine, TARE_E_INPUT, 0, "the first");
    tare_out_fail(&out, &mine);
    tare_fail(&mine, TARE_E_INPUT, 0, "the second");
    tare_out_fail(&out, &mine);
    tare_out_text(&out, "more");
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK_TEXT(err.msg, "the first");
    CHECK_INT(scratch_files(false), 0);
    tare_out_finish(&out);
    scratch_leave();
}

static void replacing_keeps_permissions(void)
{
    struct tare_out out;
    struct stat st;
    scratch_enter();
    scratch_write("x", "before", 6);
    CHECK_INT(chmod("x", 0604), 0);
    bool root = geteuid() == 0;
    if (root)
        CHECK_INT(chown("x", 1234, 4321), 0);
    CHECK_INT(tare_out_open(&out, "x", NULL), 0);
    tare_out_text(&out, "after");
    CHECK_TEXT(scratch_read("x"), "before");
    CHECK_INT(tare_out_commit(&out, NULL), 0);
    tare_out_finish(&out);
    CHECK_TEXT(scratch_read("x"), "after");
    CHECK_INT(stat("x", &st), 0);
    CHECK_INT(st.st_mode & 07777, 0604);
    CHECK_INT(st.st_uid, root ? 1234 : geteuid());
    scratch_leave();
}

static void write_word(const char *path, const char *word)
{
    struct tare_out out;
    struct tare_error err = {0};
    CHECK_INT(tare_out_open(&out, path, &err), 0);
    tare_out_text(&out, word);
    CHECK_INT(tare_out_commit(&out, &err), 0);
    CHECK_TEXT(err.msg, "");
    tare_out_finish(&out);
}

static void links_stay_links(void)
{
    struct tare_out out;
    struct stat st;
    scratch_enter();
    CHECK_INT(mkdir("sub", 0777), 0);
    scratch_write("sub/target", "before", 6);
    CHECK_INT(symlink("sub/near", "link"), 0);
    CHECK_INT(symlink("target", "sub/near"), 0);
    write_word("link", "after");
    CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(lstat("sub/near", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_TEXT(scratch_read("sub/target"), "after");
    /* A link to where nothing is yet. */
    CHECK_INT(symlink("sub/new", "dangling"), 0);
    write_word("dangling", "made");
    CHECK(lstat("dangling", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_TEXT(scratch_read("sub/new"), "made");
    CHECK_INT(symlink("loop", "loop"), 0);
    struct tare_error err = {0};
    CHECK_INT(tare_out_open(&out, "loop", &err), -1);
    CHECK_INT(err.sys, ELOOP);
    unlink("sub/target");
    unlink("sub/near");
    unlink("sub/new");
    scratch_leave();
}

static void long_names_fit(void)
{
    char name[256];
    scratch_enter();
    memset(name, 'n', 255);
    name[255] = '\0';
    write_word(name, "whole");
    CHECK_TEXT(scratch_read(name), "whole");
    scratch_leave();
}

static void refused(const char *path, int sys, enum tare_code code)
{
    struct tare_out out;
    struct tare_error err = {0};
    CHECK_INT(tare_out_open(&out, path, &err), -1);
    CHECK_INT(err.sys, sys);
    CHECK_INT(err.code, code);
    CHECK(strstr(err.msg, path) != NULL);
}

static void places_that_cannot_be_written(void)
{
    scratch_enter();
    refused("none/x", ENOENT, TARE_E_IO);
    refused(scratch_path, 0, TARE_E_USAGE);
    scratch_write("file", "x", 1);
    refused("file/x", ENOTDIR, TARE_E_IO);
    CHECK_INT(scratch_files(false), 1);
    scratch_leave();
}

/* Run a test as an ordinary user, since nothing is read-only for root. */
static void as_nobody(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
            _exit(3);
        check_bad = false;
        body();
        _exit(check_bad ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static void read_only_folder_body(void)
{
    refused("new", EACCES, TARE_E_IO);
    refused("old", EACCES, TARE_E_IO);
}

static void read_only_file_body(void)
{
    refused("old", EACCES, TARE_E_IO);
}

static void read_only_places(void)
{
    scratch_enter();
    scratch_write("old", "before", 6);
    CHECK_INT(chmod("old", 0444), 0);
    CHECK_INT(chmod(".", 0555), 0);
    as_nobody(read_only_folder_body);
    CHECK_INT(chmod(".", 0777), 0);
    as_nobody(read_only_file_body);
    CHECK_TEXT(scratch_read("old"), "before");
    CHECK_INT(scratch_files(false), 1);
    scratch_leave();
}

static void full_device(void)
{
    struct tare_out out;
    struct tare_error err = {0};
    CHECK_INT(tare_out_open(&out, "/dev/full", &err), 0);
    add_big(&out);
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK_INT(err.sys, ENOSPC);
    CHECK_TEXT(err.msg, "cannot write '/dev/full': No space left on device");
    tare_out_finish(&out);
    /* Little enough to stay in the buffer until commit. */
    CHECK_INT(tare_out_open(&out, "/dev/full", &err), 0);
    tare_out_text(&out, "x");
    CHECK_INT(tare_out_commit(&out, &err), -1);
    tare_out_finish(&out);
}

/* Write more than fits over "old" and as "new": each fails with sys, and nothing changes. */
static void does_not_fit(int sys)
{
    static const char *const names[] = {"old", "new"};
    scratch_write("old", "before", 6);
    for (size_t i = 0; i < 2; i++) {
        struct tare_out out;
        struct tare_error err = {0};
        CHECK_INT(tare_out_open(&out, names[i], &err), 0);
        add_big(&out);
        CHECK_INT(tare_out_commit(&out, &err), -1);
        CHECK_INT(err.sys, sys);
        CHECK_INT(scratch_files(false), 1);
        tare_out_finish(&out);
        CHECK_TEXT(scratch_read("old"), "before");
        CHECK_INT(scratch_files(false), 1);
    }
}

static void file_too_large(void)
{
    struct rlimit before, small = {.rlim_cur = 100 * 1000};
    scratch_enter();
    CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &small), 0);
    does_not_fit(EFBIG);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    scratch_leave();
}

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    return fd >= 0 && close(fd) == 0 && done;
}

/* A file system of 64 KiB in the test's folder, for this process only. */
static bool mount_small(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
    if (unshare(CLONE_NEWNS) < 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || !write_file("/proc/self/uid_map", users) ||
         !write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/gid_map", groups)))
        return false;
    return mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", scratch_path, "tmpfs", 0, "size=64k,mode=777") == 0 && chdir(scratch_path) == 0;
}

static void full_disk(void)
{
    scratch_enter();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (!mount_small())
            _exit(77);
        check_bad = false;
        does_not_fit(ENOSPC);
        _exit(check_bad ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        fprintf(stderr, "skipped full_disk: mounting a small tmpfs is not allowed here; run as root\n");
    else
        CHECK_INT(status, 0);
    scratch_leave();
}

static void a_kill_leaves_nothing(void)
{
    scratch_enter();
    int fd = open(".", O_TMPFILE | O_WRONLY, 0600);
    if (fd < 0) {
        fprintf(stderr,
                "skipped a_kill_leaves_nothing: %s has no unnamed files; set TMPDIR to ext4, xfs or "
                "tmpfs\n",
                scratch_path);
        scratch_leave();
        return;
    }
    close(fd);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct tare_out out;
        if (tare_out_open(&out, "x", NULL) == 0)
            add_big(&out);
        raise(SIGKILL);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(scratch_files(false), 0);
    scratch_leave();
}

static void a_pipe_is_written_directly(void)
{
    scratch_enter();
    CHECK_INT(mkfifo("fifo", 0600), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct tare_out out;
        int rc = tare_out_open(&out, "fifo", NULL);
        if (rc == 0) {
            tare_out_text(&out, "through");
            rc = tare_out_commit(&out, NULL);
            tare_out_finish(&out);
        }
        _exit(rc == 0 ? 0 : 1);
    }
    CHECK_TEXT(scratch_read("fifo"), "through");
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    scratch_leave();
}

/* Some programs leave the pipe that they share with us non-blocking. */
static void a_nonblocking_pipe_is_waited_for(void)
{
    int ends[2];
    CHECK_INT(pipe2(ends, O_NONBLOCK), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct tare_out out;
        close(ends[0]);
        tare_out_init_fd(&out, ends[1], "pipe");
        add_big(&out);
        int rc = tare_out_commit(&out, NULL);
        tare_out_finish(&out);
        _exit(rc == 0 ? 0 : 1);
    }
    close(ends[1]);
    CHECK_INT(fcntl(ends[0], F_SETFL, 0), 0);
    usleep(20 * 1000);
    char data[4096];
    long total = 0;
    for (ssize_t n; (n = read(ends[0], data, sizeof data)) > 0;)
        total += n;
    CHECK_INT(total, BIG);
    close(ends[0]);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static void a_closed_pipe_is_an_error(void)
{
    int ends[2];
    struct tare_out out;
    struct tare_error err = {0};
    void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
    CHECK_INT(pipe(ends), 0);
    close(ends[0]);
    tare_out_init_fd(&out, ends[1], "standard output");
    tare_out_text(&out, "x");
    CHECK_INT(tare_out_commit(&out, &err), -1);
    CHECK_INT(err.sys, EPIPE);
    CHECK_TEXT(err.msg, "cannot write 'standard output': Broken pipe");
    tare_out_finish(&out);
    CHECK_INT(close(ends[1]), 0);
    signal(SIGPIPE, handler);
}

/* -o /dev/stdout >>log must add to the log, not replace it. */
static void standard_output_by_name(void)
{
    scratch_enter();
    scratch_write("log", "first ", 6);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open("log", O_WRONLY | O_APPEND);
        if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
            _exit(2);
        check_bad = false;
        write_word("/dev/stdout", "second ");
        write_word("/proc/self/fd/1", "third ");
        write_word("/dev/fd/1", "fourth");
        _exit(check_bad ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK_TEXT(scratch_read("log"), "first second third fourth");
    CHECK_INT(scratch_files(false), 1);
    scratch_leave();
}

int main(void)
{
    RUN(memory_is_capped);
    RUN(a_file_appears_at_commit);
    RUN(not_committed_is_not_there);
    RUN(a_writers_failure_is_kept);
    RUN(replacing_keeps_permissions);
    RUN(links_stay_links);
    RUN(long_names_fit);
    RUN(places_that_cannot_be_written);
    RUN(read_only_places);
    RUN(full_device);
    RUN(file_too_large);
    RUN(full_disk);
    RUN(a_kill_leaves_nothing);
    RUN(a_pipe_is_written_directly);
    RUN(a_nonblocking_pipe_is_waited_for);
    RUN(a_closed_pipe_is_an_error);
    RUN(standard_output_by_name);
    return check_done();
}
