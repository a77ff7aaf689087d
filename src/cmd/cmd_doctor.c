/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "cmd/cmd.h"
#include "flow/doctor.h"

enum { WIDTH = 80, STATUS_WIDTH = 10, TEXT_COLUMN = 25 };

struct values {
    const char *ort;
    bool json, strict;
};

static const struct tare_opt options[] = {
    {"ort", 0, TARE_OPT_TEXT, "FILE", "The ONNX Runtime library to look at, or the folder it is in",
     .offset = offsetof(struct values, ort)},
    {"json", 0, TARE_OPT_FLAG, NULL, "Print JSON", .offset = offsetof(struct values, json)},
    {"strict", 0, TARE_OPT_FLAG, NULL, "Exit with 1 when something is missing",
     .offset = offsetof(struct values, strict)},
    {.name = NULL},
};

/* Paths come from outside: no control character reaches the terminal. */
static void put(struct tare_out *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if ((unsigned char)c < ' ' || c == 0x7f)
            c = '?';
        tare_out_add(out, &c, 1);
    }
}

/* Words are moved to the next line as a whole, even one that is too long for any. */
static void put_wrapped(struct tare_out *out, const char *text, size_t column)
{
    size_t at = column;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (at > column && at + 1 + length > WIDTH) {
            tare_out_printf(out, "\n%*s", (int)column, "");
            at = column;
        } else if (at > column) {
            tare_out_text(out, " ");
            at++;
        }
        put(out, text, length);
        at += length;
        text += length;
        text += strspn(text, " ");
    }
    tare_out_text(out, "\n");
}

static void put_check(struct tare_out *out, const struct tare_doctor_check *check)
{
    tare_out_printf(out, "%-*s%-*s", STATUS_WIDTH, tare_doctor_status_name(check->status),
                    TEXT_COLUMN - STATUS_WIDTH, check->name);
    put_wrapped(out, check->found, TEXT_COLUMN);
    tare_out_printf(out, "%*s", TEXT_COLUMN, "");
    put_wrapped(out, check->why, TEXT_COLUMN);
    if (check->fix) {
        /* On one line, whatever its length: it is there to be copied. */
        tare_out_printf(out, "%*s$ ", STATUS_WIDTH, "");
        put(out, check->fix, strlen(check->fix));
        tare_out_text(out, "\n");
    }
}

static void put_head(struct tare_out *out, const struct tare_machine *machine, struct tare_arena *arena)
{
    const char *text = tare_arena_printf(arena, "tare " TARE_VERSION " on %s",
                                         machine->cpu_model ? machine->cpu_model : "an unknown processor");
    if (machine->cpu_online > 0)
        text = tare_arena_printf(arena, "%s, %d CPU%s", text, (int)machine->cpu_online,
                                 machine->cpu_online == 1 ? "" : "s");
    if (machine->kernel_release)
        text = tare_arena_printf(arena, "%s, Linux %s", text, machine->kernel_release);
    if (machine->container && strcmp(machine->container, "none") != 0)
        text = tare_arena_printf(arena, "%s, in a %s container", text, machine->container);
    if (machine->virtualisation && strcmp(machine->virtualisation, "none") != 0)
        text = tare_arena_printf(arena, "%s, on %s", text, machine->virtualisation);
    put_wrapped(out, text, 0);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct tare_machine_gpu *gpu = &machine->gpus[i];
        put_wrapped(out,
                    tare_arena_printf(arena, "GPU: %s",
                                      gpu->model    ? gpu->model
                                      : gpu->vendor ? gpu->vendor
                                                    : "unknown"),
                    0);
    }
    tare_out_text(out, "\n");
}

static void put_pythons(struct tare_out *out, const struct tare_doctor_report *report,
                        struct tare_arena *arena)
{
    if (report->python_count == 0)
        return;
    tare_out_text(out, "\nPython interpreters, the active one first:\n");
    for (size_t i = 0; i < report->python_count; i++) {
        const struct tare_doctor_python *python = &report->pythons[i];
        const char *state = python->tare        ? tare_arena_printf(arena, "tare %s", python->tare)
                            : python->supported ? "no tare"
                                                : "unsupported";
        tare_out_printf(out, "  %-9s %-12s ", python->version ? python->version : "",
                        python->version ? state : "no answer");
        put(out, python->path, strlen(python->path));
        tare_out_text(out, "\n");
    }
}

static int doctor_run(const struct tare_cmd_call *call, struct tare_error *err)
{
    const struct values *values = call->values;
    const struct tare_doctor_options wanted = {.ort = values->ort};
    struct tare_doctor_report report;
    if (tare_doctor_run(&wanted, call->arena, &report, err) < 0)
        return -1;
    if (values->json) {
        struct tare_json json;
        tare_json_init(&json, call->out, 2);
        tare_doctor_write(&report, &json);
        tare_out_text(call->out, "\n");
    } else {
        put_head(call->out, &report.machine, call->arena);
        for (size_t i = 0; i < report.check_count; i++)
            put_check(call->out, &report.checks[i]);
        put_pythons(call->out, &report, call->arena);
        tare_out_printf(call->out, "\n%zu checks: %zu ok, %zu degraded, %zu missing\n", report.check_count,
                        report.ok, report.degraded, report.missing);
    }
    return values->strict && report.missing > 0 ? TARE_EXIT_BAD : TARE_EXIT_OK;
}

const struct tare_cmd tare_cmd_doctor = {
    .name = "doctor",
    .summary = "Say what works on this machine, and what fixes the rest",
    .about =
        "Each line is a check: ok, degraded (works, with less than it could) or missing, then what was "
        "found, why it matters, and the one command that fixes it if there is one. Permissions are really "
        "tried, on processes made for it; nothing on the machine is changed.\n\n"
        "ONNX Runtime is looked for in this order: --ort, $TARE_ORT, the active Python environment "
        "($VIRTUAL_ENV, $CONDA_PREFIX, the first python on PATH), the system's libraries.\n\n"
        "The exit status is 0 whatever is found, unless --strict is given.",
    .options = options,
    .values_size = sizeof(struct values),
    .run = doctor_run,
};
