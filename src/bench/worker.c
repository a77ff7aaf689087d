/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/words.h"
#include "bench/worker_use.h"
#include "bench/worker_wire.h"

/* How often waiting looks whether it should stop, when no signal wakes it. */
enum { LOOK_MS = 250 };
/* How long a worker may take to end by itself. */
#define END_NS INT64_C(1000000000)

extern char **environ;

struct tare_worker {
    pid_t pid;
    int socket, words; /* to talk to it; what it writes to standard error */
    bool dead;         /* it ended, or it is in the middle of something that nobody waits for */
    bool ended;        /* and it is no process any more */
    int status;        /* as waitpid says it */
    const volatile sig_atomic_t *stop;
    int64_t deadline_ns;
    struct tare_buf buf;
    char said[2048]; /* the end of what it wrote */
    size_t said_length;
};

/* ---- starting and ending the process ---- */

/* A process group of its own keeps the terminal's Ctrl-C away from it: the parent decides. */
static int spawn(const char *const *argv, int socket, int words, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc)
        return rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc) {
        posix_spawn_file_actions_destroy(&actions);
        return rc;
    }
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGTERM);
    if ((rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)) == 0 &&
        (rc = posix_spawn_file_actions_adddup2(&actions, words, STDOUT_FILENO)) == 0 &&
        (rc = posix_spawn_file_actions_adddup2(&actions, words, STDERR_FILENO)) == 0 &&
        (rc = posix_spawn_file_actions_adddup2(&actions, socket, TARE_WORKER_DESCRIPTOR)) == 0 &&
        (rc = posix_spawnattr_setpgroup(&attributes, 0)) == 0 &&
        (rc = posix_spawnattr_setsigmask(&attributes, &none)) == 0 &&
        (rc = posix_spawnattr_setsigdefault(&attributes, &usual)) == 0 &&
        (rc = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                        POSIX_SPAWN_SETSIGDEF)) == 0)
        rc = posix_spawnp(ret_pid, argv[0], &actions, &attributes, tare_words_argv(argv), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* The descriptors must not lie where the worker's own go: they would overwrite each other on the way. */
static int out_of_the_way(int *fd)
{
    if (*fd > TARE_WORKER_DESCRIPTOR)
        return 0;
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, TARE_WORKER_DESCRIPTOR + 1);
    if (moved < 0)
        return -1;
    close(*fd);
    *fd = moved;
    return 0;
}

static int start(struct tare_worker *worker, const char *const *argv, struct tare_error *err)
{
    int sockets[2] = {-1, -1}, words[2] = {-1, -1}, rc = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0 || pipe2(words, O_CLOEXEC) < 0 ||
        out_of_the_way(&sockets[1]) || out_of_the_way(&words[1]) || fcntl(words[0], F_SETFL, O_NONBLOCK) < 0)
        rc = errno;
    if (rc == 0)
        rc = spawn(argv, sockets[1], words[1], &worker->pid);
    if (sockets[1] >= 0)
        close(sockets[1]);
    if (words[1] >= 0)
        close(words[1]);
    worker->socket = sockets[0];
    worker->words = words[0];
    if (rc)
        return tare_fail(err, TARE_E_IO, rc, "cannot start a worker with '%.100s'", argv[0]);
    return 0;
}

