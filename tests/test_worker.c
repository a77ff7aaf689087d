/* SPDX-License-Identifier: Apache-2.0 */
/* The program is its own worker: started with .worker it does what `tare .worker` does, and with .deaf, .mute
 * or .babble what a broken one might. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/wire.h"
#include "bench/worker.h"
#include "check.h"

static const char *self;

/* Sanitizers keep notes of their own on each byte, which are resident too. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { BYTES_ARE_BYTES = 0 };
#elif defined(__has_feature)
enum { BYTES_ARE_BYTES = !(__has_feature(thread_sanitizer) || __has_feature(address_sanitizer)) };
#else
enum { BYTES_ARE_BYTES = 1 };
#endif

static struct tare_worker *opened_as(const char *word, const char *model, int64_t batch,
                                     const volatile sig_atomic_t *stop, struct tare_error *err)
{
    const char *argv[] = {self, word, NULL};
    struct tare_worker_start start = {.argv = argv, .stop = stop};
    struct tare_worker_spec spec = {
        .engine = "fake", .model_path = model, .batch = batch, .options = {.threads = 1}};
    struct tare_worker_ready ready = {0};
    struct tare_worker *worker = NULL;
    if (tare_worker_open(&start, &spec, &worker, &ready, err) == 0) {
        CHECK_TEXT(ready.name, "fake");
        CHECK_TEXT(ready.version, TARE_VERSION);
        CHECK(ready.load_ns > 0);
        CHECK(ready.resident_before > 0);
    }
    return worker;
}

static struct tare_worker *opened(const char *model)
{
    struct tare_error err = {0};
    struct tare_worker *worker = opened_as(".worker", model, 0, NULL, &err);
    CHECK_TEXT(err.msg, "");
    CHECK(worker);
    return worker;
}

static void measures_in_another_process(void)
{
    struct tare_error err = {0};
    struct tare_harness_warmup warmup = {0};
    struct tare_harness_limits limits = {.min_samples = 5, .max_samples = 1000, .budget_ns = 100000000};
    struct tare_worker_use use = {0};
    struct tare_arena arena;
    int64_t *ns = NULL;
    size_t count = 0;
    struct tare_worker *worker = opened("constant,mean=500us,cold=10");
    if (!worker)
        return;
    tare_arena_init(&arena, 0);
    CHECK(tare_worker_pid(worker) > 0 && tare_worker_pid(worker) != getpid());
    CHECK_INT(tare_worker_warm(worker, 1000000000, &warmup, &err), 0);
    CHECK(warmup.cold_ns > 4900000);
    CHECK_INT(tare_worker_measure(worker, &limits, &arena, &ns, &count, &use, &err), 0);
    CHECK(count >= 5 && count <= 200);
    for (size_t i = 0; i < count; i++)
        CHECK(ns[i] > 499000);
    CHECK(use.wall_ns >= 99000000 && use.wall_ns < 10000000000);
    CHECK(use.cpu_user_ns > 0 && use.cpu_user_ns <= use.wall_ns + 20000000);
    CHECK(use.cores > 0);
    CHECK(use.switches_involuntary >= 0 && use.faults_minor >= 0);
    CHECK(tare_worker_idle(worker, 1000000000));
    CHECK(!tare_worker_dead(worker));
    tare_arena_finish(&arena);
    tare_worker_close(worker);
}

static void memory_is_counted(void)
{
    struct tare_error err = {0};
    struct tare_worker_memory memory = {0};
    struct tare_arena arena;
    struct tare_worker *worker = opened_as(".worker", "constant,mean=1ms,memory=4MiB", 8, NULL, &err);
    CHECK_TEXT(err.msg, "");
    if (!worker)
        return;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_worker_remember(worker, 20, &arena, &memory, &err), 0);
    if (BYTES_ARE_BYTES) {
        CHECK_REAL((double)(memory.peak - memory.before), 32 << 20, 0.05);
        CHECK_REAL((double)(memory.after - memory.before), 32 << 20, 0.05);
    }
    CHECK(memory.average > memory.before && memory.average <= memory.peak);
    CHECK_INT(memory.engine.peak, 32 << 20);
    CHECK(memory.count > 5);
    for (size_t i = 1; i < memory.count; i++)
        CHECK(memory.ns[i] >= memory.ns[i - 1] && memory.resident[i] > 0);
    /* A second look finds no more of it. */
    CHECK_INT(tare_worker_remember(worker, 20, &arena, &memory, &err), 0);
    CHECK(memory.peak - memory.before < 2 << 20);
    tare_arena_finish(&arena);
    tare_worker_close(worker);
}

static void leaks_show(void)
{
    struct tare_error err = {0};
    struct tare_worker_memory memory = {0};
    struct tare_arena arena;
    struct tare_worker *worker = opened("leaking,mean=100us,leak=64KiB");
    if (!worker)
        return;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_worker_remember(worker, 256, &arena, &memory, &err), 0);
    CHECK(memory.after - memory.before > 250 * 65536);
    if (BYTES_ARE_BYTES)
        CHECK_REAL((double)(memory.after - memory.before), 256 * 65536, 0.1);
    tare_arena_finish(&arena);
    tare_worker_close(worker);
}

