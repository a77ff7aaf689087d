/* SPDX-License-Identifier: Apache-2.0 */
/* What makes the same code run at different speeds: clock, governor, turbo, quota, memory, stolen time. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "flow/doctor_part.h"

/* Shares of all CPU time. The doctor's own sample has some hundred ticks, one of which may be chance. */
static const double steal_much = 0.01, steal_much_now = 0.05;

void tare_doctor_check_clock(struct tare_doctor *doctor)
{
    const char *why = "every timed call reads it twice";
    const char *source = doctor->machine.clocksource ? doctor->machine.clocksource : "unknown";
    struct tare_clock clock;
    tare_clock_init(&clock);
    if (clock.counter) {
        tare_doctor_add(doctor, "clock", TARE_DOCTOR_OK,
                        tare_arena_printf(doctor->arena, "%s at %.3f GHz, %.1f ns a reading", clock.source,
                                          clock.frequency_hz / 1e9, clock.read_ns),
                        why, NULL);
        return;
    }
    /* A kernel on another source makes each reading a system call; it can be told to go back. */
    const char *others = tare_machine_file_line(
        &doctor->files, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    bool back = strcmp(source, "tsc") != 0 && others && strstr(others, "tsc") != NULL;
    tare_doctor_add(
        doctor, "clock", TARE_DOCTOR_DEGRADED,
        tare_arena_printf(doctor->arena, "%s, %.1f ns a reading (kernel's source: %s): %s", clock.source,
                          clock.read_ns, source, clock.refused),
        why,
        back ? "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource" : NULL);
}

static const char *join(const struct tare_doctor *doctor, const struct tare_machine_list *list)
{
    const char *text = list->items[0];
    for (size_t i = 1; i < list->count; i++)
        text = tare_arena_printf(doctor->arena, "%s, %s", text, list->items[i]);
    return text;
}

static void check_governor(struct tare_doctor *doctor)
{
    const struct tare_machine *machine = &doctor->machine;
    const struct tare_machine_list *governors = &machine->freq_governors;
    const char *why = "a changing frequency makes equal runs differ";
    if (governors->count == 0) {
        tare_doctor_add(doctor, "governor", TARE_DOCTOR_OK,
                        "none here: this system does not set the frequency", why, NULL);
        return;
    }
    bool steady = governors->count == 1 && strcmp(governors->items[0], "performance") == 0;
    tare_doctor_add(
        doctor, "governor", steady ? TARE_DOCTOR_OK : TARE_DOCTOR_DEGRADED,
        tare_arena_printf(doctor->arena, "%s%s%s", join(doctor, governors),
                          machine->freq_driver ? " by " : "",
                          machine->freq_driver ? machine->freq_driver : ""),
        why,
        steady ? NULL : "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
}

static void check_turbo(struct tare_doctor *doctor)
{
    const char *why = "its speed depends on heat and on the other cores";
    const char *knob =
        tare_machine_file_exists(&doctor->files, "/sys/devices/system/cpu/intel_pstate/no_turbo")
            ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
            : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost";
    if (doctor->machine.freq_turbo < 0)
        tare_doctor_add(doctor, "turbo", TARE_DOCTOR_OK, "not shown by this system", why, NULL);
    else if (doctor->machine.freq_turbo == 0)
        tare_doctor_add(doctor, "turbo", TARE_DOCTOR_OK, "off", why, NULL);
    else
        tare_doctor_add(doctor, "turbo", TARE_DOCTOR_DEGRADED, "on", why, knob);
}

void tare_doctor_check_speed(struct tare_doctor *doctor)
{
    check_governor(doctor);
    check_turbo(doctor);
}

static void check_quota(struct tare_doctor *doctor)
{
    const struct tare_machine *machine = &doctor->machine;
    const char *why = "past it all threads stop; pools must be sized to it";
    double usable = (double)(machine->cpu_affinity > 0 ? machine->cpu_affinity : machine->cpu_online);
    if (machine->cgroup_cpus < 0) {
        tare_doctor_add(doctor, "cpu quota", TARE_DOCTOR_OK,
                        machine->cpu_affinity > 0
                            ? tare_arena_printf(doctor->arena, "none: %d CPUs may be used", (int)usable)
                            : "none",
                        why, NULL);
        return;
    }
    const char *found = tare_arena_printf(doctor->arena, "%.4g of %d CPUs (cgroup v%d)", machine->cgroup_cpus,
                                          (int)usable, (int)machine->cgroup_version);
    if (machine->cgroup_throttled > 0 && machine->cgroup_periods > 0) {
        char time[TARE_UNITS_TEXT];
        tare_duration_format(time, sizeof time, (double)machine->cgroup_throttled_ns);
        found =
            tare_arena_printf(doctor->arena, "%s; stopped in %.3g %% of its periods so far, %s in all", found,
                              100.0 * (double)machine->cgroup_throttled / (double)machine->cgroup_periods,
                              machine->cgroup_throttled_ns >= 0 ? time : "time not known");
    }
    bool tight = machine->cgroup_cpus < usable || machine->cgroup_throttled > 0;
    int threads = machine->cgroup_cpus < 1 ? 1 : (int)fmin(machine->cgroup_cpus, 100000);
    tare_doctor_add(doctor, "cpu quota", tight ? TARE_DOCTOR_DEGRADED : TARE_DOCTOR_OK, found, why,
                    tight ? tare_arena_printf(doctor->arena, "export OMP_NUM_THREADS=%d", threads) : NULL);
}

static void check_memory(struct tare_doctor *doctor)
{
    const struct tare_machine *machine = &doctor->machine;
    const char *why = "past the limit the program is killed";
    char room_text[TARE_UNITS_TEXT], all_text[TARE_UNITS_TEXT];
    int64_t room = machine->memory_available_bytes, limit = machine->cgroup_memory_limit_bytes;
    if (limit >= 0 && machine->cgroup_memory_bytes >= 0) {
        int64_t left = limit > machine->cgroup_memory_bytes ? limit - machine->cgroup_memory_bytes : 0;
        room = room < 0 || left < room ? left : room;
    }
    if (room < 0) {
        tare_doctor_add(doctor, "memory", TARE_DOCTOR_OK, "the kernel does not tell", why, NULL);
        return;
    }
    int64_t all = limit >= 0 ? limit : machine->memory_total_bytes;
    const char *found = tare_arena_printf(
        doctor->arena, "%s free of %s%s", tare_size_format(room_text, sizeof room_text, (double)room),
        all >= 0 ? tare_size_format(all_text, sizeof all_text, (double)all) : "an unknown size",
        limit >= 0 ? ", the limit of the control group" : "; no limit is set");
    bool little = room < INT64_C(1) << 30;
    const char *fix = NULL;
    if (little && limit >= 0 && tare_doctor_contained(doctor))
        fix = tare_doctor_container_fix(doctor, "--memory 8g",
                                        "kubectl set resources deployment/NAME --limits=memory=8Gi");
    tare_doctor_add(doctor, "memory", little ? TARE_DOCTOR_DEGRADED : TARE_DOCTOR_OK, found, why, fix);
}

void tare_doctor_check_share(struct tare_doctor *doctor)
{
    check_quota(doctor);
    check_memory(doctor);
}

void tare_doctor_check_steal(struct tare_doctor *doctor)
{
    const char *why = "time given to other guests counts into every latency";
    struct tare_machine *machine = &doctor->machine;
    struct tare_machine_ticks now;
    if (doctor->has_ticks && tare_machine_ticks_read(doctor->files.root, &now))
        machine->steal_sampled = tare_machine_steal(&doctor->ticks, &now);
    if (machine->steal_since_boot < 0) {
        tare_doctor_add(doctor, "steal", TARE_DOCTOR_OK, "the kernel does not tell", why, NULL);
        return;
    }
    double since_boot = 100 * machine->steal_since_boot;
    const char *found =
        machine->steal_sampled >= 0
            ? tare_arena_printf(doctor->arena, "%.2f %% of CPU time just now, %.2f %% since boot",
                                100 * machine->steal_sampled, since_boot)
            : tare_arena_printf(doctor->arena, "%.2f %% of CPU time since boot", since_boot);
    bool much = machine->steal_sampled >= steal_much_now || machine->steal_since_boot >= steal_much;
    tare_doctor_add(doctor, "steal", much ? TARE_DOCTOR_DEGRADED : TARE_DOCTOR_OK,
                    much ? tare_arena_printf(doctor->arena, "%s; no command in here can change that", found)
                         : found,
                    why, NULL);
}
