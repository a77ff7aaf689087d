/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control group allows. Which group each controller has this process in comes from
 * /proc/self/cgroup, where it is mounted from /proc/self/mountinfo. A bound may be set at any level, so that
 * every level up to the mount is read and the tightest one counts; its counters are the ones that tell of
 * throttling.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine_part.h"

enum { MAX_LEVELS = 64, CONTROLLERS = 3 };

enum controller { CPU, CPUSET, MEMORY };
static const char *const controller_names[CONTROLLERS] = {"cpu", "cpuset", "memory"};

struct place {
    char group[TARE_MACHINE_PATH]; /* of this process, as the kernel names it; "" when not known */
    char top[TARE_MACHINE_PATH];   /* the group that is mounted */
    char mount[TARE_MACHINE_PATH]; /* where; "" when it is not */
};

struct cgroups {
    struct place v1[CONTROLLERS];
    struct place v2;
};

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

static void keep(char text[TARE_MACHINE_PATH], const char *value)
{
    if (*text == '\0' && strlen(value) < TARE_MACHINE_PATH)
        snprintf(text, TARE_MACHINE_PATH, "%s", value);
}

/* "4:cpu,cpuacct:/path", and "0::/path" for version 2 */
static bool group_line(void *context, char *line)
{
    struct cgroups *groups = context;
    char *rest = line;
    const char *number = strsep(&rest, ":"), *list = strsep(&rest, ":");
    if (!number || !list || !rest)
        return true;
    if (*list == '\0' && strcmp(number, "0") == 0)
        keep(groups->v2.group, rest);
    for (int i = 0; i < CONTROLLERS; i++)
        if (has_word(list, controller_names[i]))
            keep(groups->v1[i].group, rest);
    return true;
}

/* The kernel writes white space and backslashes in a path as \ooo. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' && from[2] <= '7' &&
            from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* "31 23 0:28 /top /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu" */
static bool mount_line(void *context, char *line)
{
    struct cgroups *groups = context;
    char *tail = strstr(line, " - ");
    if (!tail)
        return true;
    *tail = '\0';
    tail += 3;
    const char *kind = strsep(&tail, " ");
    bool v2 = kind && strcmp(kind, "cgroup2") == 0;
    if (!tail || (!v2 && strcmp(kind, "cgroup") != 0))
        return true;
    strsep(&tail, " ");
    const char *options = tail ? tail : "";

    char *rest = line, *top = NULL, *mount = NULL;
    for (int field = 0; field < 5 && rest; field++) {
        char *word = strsep(&rest, " ");
        if (field == 3)
            top = word;
        if (field == 4)
            mount = word;
    }
    if (!top || !mount)
        return true;
    unescape(top);
    unescape(mount);
    if (v2) {
        keep(groups->v2.top, top);
        keep(groups->v2.mount, mount);
    }
    for (int i = 0; !v2 && i < CONTROLLERS; i++) {
        if (!has_word(options, controller_names[i]))
            continue;
        keep(groups->v1[i].top, top);
        keep(groups->v1[i].mount, mount);
    }
    return true;
}

struct levels {
    char path[TARE_MACHINE_PATH]; /* the folder of the group, cut shorter level by level */
    size_t mount_length;
};

/* Where this process' own group is found. In a container the kernel may name it as the host sees it while the
 * mount shows only what is below; then the mount itself is the group. */
static bool levels_init(struct levels *levels, const struct place *place)
{
    if (*place->mount == '\0' || *place->group == '\0')
        return false;
    const char *below = place->group;
    size_t top = strcmp(place->top, "/") == 0 ? 0 : strlen(place->top);
    if (strncmp(below, place->top, top) == 0 && (below[top] == '/' || below[top] == '\0'))
        below += top;
    else
        below = "";
    if (strstr(below, "/..") != NULL || strcmp(below, "/") == 0)
        below = "";
    levels->mount_length = strlen(place->mount);
    int length = snprintf(levels->path, sizeof levels->path, "%s%s", place->mount, below);
    return length > 0 && length < (int)sizeof levels->path;
}

/* Cut to the level above; false at the mount. */
static bool levels_up(struct levels *levels)
{
    char *slash = strrchr(levels->path, '/');
    if (!slash || (size_t)(slash - levels->path) < levels->mount_length)
        return false;
    *slash = '\0';
    return true;
}