static void answers_come_back(void)
{
    struct tare_error err = {0};
    struct tare_run_dim dims[] = {{"seq", 6}};
    struct tare_tensor *inputs, *outputs, *more;
    size_t inputs_count, outputs_count, more_count;
    struct tare_arena arena;
    struct tare_worker *worker = opened("constant,mean=10us");
    if (!worker)
        return;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_worker_shape(worker, 3, dims, 1, &err), 0);
    CHECK_INT(tare_worker_answer(worker, &arena, &inputs, &inputs_count, &outputs, &outputs_count, &err), 0);
    CHECK_INT(inputs_count, 1);
    CHECK_INT(inputs[0].rank, 2);
    CHECK_INT(inputs[0].dims[0], 3);
    CHECK_INT(inputs[0].dims[1], 6);
    CHECK_INT(outputs[0].dims[0], 3);
    /* The same inputs by hand give the same answers. */
    CHECK_INT(tare_worker_feed(worker, inputs, inputs_count, &err), 0);
    CHECK_INT(tare_worker_answer(worker, &arena, NULL, NULL, &more, &more_count, &err), 0);
    CHECK_INT(more_count, outputs_count);
    CHECK(memcmp(more[0].data, outputs[0].data, outputs[0].bytes) == 0);
    tare_arena_finish(&arena);
    tare_worker_close(worker);
}

static void errors_cross_over(void)
{
    struct tare_error err = {0};
    CHECK(!opened_as(".worker", "fake:norml", 0, NULL, &err));
    CHECK(strstr(err.msg, "did you mean 'normal'"));
    CHECK_INT(err.code, TARE_E_USAGE);
    struct tare_harness_warmup warmup;
    struct tare_worker *worker = opened("constant,mean=10us,fail=2");
    if (!worker)
        return;
    CHECK_INT(tare_worker_warm(worker, 1000000, &warmup, &err), -1);
    CHECK(strstr(err.msg, "call 2 fails"));
    CHECK(!tare_worker_dead(worker));
    CHECK_INT(tare_worker_warm(worker, 1000000, &warmup, &err), 0);
    const char *path;
    struct tare_arena arena;
    tare_arena_init(&arena, 0);
    CHECK_INT(tare_worker_profile(worker, 1, &arena, &path, &err), -1);
    CHECK_INT(err.code, TARE_E_UNSUPPORTED);
    tare_arena_finish(&arena);
    tare_worker_close(worker);
}

static void a_crash_is_told(void)
{
    struct tare_error err = {0};
    struct tare_harness_warmup warmup;
    struct tare_worker *worker = opened("crash,mean=10us,crash=7");
    if (!worker)
        return;
    CHECK_INT(tare_worker_warm(worker, 1000000000, &warmup, &err), -1);
    CHECK(strstr(err.msg, "crashed (Aborted)") && strstr(err.msg, "call 7 ends the process"));
    CHECK(tare_worker_dead(worker));
    CHECK_INT(tare_worker_warm(worker, 1000000000, &warmup, &err), -1);
    CHECK(strstr(err.msg, "gone"));
    tare_worker_close(worker);
}

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void waiting_can_be_stopped(void)
{
    struct tare_error err = {0};
    struct tare_harness_warmup warmup;
    struct sigaction action = {.sa_handler = stop}, before;
    struct tare_worker *worker = opened_as(".worker", "constant,mean=10us,hang=3", 0, &stopped, &err);
    CHECK(worker);
    if (!worker)
        return;
    sigaction(SIGALRM, &action, &before);
    int64_t start = tare_clock_ns();
    ualarm(50000, 0);
    CHECK_INT(tare_worker_warm(worker, 1000000000, &warmup, &err), -1);
    CHECK_INT(err.code, TARE_E_LIMIT);
    CHECK(tare_worker_dead(worker));
    tare_worker_close(worker);
    CHECK(tare_clock_ns() - start < 3000000000);
    sigaction(SIGALRM, &before, NULL);
    stopped = 0;
}

static void restless_workers_are_seen(void)
{
    struct tare_error err = {0};
    struct tare_harness_warmup warmup;
    struct tare_worker *worker = opened("constant,mean=1ms,restless=300ms");
    if (!worker)
        return;
    CHECK_INT(tare_worker_warm(worker, 0, &warmup, &err), 0);
    CHECK(!tare_worker_idle(worker, 0));
    CHECK(tare_worker_idle(worker, 5000000000));
    tare_worker_close(worker);
}

