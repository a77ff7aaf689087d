/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/doctor.h"

#include <stdlib.h>
#include <string.h>

#include "flow/doctor_part.h"

typedef void (*check_function)(struct tare_doctor *doctor);

/* In the order in which they are shown. */
static const check_function checks[] = {
    tare_doctor_check_trace, tare_doctor_check_perf,  tare_doctor_check_clock,
    tare_doctor_check_speed, tare_doctor_check_share, tare_doctor_check_python,
    tare_doctor_check_ort,   tare_doctor_check_space, tare_doctor_check_steal,
};

void tare_doctor_add(struct tare_doctor *doctor, const char *name, enum tare_doctor_status status,
                     const char *found, const char *why, const char *fix)
{
    if (doctor->check_count < TARE_DOCTOR_CHECKS)
        doctor->checks[doctor->check_count++] = (struct tare_doctor_check){name, status, found, why, fix};
}

bool tare_doctor_contained(const struct tare_doctor *doctor)
{
    const char *container = doctor->machine.container;
    return container && strcmp(container, "none") != 0;
}

const char *tare_doctor_container_fix(const struct tare_doctor *doctor, const char *option,
                                      const char *kubernetes)
{
    const char *container = doctor->machine.container;
    if (strcmp(container, "kubernetes") == 0)
        return kubernetes;
    if (strcmp(container, "docker") != 0 && strcmp(container, "podman") != 0)
        return NULL;
    return tare_arena_printf(doctor->arena, "%s run %s IMAGE", container, option);
}

const char *tare_doctor_install(const struct tare_doctor *doctor, const struct tare_doctor_python *python,
                                const char *package)
{
    if (!python)
        return tare_arena_printf(doctor->arena, "pip install %s", package);
    if (python->managed)
        return tare_arena_printf(doctor->arena, "%s -m venv .venv && .venv/bin/pip install %s", python->path,
                                 package);
    return tare_arena_printf(doctor->arena, "%s -m pip install %s", python->path, package);
}

static bool status_line(void *context, char *line)
{
    struct tare_doctor_rights *rights = context;
    const char *value;
    if ((value = tare_machine_value(line, "CapEff")) != NULL)
        rights->effective = strtoull(value, NULL, 16);
    else if ((value = tare_machine_value(line, "Seccomp")) != NULL)
        tare_machine_parse_int(value, &rights->seccomp);
    return true;
}

static void read_rights(struct tare_doctor *doctor)
{
    struct tare_doctor_rights *rights = &doctor->rights;
    rights->seccomp = -1;
    tare_machine_file_lines(&doctor->files, "/proc/self/status", TARE_MACHINE_FILE, status_line, rights);
    /* "docker-default (enforce)" or "system_u:system_r:container_t:s0"; both call free processes unconfined.
     */
    const char *label = tare_machine_file_line(&doctor->files, "/proc/self/attr/current");
    if (label && strstr(label, "unconfined") == NULL && strcmp(label, "kernel") != 0)
        rights->label = label;
}

int tare_doctor_run(const struct tare_doctor_options *options, struct tare_arena *arena,
                    struct tare_doctor_report *ret_report, struct tare_error *err)
{
    struct tare_doctor *doctor = tare_arena_alloc(arena, sizeof *doctor);
    if (!doctor)
        return tare_arena_check(arena, err);
    doctor->options = options;
    doctor->arena = arena;
    doctor->files = (struct tare_machine_files){.root = options->root ? options->root : "", .arena = arena};
    if (tare_machine_collect(doctor->files.root, arena, &doctor->machine, err) < 0)
        return -1;
    doctor->has_ticks = tare_machine_ticks_read(doctor->files.root, &doctor->ticks);
    read_rights(doctor);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](doctor);
    if (tare_arena_check(arena, err) < 0)
        return -1;

    struct tare_doctor_report report = {
        .machine = doctor->machine,
        .checks = doctor->checks,
        .check_count = doctor->check_count,
        .pythons = doctor->pythons,
        .python_count = doctor->python_count,
        .ort = doctor->ort,
    };
    for (size_t i = 0; i < report.check_count; i++) {
        report.ok += report.checks[i].status == TARE_DOCTOR_OK;
        report.degraded += report.checks[i].status == TARE_DOCTOR_DEGRADED;
        report.missing += report.checks[i].status == TARE_DOCTOR_MISSING;
    }
    *ret_report = report;
    return 0;
}

const char *tare_doctor_status_name(enum tare_doctor_status status)
{
    static const char *const names[] = {"ok", "degraded", "missing"};
    return names[status];
}

static void write_python(const struct tare_doctor_python *python, struct tare_json *json)
{
    tare_json_object(json);
    tare_json_put_text(json, "path", python->path);
    tare_json_put_text(json, "version", python->version);
    tare_json_put_text(json, "source", python->source);
    tare_json_put_bool(json, "supported", python->supported);
    tare_json_put_text(json, "tareprof", python->tare);
    tare_json_put_text(json, "error", python->error);
    tare_json_end(json);
}

void tare_doctor_write(const struct tare_doctor_report *report, struct tare_json *json)
{
    tare_json_object(json);
    tare_json_put_text(json, "schema", "tare.doctor/1");
    tare_json_put_text(json, "tare", TARE_VERSION);
    tare_json_put_uint(json, "ok", report->ok);
    tare_json_put_uint(json, "degraded", report->degraded);
    tare_json_put_uint(json, "missing", report->missing);
    tare_json_key(json, "checks");
    tare_json_array(json);
    for (size_t i = 0; i < report->check_count; i++) {
        const struct tare_doctor_check *check = &report->checks[i];
        tare_json_object(json);
        tare_json_put_text(json, "name", check->name);
        tare_json_put_text(json, "status", tare_doctor_status_name(check->status));
        tare_json_put_text(json, "found", check->found);
        tare_json_put_text(json, "why", check->why);
        tare_json_put_text(json, "fix", check->fix);
        tare_json_end(json);
    }
    tare_json_end(json);
    tare_json_key(json, "pythons");
    tare_json_array(json);
    for (size_t i = 0; i < report->python_count; i++)
        write_python(&report->pythons[i], json);
    tare_json_end(json);
    tare_json_key(json, "onnxruntime");
    tare_json_object(json);
    tare_json_put_text(json, "path", report->ort.path);
    tare_json_put_text(json, "version", report->ort.version);
    tare_json_put_text(json, "source", report->ort.source);
    tare_json_put_text(json, "error", report->ort.error);
    tare_json_end(json);
    tare_json_key(json, "machine");
    tare_machine_write(&report->machine, json);
    tare_json_end(json);
}
