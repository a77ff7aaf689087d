/* SPDX-License-Identifier: Apache-2.0 */
/* Data that lies beside the model: only inside its folder, and only if it is really there. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/model_impl.h"

struct tare_model_external {
    dev_t device;
    ino_t inode;
    const char *location; /* as first seen */
    int64_t bytes;
    struct tare_model_external *next;
};

/* Absolute, or with a part that leads outside. Backslashes too: such a model may come from Windows. */
static bool leads_outside(const char *location)
{
    if (*location == '/' || *location == '\\' || (location[0] && location[1] == ':'))
        return true;
    while (*location) {
        size_t length = strcspn(location, "/\\");
        if (length == 2 && location[0] == '.' && location[1] == '.')
            return true;
        location += length + (location[length] != '\0');
    }
    return false;
}

/* The file of a location, counted once however often and under whatever spelling it is named. */
static int find(struct tare_model_reader *reader, const char *location,
                const struct tare_model_external **ret_external, struct tare_error *err)
{
    if (reader->externals && strcmp(reader->externals->location, location) == 0) {
        *ret_external = reader->externals;
        return 0;
    }
    struct stat stat_of;
    const char *path = tare_arena_printf(reader->arena, "%s/%s", reader->model->folder, location);
    if (stat(path, &stat_of) < 0)
        return errno == ENOENT
                   ? tare_fail(err, TARE_E_INPUT, 0,
                               "its external data '%.100s' is missing: put it beside the model", location)
                   : tare_fail(err, TARE_E_IO, errno, "its external data '%.100s' cannot be had", location);
    if (!S_ISREG(stat_of.st_mode))
        return tare_fail(err, TARE_E_INPUT, 0, "its external data '%.100s' is not a file", location);
    struct tare_model_external **at = &reader->externals;
    for (; *at; at = &(*at)->next)
        if ((*at)->device == stat_of.st_dev && (*at)->inode == stat_of.st_ino)
            break;
    struct tare_model_external *external = *at;
    if (external) {
        *at = external->next;
    } else {
        external = tare_arena_alloc(reader->arena, sizeof *external);
        if (!external)
            return tare_arena_check(reader->arena, err);
        *external =
            (struct tare_model_external){stat_of.st_dev, stat_of.st_ino, location, stat_of.st_size, NULL};
        reader->model->size_bytes += external->bytes;
    }
    /* The last one is the likeliest to be asked for again. */
    external->next = reader->externals;
    reader->externals = external;
    *ret_external = external;
    return 0;
}

int tare_model_check_external(struct tare_model_reader *reader, const struct tare_model_tensor *tensor,
                              int64_t length, struct tare_error *err)
{
    if (*tensor->location == '\0' || leads_outside(tensor->location))
        return tare_fail(err, TARE_E_INPUT, 0,
                         "the external data '%.100s' of tensor '%.60s' is outside its folder",
                         tensor->location, tensor->name);
    if (!reader->model->folder)
        return 0;
    const struct tare_model_external *external = NULL;
    if (find(reader, tensor->location, &external, err) < 0)
        return -1;
    if (!external)
        return tare_fail_memory(err);
    if (tensor->offset > external->bytes || length > external->bytes - tensor->offset)
        return tare_fail(err, TARE_E_INPUT, 0,
                         "tensor '%.60s' runs past the end of the external data '%.100s'", tensor->name,
                         tensor->location);
    return 0;
}