/* A parent that dies takes its worker with it, even one that hangs in a call. */
static void no_worker_is_left_behind(void)
{
    int told[2];
    CHECK_INT(pipe(told), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct tare_error err = {0};
        struct tare_harness_warmup warmup;
        struct tare_worker *worker = opened("constant,mean=10us,hang=3");
        pid_t pid = worker ? tare_worker_pid(worker) : -1;
        if (write(told[1], &pid, sizeof pid) == sizeof pid && worker)
            tare_worker_warm(worker, 1000000000, &warmup, &err);
        _exit(0);
    }
    pid_t pid = -1;
    CHECK(read(told[0], &pid, sizeof pid) == sizeof pid && pid > 0);
    usleep(100000);
    CHECK(kill(pid, 0) == 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    bool gone = false;
    for (int i = 0; i < 500 && !gone; i++) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int fd = open(path, O_RDONLY);
        ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        /* Whoever adopts it may be slow to bury it. */
        gone = got <= 0 || strstr(text, ") Z ");
        if (fd >= 0)
            close(fd);
        usleep(10000);
    }
    CHECK(gone);
    close(told[0]);
    close(told[1]);
}

static void broken_workers_are_told_apart(void)
{
    static const struct {
        const char *word, *says;
    } broken[] = {
        {".deaf", "ended with status 3"},    {".babble", "no message"},        {".odd", "unknown kind"},
        {".short", "understand each other"}, {".half", "ended with status 0"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct tare_error err = {0};
        CHECK(!opened_as(broken[i].word, "constant", 0, NULL, &err));
        CHECK(strstr(err.msg, broken[i].says));
        if (!strstr(err.msg, broken[i].says))
            fprintf(stderr, "    %s: %s\n", broken[i].word, err.msg);
    }
    struct tare_error err = {0};
    const char *argv[] = {"/nonexistent/tare", ".worker", NULL};
    struct tare_worker_start start = {.argv = argv};
    struct tare_worker_spec spec = {.engine = "fake", .model_path = "constant"};
    struct tare_worker *worker;
    struct tare_worker_ready ready;
    CHECK_INT(tare_worker_open(&start, &spec, &worker, &ready, &err), -1);
    CHECK(strstr(err.msg, "/nonexistent/tare"));
}

/* Whatever bytes arrive, the worker answers or ends; it never crashes. */
static void workers_survive_nonsense(void)
{
    unsigned seed = 1;
    for (int round = 0; round < 30; round++) {
        int sockets[2], status = 0;
        CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        pid_t pid = fork();
        if (pid == 0) {
            close(sockets[0]);
            tare_worker_main(sockets[1]);
            _exit(99);
        }
        close(sockets[1]);
        for (int message = 0; message < 20; message++) {
            char bytes[200];
            size_t length = (size_t)rand_r(&seed) % sizeof bytes;
            struct tare_wire_head head = {.magic = TARE_WIRE_MAGIC, .length = length};
            head.kind = (uint32_t)rand_r(&seed) % 12;
            for (size_t i = 0; i < length; i++)
                bytes[i] = (char)(rand_r(&seed) % 4 ? 0 : rand_r(&seed));
            if (send(sockets[0], &head, sizeof head, MSG_NOSIGNAL) < 0 ||
                send(sockets[0], bytes, length, MSG_NOSIGNAL) < 0)
                break;
        }
        shutdown(sockets[0], SHUT_WR);
        while (recv(sockets[0], &status, sizeof status, 0) > 0)
            ;
        close(sockets[0]);
        waitpid(pid, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static int be_broken(const char *word)
{
    struct tare_wire_head head = {.kind = 100, .magic = TARE_WIRE_MAGIC, .length = 3};
    char asked[4096];
    const int socket = TARE_WORKER_DESCRIPTOR;
    if (strcmp(word, ".deaf") == 0)
        return 3;
    if (read(socket, asked, sizeof asked) <= 0)
        return 4;
    if (strcmp(word, ".babble") == 0)
        memset(&head, 'x', sizeof head);
    if (strcmp(word, ".odd") == 0)
        head.kind = 77;
    if (strcmp(word, ".half") == 0)
        head.length = 1000;
    if (write(socket, &head, sizeof head) != sizeof head || write(socket, "abc", 3) != 3)
        return 5;
    if (strcmp(word, ".half") != 0)
        sleep(1);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], ".worker") == 0)
        return tare_worker_main(TARE_WORKER_DESCRIPTOR) < 0 ? 2 : 0;
    if (argc == 2 && argv[1][0] == '.')
        return be_broken(argv[1]);
    self = argv[0];
    RUN(measures_in_another_process);
    RUN(memory_is_counted);
    RUN(leaks_show);
    RUN(answers_come_back);
    RUN(errors_cross_over);
    RUN(a_crash_is_told);
    RUN(waiting_can_be_stopped);
    RUN(restless_workers_are_seen);
    RUN(no_worker_is_left_behind);
    RUN(broken_workers_are_told_apart);
    RUN(workers_survive_nonsense);
    return check_done();
}
