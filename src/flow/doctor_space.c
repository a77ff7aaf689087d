/* SPDX-License-Identifier: Apache-2.0 */
/* Room for what tare writes while a program runs, and for what the program itself puts into memory files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"
#include "flow/doctor_part.h"

static const double space_little = 1 << 30;

/* The folder itself, or the nearest one above it that exists. */
static bool existing(char *path)
{
    while (access(path, F_OK) < 0) {
        char *slash = strrchr(path, '/');
        if (!slash) {
            if (strcmp(path, ".") == 0)
                return false;
            memcpy(path, ".", 2);
            continue;
        }
        if (slash == path && path[1] == '\0')
            return false;
        slash[slash == path] = '\0';
    }
    return true;
}

static void check_folder(struct tare_doctor *doctor, const char *name, const char *path, const char *why,
                         const char *fix)
{
    char real[TARE_MACHINE_PATH], size[TARE_UNITS_TEXT];
    struct statvfs space;
    struct tare_arena *arena = doctor->arena;
    int length = snprintf(real, sizeof real, "%s", path);
    if (length < 1 || length >= (int)sizeof real || !existing(real) || statvfs(real, &space) < 0) {
        tare_doctor_add(doctor, name, TARE_DOCTOR_MISSING, tare_arena_printf(arena, "there is no '%s'", path),
                        why, fix);
        return;
    }
    if (faccessat(AT_FDCWD, real, W_OK | X_OK, AT_EACCESS) < 0) {
        tare_doctor_add(doctor, name, TARE_DOCTOR_MISSING,
                        tare_arena_printf(arena, "'%s' cannot be written to: %s", real, strerror(errno)), why,
                        fix);
        return;
    }
    double left = (double)space.f_bavail * (double)space.f_frsize;
    bool little = left < space_little;
    const char *place = strcmp(real, path) == 0 ? path : tare_arena_printf(arena, "%s (not made yet)", path);
    tare_doctor_add(
        doctor, name, little ? TARE_DOCTOR_DEGRADED : TARE_DOCTOR_OK,
        tare_arena_printf(arena, "%s free for %s", tare_size_format(size, sizeof size, left), place), why,
        little ? fix : NULL);
}

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

void tare_doctor_check_space(struct tare_doctor *doctor)
{
    const char *output = doctor->options->output;
    check_folder(doctor, "disk space", output ? output : setting("PROFILE_OUTPUT_DIR", "profiling_results"),
                 "the capture of a running program grows here",
                 "export PROFILE_OUTPUT_DIR=/a/folder/with/space");
    check_folder(doctor, "temp space", setting("TMPDIR", "/tmp"), "temporary files of the program go here",
                 "export TMPDIR=/a/folder/with/space");
    check_folder(doctor, "shared memory", "/dev/shm", "data loaders pass batches through it",
                 tare_doctor_contained(doctor) ? tare_doctor_container_fix(doctor, "--shm-size 2g", NULL)
                                               : "sudo mount -o remount,size=2G /dev/shm");
}