static double read_quota(const struct tare_machine_files *files, const char *path, bool v2)
{
    char text[64];
    int64_t quota = -1, period = -1;
    if (v2) {
        char *rest;
        if (!tare_machine_file_text(files, text, sizeof text, "%s/cpu.max", path))
            return -1;
        rest = strchr(text, ' ');
        if (!rest || !tare_machine_parse_int(text, &quota) || !tare_machine_parse_int(rest, &period))
            return -1;
    } else {
        quota = tare_machine_file_int(files, "%s/cpu.cfs_quota_us", path);
        period = tare_machine_file_int(files, "%s/cpu.cfs_period_us", path);
    }
    return quota > 0 && period > 0 ? (double)quota / (double)period : -1;
}

static bool stat_value(const char *text, const char *key, int64_t *ret_value)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return tare_machine_parse_int(line + length, ret_value) && *ret_value >= 0;
    }
    return false;
}

static void read_throttling(const struct tare_machine_files *files, const char *path,
                            struct tare_machine *machine)
{
    char text[4096];
    int64_t value;
    machine->cgroup_periods = machine->cgroup_throttled = machine->cgroup_throttled_ns = -1;
    if (!tare_machine_file_text(files, text, sizeof text, "%s/cpu.stat", path))
        return;
    if (stat_value(text, "nr_periods", &value))
        machine->cgroup_periods = value;
    if (stat_value(text, "nr_throttled", &value))
        machine->cgroup_throttled = value;
    if (stat_value(text, "throttled_time", &value))
        machine->cgroup_throttled_ns = value;
    else if (stat_value(text, "throttled_usec", &value) && value < INT64_MAX / 1000)
        machine->cgroup_throttled_ns = value * 1000;
}

static void collect_cpu(const struct tare_machine_files *files, struct levels levels, bool v2,
                        struct tare_machine *machine)
{
    read_throttling(files, levels.path, machine);
    for (int i = 0; i < MAX_LEVELS; i++) {
        double cpus = read_quota(files, levels.path, v2);
        if (cpus > 0 && (machine->cgroup_cpus < 0 || cpus < machine->cgroup_cpus)) {
            machine->cgroup_cpus = cpus;
            read_throttling(files, levels.path, machine);
        }
        if (!levels_up(&levels))
            break;
    }
}

static void collect_cpuset(const struct tare_machine_files *files, const struct levels *levels, bool v2,
                           struct tare_machine *machine)
{
    const char *name = v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
    machine->cgroup_cpuset = tare_machine_file_line(files, "%s/%s", levels->path, name);
    if (!machine->cgroup_cpuset)
        machine->cgroup_cpuset = tare_machine_file_line(files, "%s/cpuset.cpus", levels->path);
}

static void collect_memory(const struct tare_machine_files *files, struct levels levels, bool v2,
                           struct tare_machine *machine)
{
    const char *used_name = v2 ? "memory.current" : "memory.usage_in_bytes";
    const char *limit_name = v2 ? "memory.max" : "memory.limit_in_bytes";
    machine->cgroup_memory_bytes = tare_machine_file_int(files, "%s/%s", levels.path, used_name);
    for (int i = 0; i < MAX_LEVELS; i++) {
        int64_t limit = tare_machine_file_int(files, "%s/%s", levels.path, limit_name);
        /* Version 1 says "none" with the largest multiple of a page. */
        bool bound = limit >= 0 && limit < INT64_MAX / 2;
        if (bound && (machine->cgroup_memory_limit_bytes < 0 || limit < machine->cgroup_memory_limit_bytes)) {
            machine->cgroup_memory_limit_bytes = limit;
            machine->cgroup_memory_bytes = tare_machine_file_int(files, "%s/%s", levels.path, used_name);
        }
        if (!levels_up(&levels))
            break;
    }
}

void tare_machine_collect_cgroup(const struct tare_machine_files *files, struct tare_machine *machine)
{
    struct cgroups *groups = calloc(1, sizeof *groups);
    if (!groups) {
        files->arena->failed = true;
        return;
    }
    tare_machine_file_lines(files, "/proc/self/cgroup", TARE_MACHINE_FILE, group_line, groups);
    /* A host with many containers has thousands of mounts. */
    tare_machine_file_lines(files, "/proc/self/mountinfo", TARE_MACHINE_LONG_FILE, mount_line, groups);
    for (int i = 0; i < CONTROLLERS; i++) {
        struct levels levels;
        /* A controller is in one hierarchy only: version 1 where it is mounted there, else version 2. */
        bool v2 = *groups->v1[i].mount == '\0';
        if (!levels_init(&levels, v2 ? &groups->v2 : &groups->v1[i]))
            continue;
        if (i == CPU) {
            machine->cgroup_version = v2 ? 2 : 1;
            collect_cpu(files, levels, v2, machine);
        } else if (i == CPUSET) {
            collect_cpuset(files, &levels, v2, machine);
        } else {
            collect_memory(files, levels, v2, machine);
        }
    }
    free(groups);
}
