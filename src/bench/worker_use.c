/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/worker_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/machine_part.h"

enum { MOST_CORES = 256, TEXT = 65536 };

/* The start of a file of /proc as text; its length, 0 if there is none. */
static size_t read_text(const char *path, char *text, size_t size)
{
    size_t length = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    for (ssize_t got; length < size - 1 && (got = read(fd, text + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    text[length] = '\0';
    close(fd);
    return length;
}

/* The number after a key that starts a line. */
static int64_t number_after(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0)
            return strtoll(line + length, NULL, 10);
    }
    return -1;
}

static int64_t ns_of(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

static void look_at_process(struct tare_worker_use *use)
{
    struct rusage usage;
    use->wall_ns = tare_clock_ns();
    if (getrusage(RUSAGE_SELF, &usage) < 0)
        return;
    use->cpu_user_ns = ns_of(usage.ru_utime);
    use->cpu_system_ns = ns_of(usage.ru_stime);
    use->switches_voluntary = usage.ru_nvcsw;
    use->switches_involuntary = usage.ru_nivcsw;
    use->faults_minor = usage.ru_minflt;
    use->faults_major = usage.ru_majflt;
}

/* "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..." of this network namespace;
 * what stays inside the machine does not count. */
static void look_at_network(struct tare_worker_use *use, char *text)
{
    if (!read_text("/proc/self/net/dev", text, TEXT))
        return;
    use->net_receive = use->net_send = 0;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        line += strspn(line, " ");
        const char *colon = memchr(line, ':', strcspn(line, "\n"));
        int64_t receive, send;
        if (!colon || strncmp(line, "lo:", 3) == 0)
            continue;
        if (sscanf(colon + 1, "%" SCNd64 " %*d %*d %*d %*d %*d %*d %*d %" SCNd64, &receive, &send) == 2) {
            use->net_receive += receive;
            use->net_send += send;
        }
    }
}

/* "cpu0 user nice system idle iowait irq softirq steal ..." in clock ticks; the first line sums all. */
static void look_at_machine(struct tare_use_moment *moment, char *text)
{
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    if (!read_text("/proc/stat", text, TEXT))
        return;
    for (char *line = text; line && strncmp(line, "cpu", 3) == 0; line = strchr(line, '\n') + 1) {
        uint64_t t[8] = {0};
        char *end = line + 3;
        bool all = *end == ' ';
        uint64_t core = all ? 0 : strtoull(end, &end, 10);
        for (int i = 0; i < 8; i++)
            t[i] = strtoull(end, &end, 10);
        uint64_t idle = t[3] + t[4], busy = t[0] + t[1] + t[2] + t[5] + t[6];
        if (all) {
            moment->sum.steal_ns = (int64_t)t[7] * tick_ns;
        } else if (core < MOST_CORES) {
            moment->busy[core] = busy;
            moment->all[core] = busy + idle + t[7];
            moment->cores = core + 1 > moment->cores ? core + 1 : moment->cores;
        }
        if (!strchr(line, '\n'))
            break;
    }
}

static void look_at_group(struct tare_worker_use *use)
{
    struct tare_arena arena;
    struct tare_machine machine = {.cgroup_throttled = -1, .cgroup_throttled_ns = -1, .cgroup_cpus = -1};
    tare_arena_init(&arena, 1 << 20);
    struct tare_machine_files files = {.root = "", .arena = &arena};
    tare_machine_collect_cgroup(&files, &machine);
    use->throttled_ns = machine.cgroup_throttled_ns;
    use->throttled_periods = machine.cgroup_throttled;
    tare_arena_finish(&arena);
}

void tare_use_look(bool ending, struct tare_use_moment *ret_moment)
{
    struct tare_worker_use *use = &ret_moment->sum;
    char *text = malloc(TEXT);
    *ret_moment = (struct tare_use_moment){.sum = {
                                               .cpu_user_ns = -1,
                                               .cpu_system_ns = -1,
                                               .switches_voluntary = -1,
                                               .switches_involuntary = -1,
                                               .faults_minor = -1,
                                               .faults_major = -1,
                                               .disk_read = -1,
                                               .disk_write = -1,
                                               .net_receive = -1,
                                               .net_send = -1,
                                               .steal_ns = -1,
                                               .throttled_ns = -1,
                                               .throttled_periods = -1,
                                           }};
    if (ending)
        look_at_process(use);
    if (text && read_text("/proc/self/io", text, TEXT)) {
        use->disk_read = number_after(text, "read_bytes:");
        use->disk_write = number_after(text, "write_bytes:");
    }
    if (text) {
        look_at_network(use, text);
        look_at_machine(ret_moment, text);
        look_at_group(use);
    }
    free(text);
    if (!ending)
        look_at_process(use);
}

static int64_t difference(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

void tare_use_between(const struct tare_use_moment *before, const struct tare_use_moment *after,
                      struct tare_worker_use *ret_use)
{
    const struct tare_worker_use *a = &before->sum, *b = &after->sum;
    *ret_use = (struct tare_worker_use){
        .wall_ns = difference(a->wall_ns, b->wall_ns),
        .cpu_user_ns = difference(a->cpu_user_ns, b->cpu_user_ns),
        .cpu_system_ns = difference(a->cpu_system_ns, b->cpu_system_ns),
        .switches_voluntary = difference(a->switches_voluntary, b->switches_voluntary),
        .switches_involuntary = difference(a->switches_involuntary, b->switches_involuntary),
        .faults_minor = difference(a->faults_minor, b->faults_minor),
        .faults_major = difference(a->faults_major, b->faults_major),
        .disk_read = difference(a->disk_read, b->disk_read),
        .disk_write = difference(a->disk_write, b->disk_write),
        .net_receive = difference(a->net_receive, b->net_receive),
        .net_send = difference(a->net_send, b->net_send),
        .steal_ns = difference(a->steal_ns, b->steal_ns),
        .throttled_ns = difference(a->throttled_ns, b->throttled_ns),
        .throttled_periods = difference(a->throttled_periods, b->throttled_periods),
        .cores = before->cores < after->cores ? before->cores : after->cores,
    };
    for (size_t i = 0; i < ret_use->cores; i++) {
        uint64_t all = after->all[i] - before->all[i], busy = after->busy[i] - before->busy[i];
        /* The kernel's counters of idle time may step back a little. */
        ret_use->per_core[i] = all && all < UINT64_MAX / 2 && busy <= all ? (double)busy / (double)all : 0;
    }
}

int64_t tare_use_resident(void)
{
    char text[256];
    int64_t pages;
    if (!read_text("/proc/self/statm", text, sizeof text) || sscanf(text, "%*d %" SCNd64, &pages) != 1)
        return -1;
    return pages * sysconf(_SC_PAGESIZE);
}

bool tare_use_reset_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool done = write(fd, "5", 1) == 1;
    close(fd);
    return done;
}

int64_t tare_use_peak(void)
{
    char text[8192];
    if (!read_text("/proc/self/status", text, sizeof text))
        return -1;
    int64_t kib = number_after(text, "VmHWM:");
    return kib < 0 ? -1 : kib * 1024;
}

/* One thread: its processor time and state. The scheduler's own count is exact; where the kernel has none,
 * clock ticks must do. */
static int64_t look_at_thread(int pid, const char *thread, bool *running)
{
    char path[320], text[1024];
    int64_t ns = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", pid, thread);
    if (!read_text(path, text, sizeof text))
        return 0;
    const char *end = strrchr(text, ')');
    uint64_t user = 0, kernel = 0;
    char state = '?';
    if (end && sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &state,
                      &user, &kernel) == 3)
        ns = (int64_t)(user + kernel) * (1000000000 / sysconf(_SC_CLK_TCK));
    if (state == 'R')
        *running = true;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", pid, thread);
    if (read_text(path, text, sizeof text))
        ns = strtoll(text, NULL, 10);
    return ns < 0 ? 0 : ns;
}

int64_t tare_use_of_process(int pid, bool *ret_running)
{
    char path[64];
    int64_t sum = 0;
    *ret_running = false;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    if (!folder)
        return -1;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            sum += look_at_thread(pid, entry->d_name, ret_running);
    closedir(folder);
    return sum;
}
