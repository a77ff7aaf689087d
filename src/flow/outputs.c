/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/outputs.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "flow/result.h"

struct tare_output_part {
    struct tare_output_part *next;
    const char *path;
    struct tare_profile *profile;
};

static bool is_split(const char *name)
{
    return strstr(name, "{pid}") || strstr(name, "{rank}");
}

/* A rank is whatever the environment says; in a file's name only what is harmless there. */
static void add_rank(struct tare_buf *buf, const char *rank)
{
    if (!*rank)
        tare_buf_add_text(buf, "none");
    for (; *rank; rank++)
        tare_buf_add_byte(buf, isalnum((unsigned char)*rank) ? (uint8_t)*rank : '_');
}

static const char *expand(const struct tare_outputs *outputs, const char *name,
                          const struct tare_capture_process *process)
{
    struct tare_buf buf;
    tare_buf_init(&buf, 65536);
    while (*name) {
        if (strncmp(name, "{pid}", 5) == 0) {
            tare_buf_printf(&buf, "%" PRId64, process->info.pid);
            name += 5;
        } else if (strncmp(name, "{rank}", 6) == 0) {
            add_rank(&buf, process->rank);
            name += 6;
        } else {
            tare_buf_add_byte(&buf, (uint8_t)*name++);
        }
    }
    const char *path = tare_arena_text(outputs->arena, buf.data, buf.length);
    tare_buf_finish(&buf);
    return path;
}

int tare_outputs_check(const struct tare_outputs *outputs, struct tare_error *err)
{
    for (size_t i = 0; i < outputs->count; i++) {
        const char *name = outputs->names[i], *slash = strrchr(name, '/');
        const char *folder = !slash          ? "."
                             : slash == name ? "/"
                                             : tare_arena_text(outputs->arena, name, (size_t)(slash - name));
        struct stat info;
        if (!*name || (slash && !slash[1]) || (stat(name, &info) == 0 && S_ISDIR(info.st_mode)))
            return tare_fail(err, TARE_E_USAGE, 0, "'%s' is no name for a file", name);
        /* What exists and is no regular file (a pipe, /dev/null) is written in place. */
        if (access(name, W_OK) < 0 && access(folder, W_OK | X_OK) < 0)
            return tare_fail(err, TARE_E_IO, errno, "'%s' cannot be written", name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(outputs->names[k], name) == 0)
                return tare_fail(err, TARE_E_USAGE, 0, "'%s' is named twice", name);
    }
    return 0;
}

/* Any profile will do to ask which format a name has. */
static const struct tare_writer *writer_of(const char *name)
{
    struct tare_format format = {0};
    struct tare_result any = {0};
    struct tare_error err;
    if (tare_profile_create(0, &any.profile, &err) == 0)
        (void)tare_result_format(&any, NULL, name, &format, &err);
    tare_result_finish(&any);
    return format.profile;
}

bool tare_outputs_fallback(const char *name)
{
    const struct tare_writer *writer = writer_of(name);
    size_t length = strlen(name);
    return !writer || writer == &tare_writer_table ||
           (length > 6 && strcmp(name + length - 6, ".stats") == 0);
}

static struct tare_output_part **outputs_end(struct tare_outputs *outputs)
{
    struct tare_output_part **end = &outputs->parts;
    while (*end)
        end = &(*end)->next;
    return end;
}

int tare_outputs_each(void *context, const struct tare_capture_process *process,
                      const struct tare_profile *profile, struct tare_error *err)
{
    struct tare_outputs *outputs = context;
    for (size_t i = 0; i < outputs->count; i++) {
        if (!is_split(outputs->names[i]))
            continue;
        const char *path = expand(outputs, outputs->names[i], process);
        struct tare_output_part *part = outputs->parts;
        while (part && strcmp(part->path, path) != 0)
            part = part->next;
        if (!part) {
            part = tare_arena_alloc(outputs->arena, sizeof *part);
            if (!part || tare_profile_create(0, &part->profile, err) < 0)
                return tare_fail_memory(err);
            part->path = path;
            *outputs_end(outputs) = part;
        }
        if (tare_profile_merge(part->profile, profile, err) < 0)
            return -1;
    }
    return 0;
}

static int save(const char *path, struct tare_profile *profile, const struct tare_view *view,
                void (*written)(const char *path), struct tare_error *err)
{
    struct tare_result result = {.profile = profile};
    if (tare_result_save(&result, path, tare_outputs_fallback(path) ? "pstats" : NULL, view, err) < 0)
        return -1;
    written(path);
    return 0;
}

int tare_outputs_write(const struct tare_outputs *outputs, struct tare_profile *all,
                       const struct tare_view *view, void (*written)(const char *path),
                       struct tare_error *err)
{
    for (size_t i = 0; i < outputs->count; i++)
        if (!is_split(outputs->names[i]) && save(outputs->names[i], all, view, written, err) < 0)
            return -1;
    for (const struct tare_output_part *part = outputs->parts; part; part = part->next)
        if (save(part->path, part->profile, view, written, err) < 0)
            return -1;
    return 0;
}

void tare_outputs_finish(struct tare_outputs *outputs)
{
    for (struct tare_output_part *part = outputs->parts; part; part = part->next)
        tare_profile_destroy(part->profile);
    outputs->parts = NULL;
}
