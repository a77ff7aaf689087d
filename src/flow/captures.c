/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/captures.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/words.h"
#include "core/overhead.h"

/* The largest capture: what its addresses reach. */
#define CAPTURE_CAP ((size_t)32 << 30)

enum { POLL_NS = 10000000, PIDS_NAMED = 8 };

/* What is said once for all processes. */
struct sums {
    uint64_t open, truncated, lost;
    struct tare_buf live; /* "12, 34" */
    struct tare_overhead overhead;
};

struct reading {
    const char *folder;
    const struct tare_captures_options *options;
    struct tare_profile *all;
    struct tare_captures found;
    struct sums sums;
    struct tare_arena arena;
};

bool tare_captures_recognise(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static int is_capture(const struct dirent *entry)
{
    return tare_words_end(entry->d_name, ".tarecap");
}

static int is_refusal(const struct dirent *entry)
{
    return tare_words_end(entry->d_name, ".refused");
}

/* Does the process still have this capture mapped? A pid alone may be another process by now, or another
 * image of the same. */
static bool is_live(int64_t pid, const char *name)
{
    char path[64], *line = NULL;
    size_t size = 0;
    bool found = false;
    if (pid <= 0 || (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
        return false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&line, &size, maps) > 0)
        found = strstr(line, name) != NULL;
    if (maps)
        fclose(maps);
    free(line);
    return found;
}

/* The value of "key: value" among the comments; "" if there is none, the last if there are several: a forked
 * process adds its own to what it inherited. */
static const char *meta_of(const struct tare_profile *profile, const char *key)
{
    size_t length = strlen(key);
    for (uint32_t i = tare_profile_comments(profile); i > 0; i--) {
        const char *text = tare_profile_text(profile, tare_profile_comment_at(profile, i - 1));
        if (strncmp(text, key, length) == 0 && strncmp(text + length, ": ", 2) == 0)
            return text + length + 2;
    }
    return "";
}

/* When the process of this capture ended, in its own ticks; 0 if that is not known. */
static uint64_t death_of(const struct tare_captures_options *options, const struct tare_buf *data, bool live)
{
    struct tare_capture_header header;
    if (!options->end_ticks || data->length < sizeof header)
        return 0;
    memcpy(&header, data->data, sizeof header);
    if (!live && header.pid != options->ended_pid)
        return 0;
    /* Two clocks that disagree would make nonsense of it. */
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double passed = (double)((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - header.start_unix_ns);
    double ran = (double)(options->end_ticks - header.start_ticks) * header.ns_per_tick;
    return options->end_ticks > header.start_ticks && ran < passed + 5e9 ? options->end_ticks : 0;
}

/* The figures of one capture, as they are shown: without what recording cost, unless they are wanted raw.
 * Afterwards tare_capture_info_finish. */
static int figures_of(const struct tare_buf *data, const char *name, uint64_t death_ticks, bool raw,
                      struct tare_profile **ret_profile, struct tare_capture_info *ret_info,
                      struct tare_overhead *ret_overhead, struct tare_error *err)
{
    struct tare_profile *profile;
    if (tare_profile_create(0, &profile, err) < 0)
        return -1;
    if (tare_capture_read(data->data, data->length, name, death_ticks, profile, ret_info, err) < 0) {
        tare_profile_destroy(profile);
        return -1;
    }
    *ret_overhead = (struct tare_overhead){0};
    if (!raw && tare_overhead_correct(profile, ret_info, ret_overhead, err) < 0) {
        tare_capture_info_finish(ret_info);
        tare_profile_destroy(profile);
        return -1;
    }
    *ret_profile = profile;
    return 0;
}

static void add_pid(struct tare_buf *list, size_t number, int64_t pid)
{
    if (number < PIDS_NAMED)
        tare_buf_printf(list, "%s%" PRId64, number ? ", " : "", pid);
    else if (number == PIDS_NAMED)
        tare_buf_add_text(list, ", ...");
}

static void note_sums(struct tare_profile *profile, const struct sums *sums)
{
    if (sums->open)
        tare_profile_note(profile,
                          "%" PRIu64
                          " call%s had not ended when recording did: counted until then, and in the "
                          "column 'open'",
                          sums->open, sums->open == 1 ? "" : "s");
    if (sums->truncated)
        tare_profile_note(profile,
                          "%" PRIu64
                          " calls found no room for a context of their own and are in <truncated>: "
                          "give more with --memory, or room in the capture's folder",
                          sums->truncated);
    if (sums->lost)
        tare_profile_note(profile, "%" PRIu64 " calls were lost: their time counts as their callers' own",
                          sums->lost);
    tare_overhead_note(profile, &sums->overhead);
}

/* Say of an error what it means for the whole: this file is left out. */
static void leave_out(struct reading *r, const struct tare_error *why)
{
    r->found.damaged++;
    tare_profile_note(r->all, "left out: %s", why->msg);
}

static int read_data(struct reading *r, struct tare_in *in, struct tare_buf *data, const char *path,
                     struct tare_error *err)
{
    struct tare_capture_header header = {0};
    struct tare_capture_process process = {.path = path};
    struct tare_profile *profile = NULL;
    struct tare_error why = {0};
    int rc = 0;
    if (tare_in_all(in, data, &why) < 0) {
        leave_out(r, &why);
        return 0;
    }
    memcpy(&header, data->data, data->length < sizeof header ? data->length : sizeof header);
    process.live = is_live(header.pid, strrchr(path, '/') + 1);
    struct tare_overhead overhead;
    if (figures_of(data, path, death_of(r->options, data, process.live), r->options->raw, &profile,
                   &process.info, &overhead, &why) < 0) {
        leave_out(r, &why);
        return 0;
    }
    if (process.info.starting && !process.live) {
        r->found.starting++;
        tare_profile_note(r->all, "process %" PRId64 " ended before its program began", process.info.pid);
        goto out;
    }
    tare_overhead_add(&r->sums.overhead, &overhead);
    process.role = meta_of(profile, "role");
    process.rank = meta_of(profile, "rank");
    if (process.live)
        add_pid(&r->sums.live, r->found.live++, process.info.pid);
    else
        r->sums.open += process.info.open_calls;
    r->sums.truncated += process.info.truncated_calls;
    r->sums.lost += process.info.lost_calls;
    r->found.processes++;
    rc = r->options->each ? r->options->each(r->options->context, &process, profile, err) : 0;
    if (rc == 0)
        rc = tare_profile_merge(r->all, profile, err);
out:
    tare_profile_destroy(profile);
    tare_capture_info_finish(&process.info);
    return rc;
}

static int read_capture(struct reading *r, const char *name, struct tare_error *err)
{
    const char *path = tare_arena_printf(&r->arena, "%s/%s", r->folder, name);
    struct tare_error why = {0};
    struct tare_buf data;
    struct tare_in *in;
    if (tare_in_open(path, &in, &why) < 0) {
        leave_out(r, &why);
        return 0;
    }
    tare_buf_init(&data, CAPTURE_CAP);
    int rc = read_data(r, in, &data, path, err);
    tare_buf_finish(&data);
    tare_in_close(in);
    return rc;
}

/* "1234.refused" holds one line: why process 1234 runs unrecorded. */
static void read_refusal(struct reading *r, const char *name)
{
    char line[160] = "";
    const char *path = tare_arena_printf(&r->arena, "%s/%s", r->folder, name);
    FILE *file = fopen(path, "re");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    r->found.refused++;
    tare_profile_note(r->all, "process %.*s was not recorded: %s", (int)strcspn(name, "."), name, line);
}

/* Wait a moment for processes that are about to end, such as helpers that end when their master does. */
static void be_patient(const struct reading *r)
{
    int64_t until = tare_clock_ns() + r->options->patience_ns;
    while (tare_clock_ns() < until) {
        struct dirent **names;
        bool live = false;
        int count = scandir(r->folder, &names, is_capture, alphasort);
        for (int i = 0; i < count; i++) {
            live = live || is_live(strtoll(names[i]->d_name, NULL, 10), names[i]->d_name);
            free(names[i]);
        }
        if (count >= 0)
            free(names);
        if (!live)
            return;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
}

static int read_folder(struct reading *r, struct tare_error *err)
{
    struct dirent **names;
    int rc = 0, count = scandir(r->folder, &names, is_refusal, alphasort);
    for (int i = 0; i < count; i++) {
        read_refusal(r, names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    count = scandir(r->folder, &names, is_capture, alphasort);
    if (count < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot read the folder '%s'", r->folder);
    for (int i = 0; i < count; i++) {
        if (rc == 0)
            rc = read_capture(r, names[i]->d_name, err);
        free(names[i]);
    }
    free(names);
    if (rc == 0 && r->found.processes == 0 && r->found.damaged + r->found.refused)
        rc = tare_fail(err, TARE_E_INPUT, 0, "no capture in '%s' can be used: %s", r->folder,
                       tare_profile_note_at(r->all, 0));
    else if (rc == 0 && r->found.processes == 0 && r->found.starting)
        rc = tare_fail(err, TARE_E_INPUT, 0, "'%s' holds no calls: the program had not begun", r->folder);
    else if (rc == 0 && r->found.processes == 0)
        rc = tare_fail(err, TARE_E_INPUT, 0, "'%s' is a folder without captures; name a file in it",
                       r->folder);
    return rc;
}

int tare_captures_read(const char *folder, const struct tare_captures_options *options,
                       struct tare_profile **ret_profile, struct tare_captures *ret_captures,
                       struct tare_error *err)
{
    struct reading r = {.folder = folder, .options = options};
    tare_arena_init(&r.arena, 0);
    tare_buf_init(&r.sums.live, 4096);
    int rc = tare_profile_create(0, &r.all, err);
    if (rc == 0) {
        be_patient(&r);
        rc = read_folder(&r, err);
    }
    if (rc == 0) {
        note_sums(r.all, &r.sums);
        if (r.found.live)
            tare_profile_note(r.all, "still running, and counted as far as they got: process%s %s",
                              r.found.live == 1 ? "" : "es", r.sums.live.data);
        rc = tare_profile_check(r.all, err);
    }
    tare_buf_finish(&r.sums.live);
    tare_arena_finish(&r.arena);
    *ret_captures = r.found;
    if (rc < 0) {
        tare_profile_destroy(r.all);
        return -1;
    }
    *ret_profile = r.all;
    return 0;
}

int tare_captures_read_one(struct tare_in *in, struct tare_profile **ret_profile, struct tare_error *err)
{
    struct tare_capture_info info;
    struct tare_overhead overhead;
    struct tare_buf data;
    tare_buf_init(&data, CAPTURE_CAP);
    int rc = tare_in_all(in, &data, err);
    if (rc == 0)
        rc = figures_of(&data, tare_in_name(in), 0, false, ret_profile, &info, &overhead, err);
    tare_buf_finish(&data);
    if (rc != 0)
        return -1;
    if (info.starting) {
        tare_capture_info_finish(&info);
        tare_profile_destroy(*ret_profile);
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is empty: the program had not begun", tare_in_name(in));
    }
    note_sums(*ret_profile, &(struct sums){.open = info.open_calls,
                                           .truncated = info.truncated_calls,
                                           .lost = info.lost_calls,
                                           .overhead = overhead});
    tare_capture_info_finish(&info);
    return 0;
}