/* Wait for its end; false if it did not come in time. */
static bool wait_end(struct tare_worker *worker, int64_t ns)
{
    int64_t deadline = tare_clock_ns() + ns;
    while (!worker->ended) {
        pid_t pid = waitpid(worker->pid, &worker->status, WNOHANG);
        /* Where children are ignored they vanish by themselves. */
        worker->ended = pid == worker->pid || (pid < 0 && errno != EINTR);
        if (worker->ended)
            break;
        if (tare_clock_ns() >= deadline)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

static void end(struct tare_worker *worker, int64_t patience_ns)
{
    if (worker->pid <= 0 || wait_end(worker, patience_ns))
        return;
    kill(worker->pid, SIGKILL);
    while (!worker->ended)
        wait_end(worker, END_NS);
}

/* ---- what it says ---- */

/* Keep the end of what it wrote; false when nothing more will come. */
static bool listen_to(struct tare_worker *worker)
{
    char text[4096];
    for (;;) {
        ssize_t got = read(worker->words, text, sizeof text);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        size_t fresh = (size_t)got, room = sizeof worker->said;
        const char *from = text;
        if (fresh > room) {
            from += fresh - room;
            fresh = room;
        }
        size_t kept = worker->said_length + fresh > room ? room - fresh : worker->said_length;
        memmove(worker->said, worker->said + worker->said_length - kept, kept);
        memcpy(worker->said + kept, from, fresh);
        worker->said_length = kept + fresh;
    }
}

/* Its last line that is not empty. */
static void last_line(const struct tare_worker *worker, char *line, size_t size)
{
    size_t end_at = worker->said_length;
    while (end_at > 0 && strchr(" \r\n\t", worker->said[end_at - 1]))
        end_at--;
    size_t from = end_at;
    while (from > 0 && worker->said[from - 1] != '\n')
        from--;
    snprintf(line, size, "%.*s", (int)(end_at - from), worker->said + from);
}

/* It is gone: say how, and what it said last. */
static int mourn(struct tare_worker *worker, struct tare_error *err)
{
    char how[64], line[140];
    worker->dead = true;
    end(worker, END_NS);
    listen_to(worker);
    last_line(worker, line, sizeof line);
    if (WIFSIGNALED(worker->status))
        snprintf(how, sizeof how, "crashed (%s)", strsignal(WTERMSIG(worker->status)));
    else
        snprintf(how, sizeof how, "ended with status %d", WEXITSTATUS(worker->status));
    return tare_fail(err, TARE_E_INPUT, 0, "the process that ran the model %s%s%s%s", how,
                     *line ? "; its last words: '" : "", line, *line ? "'" : "");
}

/* ---- messages ---- */

static int wait_for_it(void *data, struct tare_error *err)
{
    struct tare_worker *worker = data;
    struct pollfd both[] = {{.fd = worker->socket, .events = POLLIN},
                            {.fd = worker->words, .events = POLLIN}};
    for (nfds_t count = 2;;) {
        if (worker->stop && *worker->stop) {
            worker->dead = true;
            return tare_fail(err, TARE_E_LIMIT, 0, "interrupted");
        }
        if (worker->deadline_ns > 0 && tare_clock_ns() > worker->deadline_ns) {
            worker->dead = true;
            return tare_fail(err, TARE_E_LIMIT, 0,
                             "the model was not done when the time was over: raise --time");
        }
        int ready = poll(both, count, LOOK_MS);
        if (ready < 0 && errno != EINTR)
            return tare_fail(err, TARE_E_IO, errno, "cannot wait for a worker");
        if (ready > 0 && count == 2 && both[1].revents && !listen_to(worker))
            count = 1;
        if (ready > 0 && both[0].revents)
            return 0;
    }
}

static struct tare_buf *ask(struct tare_worker *worker)
{
    tare_buf_clear(&worker->buf);
    return &worker->buf;
}

/* The worker's own words for what went wrong. */
static int take_failure(struct tare_wire_reader *reader, struct tare_error *err)
{
    struct tare_arena arena;
    tare_arena_init(&arena, 1 << 16);
    enum tare_code code = (enum tare_code)tare_wire_int_in(reader, TARE_E_USAGE, TARE_E_UNSUPPORTED);
    int sys = (int)tare_wire_int_in(reader, 0, 65536);
    const char *text = tare_wire_text(reader, &arena);
    if (tare_wire_done(reader, err) == 0 && err) {
        tare_fail(err, code, 0, "%s", text ? text : "");
        err->sys = sys;
    }
    tare_arena_finish(&arena);
    return -1;
}

/* Send what was put into the buffer, and wait for the answer, which is then in the buffer. */
static int talk(struct tare_worker *worker, enum tare_worker_message message,
                struct tare_wire_reader *ret_reader, struct tare_error *err)
{
    uint32_t kind = 0;
    if (worker->dead)
        return tare_fail(err, TARE_E_INPUT, 0, "the process that ran the model is gone");
    if (tare_buf_check(&worker->buf, err))
        return -1;
    int status = tare_wire_send(worker->socket, message, &worker->buf, err);
    if (status == 0)
        status = tare_wire_receive(worker->socket, wait_for_it, worker, &kind, &worker->buf, err);
    else if (err && (err->sys == EPIPE || err->sys == ECONNRESET))
        status = 1;
    if (status == 1)
        return mourn(worker, err);
    if (status) {
        worker->dead = true;
        return -1;
    }
    *ret_reader = (struct tare_wire_reader){.data = worker->buf.data, .left = worker->buf.length};
    if (kind == TARE_WORKER_FAILED)
        return take_failure(ret_reader, err);
    if (kind != TARE_WORKER_DONE) {
        worker->dead = true;
        return tare_fail(err, TARE_E_INPUT, 0, "a worker gave an answer of unknown kind %u", kind);
    }
    return 0;
}

static void take_text(struct tare_wire_reader *reader, char *text, size_t size)
{
    struct tare_arena arena;
    tare_arena_init(&arena, 1 << 16);
    const char *value = tare_wire_text(reader, &arena);
    snprintf(text, size, "%s", value ? value : "");
    tare_arena_finish(&arena);
}

/* ---- the calls ---- */

int tare_worker_open(const struct tare_worker_start *how, const struct tare_worker_spec *spec,
                     struct tare_worker **ret_worker, struct tare_worker_ready *ret_ready,
                     struct tare_error *err)
{
    struct tare_worker *worker = calloc(1, sizeof *worker);
    struct tare_worker_ready ready = {0};
    struct tare_wire_reader reader;
    if (!worker)
        return tare_fail_memory(err);
    worker->socket = worker->words = -1;
    worker->stop = how->stop;
    worker->deadline_ns = how->deadline_ns;
    tare_buf_init(&worker->buf, TARE_WIRE_CAP);
    if (start(worker, how->argv, err))
        goto fail;
    tare_worker_put_spec(ask(worker), spec);
    if (talk(worker, TARE_WORKER_OPEN, &reader, err))
        goto fail;
    ready.load_ns = tare_wire_int(&reader);
    ready.resident_before = tare_wire_int(&reader);
    ready.resident_after = tare_wire_int(&reader);
    take_text(&reader, ready.name, sizeof ready.name);
    take_text(&reader, ready.version, sizeof ready.version);
    take_text(&reader, ready.path, sizeof ready.path);
    if (tare_wire_done(&reader, err))
        goto fail;
    *ret_worker = worker;
    *ret_ready = ready;
    return 0;
fail:
    tare_worker_close(worker);
    return -1;
}

int tare_worker_pid(const struct tare_worker *worker)
{
    return (int)worker->pid;
}

bool tare_worker_dead(const struct tare_worker *worker)
{
    return worker->dead;
}

int tare_worker_shape(struct tare_worker *worker, int64_t batch, const struct tare_run_dim *dims,
                      size_t dims_count, struct tare_error *err)
{
    struct tare_wire_reader reader;
    struct tare_buf *buf = ask(worker);
    tare_wire_put_int(buf, batch);
    tare_worker_put_dims(buf, dims, dims_count);
    return talk(worker, TARE_WORKER_SHAPE, &reader, err) || tare_wire_done(&reader, err) ? -1 : 0;
}

int tare_worker_feed(struct tare_worker *worker, const struct tare_tensor *inputs, size_t count,
                     struct tare_error *err)
{
    struct tare_wire_reader reader;
    tare_wire_put_tensors(ask(worker), inputs, count);
    return talk(worker, TARE_WORKER_FEED, &reader, err) || tare_wire_done(&reader, err) ? -1 : 0;
}

int tare_worker_warm(struct tare_worker *worker, int64_t budget_ns, struct tare_harness_warmup *ret_warmup,
                     struct tare_error *err)
{
    struct tare_wire_reader reader;
    struct tare_harness_warmup warmup;
    tare_wire_put_int(ask(worker), budget_ns);
    if (talk(worker, TARE_WORKER_WARM, &reader, err))
        return -1;
    warmup.cold_ns = tare_wire_int(&reader);
    warmup.calls = tare_wire_int(&reader);
    warmup.ns = tare_wire_int(&reader);
    warmup.stable = tare_wire_int_in(&reader, 0, 1) == 1;
    warmup.calls_per_sample = tare_wire_int_in(&reader, 1, INT64_MAX);
    warmup.call_ns = tare_wire_int(&reader);
    if (tare_wire_done(&reader, err))
        return -1;
    *ret_warmup = warmup;
    return 0;
}

int tare_worker_measure(struct tare_worker *worker, const struct tare_harness_limits *limits,
                        struct tare_arena *arena, int64_t **ret_ns, size_t *ret_count,
                        struct tare_worker_use *use, struct tare_error *err)
{
    struct tare_wire_reader reader;
    struct tare_worker_use used;
    struct tare_buf *buf = ask(worker);
    tare_wire_put_int(buf, limits->min_samples);
    tare_wire_put_int(buf, limits->max_samples);
    tare_wire_put_int(buf, limits->budget_ns);
    tare_wire_put_int(buf, use != NULL);
    if (talk(worker, TARE_WORKER_MEASURE, &reader, err))
        return -1;
    if (use)
        tare_worker_get_use(&reader, &used);
    int64_t count = tare_wire_int_in(&reader, 0, INT32_MAX);
    const void *ns = tare_wire_bytes(&reader, (size_t)count * sizeof **ret_ns);
    if (tare_wire_done(&reader, err))
        return -1;
    int64_t *copy = tare_arena_array(arena, (size_t)count + 1, sizeof *copy);
    if (!copy)
        return tare_fail_memory(err);
    memcpy(copy, ns, (size_t)count * sizeof *copy);
    *ret_ns = copy;
    *ret_count = (size_t)count;
    if (use)
        *use = used;
    return 0;
}

int tare_worker_remember(struct tare_worker *worker, int64_t calls, struct tare_arena *arena,
                         struct tare_worker_memory *ret_memory, struct tare_error *err)
{
    struct tare_wire_reader reader;
    struct tare_worker_memory memory = {0};
    tare_wire_put_int(ask(worker), calls);
    if (talk(worker, TARE_WORKER_REMEMBER, &reader, err))
        return -1;
    tare_worker_get_memory(&reader, arena, &memory);
    if (tare_wire_done(&reader, err))
        return -1;
    *ret_memory = memory;
    return 0;
}

int tare_worker_answer(struct tare_worker *worker, struct tare_arena *arena, struct tare_tensor **ret_inputs,
                       size_t *ret_inputs_count, struct tare_tensor **ret_outputs, size_t *ret_outputs_count,
                       struct tare_error *err)
{
    struct tare_wire_reader reader;
    size_t inputs_count, outputs_count;
    tare_wire_put_int(ask(worker), ret_inputs != NULL);
    if (talk(worker, TARE_WORKER_ANSWER, &reader, err))
        return -1;
    struct tare_tensor *inputs = tare_wire_tensors(&reader, arena, &inputs_count);
    struct tare_tensor *outputs = tare_wire_tensors(&reader, arena, &outputs_count);
    if (tare_wire_done(&reader, err) || tare_arena_check(arena, err))
        return -1;
    if (ret_inputs) {
        *ret_inputs = inputs;
        *ret_inputs_count = inputs_count;
    }
    *ret_outputs = outputs;
    *ret_outputs_count = outputs_count;
    return 0;
}

int tare_worker_profile(struct tare_worker *worker, int64_t calls, struct tare_arena *arena,
                        const char **ret_path, struct tare_error *err)
{
    struct tare_wire_reader reader;
    tare_wire_put_int(ask(worker), calls);
    if (talk(worker, TARE_WORKER_PROFILE, &reader, err))
        return -1;
    const char *path = tare_wire_text(&reader, arena);
    if (tare_wire_done(&reader, err) || tare_arena_check(arena, err))
        return -1;
    *ret_path = path ? path : "";
    return 0;
}

bool tare_worker_idle(const struct tare_worker *worker, int64_t wait_ns)
{
    /* Long enough for the kernel to have counted what a thread on another core does. */
    const int64_t look_ns = 10000000, noise_ns = 200000;
    int64_t deadline = tare_clock_ns() + wait_ns;
    bool running_before, running_after;
    if (worker->dead)
        return true;
    do {
        int64_t before = tare_use_of_process((int)worker->pid, &running_before);
        nanosleep(&(struct timespec){.tv_nsec = look_ns}, NULL);
        int64_t after = tare_use_of_process((int)worker->pid, &running_after);
        if (!running_before && !running_after && after - before < noise_ns)
            return true;
    } while (tare_clock_ns() < deadline && !(worker->stop && *worker->stop));
    return false;
}

void tare_worker_close(struct tare_worker *worker)
{
    if (!worker)
        return;
    if (worker->socket >= 0)
        close(worker->socket);
    /* With its socket gone it ends by itself, unless it is stuck. */
    end(worker, END_NS);
    if (worker->words >= 0)
        close(worker->words);
    tare_buf_finish(&worker->buf);
    free(worker);
}
