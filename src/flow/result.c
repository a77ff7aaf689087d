/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/result.h"

#include <string.h>

#include "base/in.h"
#include "core/capture.h"
#include "flow/captures.h"
#include "report/run_report.h"

static bool looks_like_json(const uint8_t *head, size_t length)
{
    size_t i = 0;
    while (i < length && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t'))
        i++;
    return i < length && head[i] == '{';
}

static int load_run(struct tare_in *in, struct tare_result *ret_result, struct tare_error *err)
{
    struct tare_run *run;
    if (tare_run_load(in, &run, err) < 0)
        return -1;
    *ret_result = (struct tare_result){.run = run};
    return 0;
}

static int load_profile(const struct tare_reader *reader, struct tare_in *in, struct tare_result *ret_result,
                        struct tare_error *err)
{
    struct tare_profile *profile;
    if (tare_profile_create(0, &profile, err) < 0)
        return -1;
    if (reader->read(in, profile, err) < 0 || tare_profile_check(profile, err) < 0) {
        tare_profile_destroy(profile);
        return -1;
    }
    *ret_result = (struct tare_result){.profile = profile};
    return 0;
}

static int load_capture(struct tare_in *in, struct tare_result *ret_result, struct tare_error *err)
{
    struct tare_profile *profile;
    if (tare_captures_read_one(in, &profile, err) < 0)
        return -1;
    *ret_result = (struct tare_result){.profile = profile};
    return 0;
}

static int load_folder(const char *path, struct tare_result *ret_result, struct tare_error *err)
{
    struct tare_captures_options options = {0};
    struct tare_captures captures;
    struct tare_profile *profile;
    if (tare_captures_read(path, &options, &profile, &captures, err) < 0)
        return -1;
    *ret_result = (struct tare_result){.profile = profile};
    return 0;
}

/* What a reader says about the bytes becomes a sentence about the file. */
static int name_file(struct tare_in *in, struct tare_error *err)
{
    if (err && err->code == TARE_E_INPUT && !strstr(err->msg, tare_in_name(in)))
        return tare_fail(err, TARE_E_INPUT, 0, "cannot read '%s': %s", tare_in_name(in), err->msg);
    return -1;
}

static int load(struct tare_in *in, struct tare_result *ret_result, struct tare_error *err)
{
    const uint8_t *head;
    size_t length;
    if (tare_in_peek(in, 4096, &head, &length, err) < 0)
        return -1;
    if (length == 0)
        return tare_fail(err, TARE_E_INPUT, 0, "'%s' is empty", tare_in_name(in));
    if (tare_capture_recognise(head, length))
        return load_capture(in, ret_result, err);
    for (const struct tare_reader *const *reader = tare_readers; *reader; reader++)
        if ((*reader)->recognise(head, length, length < 4096))
            return load_profile(*reader, in, ret_result, err) < 0 ? name_file(in, err) : 0;
    /* After the readers: marshal's dictionaries begin with a brace too. */
    if (looks_like_json(head, length))
        return load_run(in, ret_result, err) < 0 ? name_file(in, err) : 0;
    return tare_fail(
        err, TARE_E_INPUT, 0,
        "'%s' holds none of what tare reads: pprof, a .prof of cProfile, folded stacks, or a run in JSON",
        tare_in_name(in));
}

int tare_result_load(const char *path, struct tare_result *ret_result, struct tare_error *err)
{
    struct tare_in *in;
    if (tare_captures_recognise(path))
        return load_folder(path, ret_result, err);
    if (tare_in_open(path, &in, err) < 0)
        return -1;
    int rc = load(in, ret_result, err);
    tare_in_close(in);
    return rc;
}

int tare_result_load_memory(const void *data, size_t size, const char *name, struct tare_result *ret_result,
                            struct tare_error *err)
{
    struct tare_in *in;
    if (tare_in_open_memory(data, size, name, &in, err) < 0)
        return -1;
    int rc = load(in, ret_result, err);
    tare_in_close(in);
    return rc;
}

int tare_result_load_all(const char *const *paths, size_t count, struct tare_result *ret_result,
                         struct tare_error *err)
{
    struct tare_result all = {0};
    if (tare_result_load(paths[0], &all, err) < 0)
        return -1;
    for (size_t i = 1; i < count; i++) {
        struct tare_result next = {0};
        int rc = tare_result_load(paths[i], &next, err);
        if (rc == 0 && (!all.profile || !next.profile))
            rc = tare_fail(err, TARE_E_USAGE, 0, "'%s' and '%s' cannot be added up: only profiles can",
                           paths[0], paths[i]);
        if (rc == 0 && tare_profile_merge(all.profile, next.profile, err) < 0)
            rc = tare_fail(err, TARE_E_USAGE, 0, "'%s' and '%s' cannot be added up: %s", paths[0], paths[i],
                           err ? err->msg : "");
        tare_result_finish(&next);
        if (rc < 0) {
            tare_result_finish(&all);
            return -1;
        }
    }
    *ret_result = all;
    return 0;
}

void tare_result_finish(struct tare_result *result)
{
    tare_profile_destroy(result->profile);
    tare_run_destroy(result->run);
    *result = (struct tare_result){0};
}

/* How much of path's end one of the extensions covers; 0 if none does. */
static size_t extension_match(const char *extensions, const char *path)
{
    size_t best = 0, path_length = strlen(path);
    for (const char *at = extensions ? extensions : ""; *at;) {
        size_t length = strcspn(at, " ");
        if (length > best && length < path_length && memcmp(path + path_length - length, at, length) == 0)
            best = length;
        at += length;
        at += strspn(at, " ");
    }
    return best;
}

/* The longest extension wins: .speedscope.json is more than .json. */
static struct tare_format by_extension(const struct tare_result *result, const char *path)
{
    struct tare_format found = {0};
    size_t best = 0;
    for (const struct tare_writer *const *w = tare_writers; result->profile && *w; w++) {
        size_t length = extension_match((*w)->extensions, path);
        if (length > best) {
            best = length;
            found.profile = *w;
        }
    }
    for (const struct tare_run_writer *const *w = tare_run_writers; result->run && *w; w++) {
        size_t length = extension_match((*w)->extensions, path);
        if (length > best) {
            best = length;
            found.run = *w;
        }
    }
    return found;
}

static struct tare_format by_name(const struct tare_result *result, const char *name)
{
    struct tare_format found = {0};
    for (const struct tare_writer *const *w = tare_writers; result->profile && *w; w++)
        if (strcmp((*w)->name, name) == 0)
            found.profile = *w;
    for (const struct tare_run_writer *const *w = tare_run_writers; result->run && *w; w++)
        if (strcmp((*w)->name, name) == 0)
            found.run = *w;
    return found;
}

/* "table, callers, svg" or ".txt, .svg", for a message. */
static void list_formats(const struct tare_result *result, bool extensions, struct tare_buf *buf)
{
    for (const struct tare_writer *const *w = tare_writers; result->profile && *w; w++) {
        const char *text = extensions ? (*w)->extensions : (*w)->name;
        if (text)
            tare_buf_printf(buf, "%s%s", buf->length ? ", " : "", text);
    }
    for (const struct tare_run_writer *const *w = tare_run_writers; result->run && *w; w++) {
        const char *text = extensions ? (*w)->extensions : (*w)->name;
        if (text)
            tare_buf_printf(buf, "%s%s", buf->length ? ", " : "", text);
    }
}

int tare_result_format(const struct tare_result *result, const char *name, const char *path,
                       struct tare_format *ret_format, struct tare_error *err)
{
    struct tare_format found = name ? by_name(result, name) : by_extension(result, path);
    if (found.profile || found.run) {
        *ret_format = found;
        return 0;
    }
    struct tare_buf buf;
    tare_buf_init(&buf, 4096);
    list_formats(result, !name, &buf);
    const char *what = result->profile ? "profile" : "run";
    int rc;
    if (name)
        rc = tare_fail(err, TARE_E_USAGE, 0, "a %s cannot be written as '%s'; formats: %s", what, name,
                       buf.data);
    else
        rc = tare_fail(err, TARE_E_USAGE, 0, "'%s' names no format for a %s; use -f, or one of %s", path,
                       what, buf.data);
    tare_buf_finish(&buf);
    return rc;
}

struct tare_format tare_result_text(const struct tare_result *result)
{
    if (result->run)
        return (struct tare_format){.run = tare_run_writers[0]};
    uint32_t kind = tare_profile_meta_const(result->profile)->kind;
    if (kind == TARE_PROFILE_DIFF || kind == TARE_PROFILE_DIFF_PAIRS)
        return (struct tare_format){.profile = &tare_writer_diff};
    return (struct tare_format){.profile = &tare_writer_table};
}

const char *tare_format_name(size_t index)
{
    size_t at = 0;
    for (const struct tare_writer *const *w = tare_writers; *w; w++)
        if (at++ == index)
            return (*w)->name;
    for (const struct tare_run_writer *const *run = tare_run_writers; *run; run++) {
        bool seen = false;
        for (const struct tare_writer *const *w = tare_writers; *w && !seen; w++)
            seen = strcmp((*w)->name, (*run)->name) == 0;
        if (!seen && at++ == index)
            return (*run)->name;
    }
    return NULL;
}

bool tare_format_binary(const struct tare_format *format)
{
    return format->profile && format->profile->binary;
}

void tare_result_write(const struct tare_result *result, const struct tare_format *format,
                       const struct tare_view *view, struct tare_out *out)
{
    if (format->profile)
        format->profile->write(result->profile, view, out);
    else
        format->run->write(result->run, out);
}

int tare_result_save(const struct tare_result *result, const char *path, const char *format,
                     const struct tare_view *view, struct tare_error *err)
{
    struct tare_format chosen;
    struct tare_out out;
    if (tare_result_format(result, format, path, &chosen, err) < 0 || tare_out_open(&out, path, err) < 0)
        return -1;
    tare_result_write(result, &chosen, view, &out);
    int rc = tare_out_commit(&out, err);
    tare_out_finish(&out);
    return rc;
}
