/* SPDX-License-Identifier: Apache-2.0 */
/* The machine fingerprint on saved trees of /proc and /sys, on hostile ones, and on the machine below. */
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/in.h"
#include "check.h"
#include "core/machine.h"
#include "core/machine_file.h"

static struct tare_arena arena;

static const char *tree(const char *name)
{
    const char *tests = getenv("TARE_TESTS");
    return tare_arena_printf(&arena, "%s/machine/%s", tests ? tests : "tests", name);
}

static struct tare_machine collect(const char *root)
{
    struct tare_machine machine;
    struct tare_error err = {0};
    tare_machine_init(&machine);
    CHECK_INT(tare_machine_collect(root, &arena, &machine, &err), 0);
    CHECK_TEXT(err.msg, "");
    return machine;
}

static const char *write_json(const struct tare_machine *machine)
{
    struct tare_out out;
    struct tare_json json;
    tare_out_init_memory(&out, 1 << 20);
    tare_json_init(&json, &out, 2);
    tare_machine_write(machine, &json);
    const char *text = tare_arena_copy(&arena, out.buf.data);
    tare_out_finish(&out);
    return text;
}

static int read_json(const char *text, struct tare_machine *ret_machine, struct tare_error *err)
{
    yyjson_doc *doc;
    if (tare_json_read(text, strlen(text), "test", &doc, err) < 0)
        return -1;
    int result = tare_machine_read(yyjson_doc_get_root(doc), &arena, ret_machine, err);
    yyjson_doc_free(doc);
    return result;
}

static const char *flags(const struct tare_machine *machine)
{
    const char *all = "";
    for (size_t i = 0; i < machine->cpu_flags.count; i++)
        all = tare_arena_printf(&arena, "%s%s%s", all, i ? " " : "", machine->cpu_flags.items[i]);
    return all;
}

static void metal_with_cgroup_v2(void)
{
    struct tare_machine m = collect(tree("metal-v2"));
    CHECK_TEXT(m.cpu_model, "AMD EPYC 9354 32-Core Processor");
    CHECK_TEXT(m.cpu_vendor, "AuthenticAMD");
    CHECK_TEXT(m.cpu_arch, "x86_64");
    CHECK_TEXT(flags(&m), "avx avx2 avx512_bf16 avx512_vnni avx512dq avx512f f16c fma sse4_1 sse4_2 ssse3");
    CHECK_INT(m.cpu_sockets, 2);
    CHECK_INT(m.cpu_cores, 4);
    CHECK_INT(m.cpu_logical, 8);
    CHECK_INT(m.cpu_online, 8);
    CHECK_INT(m.cpu_affinity, 8);
    CHECK_INT(m.cpu_smt, 1);
    CHECK_INT(m.numa_nodes, 2);
    /* The quota is two levels up, and so are the counters that go with it; the memory limit is one up. */
    CHECK_INT(m.cgroup_version, 2);
    CHECK_REAL(m.cgroup_cpus, 4, 0);
    CHECK_INT(m.cgroup_periods, 1000);
    CHECK_INT(m.cgroup_throttled, 40);
    CHECK_INT(m.cgroup_throttled_ns, 2500000000);
    CHECK_INT(m.cgroup_memory_limit_bytes, 68719476736);
    CHECK_INT(m.cgroup_memory_bytes, 1073741824);
    CHECK_TEXT(m.cgroup_cpuset, "0-7");
    CHECK_INT(m.freq_governors.count, 1);
    CHECK_TEXT(m.freq_governors.items[0], "performance");
    CHECK_INT(m.freq_min_hz, 1500000000);
    CHECK_INT(m.freq_max_hz, 3250000000);
    CHECK_INT(m.freq_turbo, 0);
    CHECK_TEXT(m.virtualisation, "none");
    CHECK_TEXT(m.container, "none");
    CHECK_TEXT(m.memory_thp, "madvise");
    CHECK_INT(m.memory_total_bytes, 791234560 * (int64_t)1024);
    CHECK_REAL(m.load_15min, 0.59, 1e-12);
    CHECK_REAL(m.steal_since_boot, 0, 0);
    CHECK_REAL(m.steal_sampled, -1, 0);
    CHECK(m.libc == NULL);
    /* Two GPUs by the driver's files, one of them again as a graphics device; the console is not one. */
    CHECK_INT(m.gpu_count, 2);
    CHECK_TEXT(m.gpus[0].model, "NVIDIA A100-SXM4-80GB");
    CHECK_TEXT(m.gpus[0].address, "0000:41:00.0");
    CHECK_TEXT(m.gpus[0].pci_id, "10de:20b2");
    CHECK_TEXT(m.gpus[0].driver, "nvidia 550.54.15");
    CHECK_TEXT(m.gpus[1].address, "0000:c1:00.0");
    CHECK(m.gpus[1].pci_id == NULL);
}

static void container_with_cgroup_v1(void)
{
    struct tare_machine m = collect(tree("docker-v1"));
    CHECK_INT(m.cgroup_version, 1);
    CHECK_REAL(m.cgroup_cpus, 1.5, 0);
    CHECK_INT(m.cgroup_throttled, 57);
    CHECK_INT(m.cgroup_throttled_ns, 3123456789);
    CHECK_TEXT(m.cgroup_cpuset, "0-1");
    CHECK_INT(m.cgroup_memory_limit_bytes, 2147483648);
    CHECK_INT(m.cgroup_memory_bytes, 734003200);
    CHECK_TEXT(m.container, "docker");
    CHECK_INT(m.cpu_logical, 4);
    CHECK_INT(m.cpu_affinity, 2);
    CHECK_INT(m.cpu_smt, 0);
    CHECK(strstr(flags(&m), "amx_bf16 amx_int8 amx_tile") != NULL);
    CHECK_INT(m.freq_governors.count, 0);
    CHECK_INT(m.freq_turbo, -1);
    CHECK(m.cpu_arch == NULL);
    CHECK_INT(m.swap_total_bytes, 2097148 * 1024);
}

static void virtual_machine_with_steal(void)
{
    struct tare_machine m = collect(tree("vm-steal"));
    CHECK_REAL(m.steal_since_boot, 0.12, 1e-12);
    CHECK_TEXT(m.virtualisation, "qemu");
    CHECK_TEXT(m.clocksource, "kvm-clock");
    CHECK_REAL(m.cgroup_cpus, -1, 0);
    CHECK_INT(m.cgroup_version, 2);
    CHECK_INT(m.cgroup_memory_limit_bytes, -1);
    CHECK_INT(m.cgroup_memory_bytes, 10485760);
    CHECK_INT(m.cpu_cores, 1);
    CHECK_INT(m.cpu_online, 2);
    CHECK_INT(m.gpu_count, 0);
    /* smep and AMD's sme are no vector units. */
    CHECK(strstr(flags(&m), "sme") == NULL);

    struct tare_machine_ticks before = {100, 10}, after = {200, 35}, same = {100, 10};
    CHECK_REAL(tare_machine_steal(&before, &after), 0.25, 0);
    CHECK_REAL(tare_machine_steal(&before, &same), -1, 0);
    CHECK_REAL(tare_machine_steal(&after, &before), -1, 0);
}

static void laptop_with_powersave(void)
{
    struct tare_machine m = collect(tree("laptop"));
    CHECK_INT(m.freq_governors.count, 2);
    CHECK_TEXT(m.freq_governors.items[0], "performance");
    CHECK_TEXT(m.freq_governors.items[1], "powersave");
    CHECK_TEXT(m.freq_driver, "intel_pstate");
    CHECK_INT(m.freq_turbo, 1);
    CHECK_INT(m.freq_min_hz, 400000000);
    CHECK_INT(m.freq_max_hz, 4700000000);
    CHECK_INT(m.freq_limit_hz, 3000000000);
    CHECK_INT(m.cpu_logical, 4);
    CHECK_INT(m.cpu_online, 3);
    CHECK_INT(m.cpu_cores, 2);
    CHECK_TEXT(m.virtualisation, "none");
    CHECK_INT(m.gpu_count, 1);
    CHECK_TEXT(m.gpus[0].vendor, "Intel");
    CHECK_TEXT(m.gpus[0].pci_id, "8086:46a6");
}

static void arm64_in_podman(void)
{
    struct tare_machine m = collect(tree("arm64"));
    CHECK_TEXT(m.cpu_model, "Neoverse-V1");
    CHECK_TEXT(m.cpu_vendor, "ARM");
    CHECK_TEXT(flags(&m), "asimd asimddp asimdhp asimdrdm bf16 fphp i8mm sve");
    CHECK_REAL(m.cgroup_cpus, 2.5, 0);
    CHECK_INT(m.cgroup_throttled, 0);
    CHECK_TEXT(m.container, "podman");
    CHECK_TEXT(m.container_image, "docker.io/library/python:3.12");
    CHECK_TEXT(m.container_image_id, "sha256:1f2e3d");
    /* The same vendor rents bare metal, and an arm64 processor does not tell. */
    CHECK(m.virtualisation == NULL);
    CHECK_INT(m.gpu_count, 1);
    CHECK_TEXT(m.gpus[0].vendor, "AMD");
    CHECK_TEXT(m.gpus[0].model, "gfx90a");
    CHECK_TEXT(m.gpus[0].pci_id, "1002:740f");
    CHECK_TEXT(m.gpus[0].address, "0000:c3:00.0");
}

static const char *const trees[] = {"metal-v2", "docker-v1", "vm-steal", "laptop", "arm64", NULL};

static void json_reads_back_equal(void)
{
    for (int i = 0; trees[i]; i++) {
        struct tare_machine m = collect(tree(trees[i])), again;
        struct tare_machine_comparison comparison;
        struct tare_error err = {0};
        CHECK_INT(tare_machine_add_library(&m, &arena, "torch", "2.5.1+cpu", &err), 0);
        m.steal_sampled = 0.1;
        const char *text = write_json(&m);
        CHECK_INT(read_json(text, &again, &err), 0);
        CHECK_TEXT(write_json(&again), text);
        CHECK_INT(tare_machine_compare(&m, &again, &arena, &comparison, &err), 0);
        CHECK_INT(comparison.count, 0);
        CHECK(comparison.comparable);
    }
}

/* The files beside the trees are what other versions have written: they may never change. */
static void json_and_fingerprint_are_stable(void)
{
    for (int i = 0; trees[i]; i++) {
        struct tare_machine m = collect(tree(trees[i]));
        struct tare_error err = {0};
        struct tare_in *in;
        struct tare_buf want;
        tare_buf_init(&want, 1 << 20);
        CHECK_INT(tare_in_open(tare_arena_printf(&arena, "%s.json", tree(trees[i])), &in, &err), 0);
        CHECK_TEXT(err.msg, "");
        if (*err.msg)
            continue;
        CHECK_INT(tare_in_all(in, &want, &err), 0);
        CHECK_TEXT(tare_arena_printf(&arena, "%s\n", write_json(&m)), want.data);
        tare_in_close(in);
        tare_buf_finish(&want);
    }
}

static void fingerprint_follows_the_written_rule(void)
{
    char text[TARE_MACHINE_FINGERPRINT_SIZE], other[TARE_MACHINE_FINGERPRINT_SIZE];
    struct tare_machine m;
    tare_machine_init(&m);
    tare_machine_fingerprint(&m, text);
    /* FNV-1a of "tare.machine/1\n" */
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = "tare.machine/1\n"; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    CHECK_TEXT(text, tare_arena_printf(&arena, "m1-%016llx", (unsigned long long)hash));
    m.cgroup_cpus = 1.5;
    m.cpu_smt = 1;
    tare_machine_fingerprint(&m, text);
    for (const char *c = "cpu.smt=1\ncgroup.cpus=1500\n"; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    CHECK_TEXT(text, tare_arena_printf(&arena, "m1-%016llx", (unsigned long long)hash));

    /* What is no identity does not move it; the order of GPUs on the bus does not either. */
    struct tare_machine_gpu gpus[2] = {{.vendor = "NVIDIA", .model = "A", .address = "1"},
                                       {.vendor = "NVIDIA", .model = "B", .address = "2"}};
    struct tare_machine_gpu turned[2] = {{.vendor = "NVIDIA", .model = "B", .address = "1"},
                                         {.vendor = "NVIDIA", .model = "A", .address = "2"}};
    m.gpus = gpus;
    m.gpu_count = 2;
    tare_machine_fingerprint(&m, text);
    CHECK(strcmp(text, tare_arena_printf(&arena, "m1-%016llx", (unsigned long long)hash)) != 0);
    m.gpus = turned;
    m.load_1min = 7;
    m.kernel_release = "9.9";
    tare_machine_fingerprint(&m, other);
    CHECK_TEXT(other, text);
    m.gpu_count = 1;
    tare_machine_fingerprint(&m, other);
    CHECK(strcmp(other, text) != 0);
}

static const struct tare_machine_difference *find(const struct tare_machine_comparison *comparison,
                                                  const char *field)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (strcmp(comparison->items[i].field, field) == 0)
            return &comparison->items[i];
    return NULL;
}

static void compare_weighs_what_differs(void)
{
    struct tare_machine a = collect(tree("vm-steal")), b = a;
    struct tare_machine_comparison comparison;
    struct tare_error err = {0};
    b.load_1min = 9;
    b.memory_available_bytes = 1;
    b.memory_total_bytes = a.memory_total_bytes / 100 * 99;
    CHECK_INT(tare_machine_compare(&a, &b, &arena, &comparison, &err), 0);
    CHECK(comparison.comparable);
    CHECK_INT(comparison.marks, 0);
    CHECK_INT(comparison.count, 2);

    b.kernel_release = "6.9.0";
    tare_machine_add_library(&a, &arena, "numpy", "2.1.0", &err);
    tare_machine_add_library(&a, &arena, "torch", "2.5.0", &err);
    tare_machine_add_library(&b, &arena, "torch", "2.5.1", &err);
    CHECK_INT(tare_machine_compare(&a, &b, &arena, &comparison, &err), 0);
    CHECK(comparison.comparable);
    CHECK_INT(comparison.marks, 3);
    const struct tare_machine_difference *torch = find(&comparison, "libraries.torch");
    CHECK(torch && torch->weight == TARE_MACHINE_MARK && strcmp(torch->b, "2.5.1") == 0);
    const struct tare_machine_difference *numpy = find(&comparison, "libraries.numpy");
    CHECK(numpy && strcmp(numpy->b, "unknown") == 0);

    b.cgroup_cpus = 0.5;
    b.cpu_sockets = -1;
    CHECK_INT(tare_machine_compare(&a, &b, &arena, &comparison, &err), 0);
    CHECK(!comparison.comparable);
    CHECK_INT(comparison.identities, 1);
    CHECK_TEXT(comparison.items[0].field, "cgroup.cpus");
    CHECK_TEXT(comparison.items[0].a, "none");
    CHECK_TEXT(comparison.items[0].b, "0.5");
    const struct tare_machine_difference *sockets = find(&comparison, "cpu.sockets");
    CHECK(sockets && sockets->weight == TARE_MACHINE_MARK && strcmp(sockets->b, "unknown") == 0);

    struct tare_machine metal = collect(tree("metal-v2")), laptop = collect(tree("laptop"));
    CHECK_INT(tare_machine_compare(&metal, &laptop, &arena, &comparison, &err), 0);
    CHECK(find(&comparison, "cpu.model") && find(&comparison, "cpu.flags") && find(&comparison, "cpu.cores"));
    const struct tare_machine_difference *gpus = find(&comparison, "gpus");
    CHECK(gpus && gpus->weight == TARE_MACHINE_IDENTITY && strcmp(gpus->b, "Intel  [8086:46a6]") == 0);
    for (size_t i = 1; i < comparison.count; i++)
        CHECK(comparison.items[i - 1].weight <= comparison.items[i].weight);
}

static void libraries_are_sorted_and_replaced(void)
{
    struct tare_machine m;
    struct tare_error err = {0};
    tare_machine_init(&m);
    for (int i = 99; i >= 0; i--) {
        char name[16];
        snprintf(name, sizeof name, "lib%02d", (i * 37) % 100);
        CHECK_INT(tare_machine_add_library(&m, &arena, name, "1.0", &err), 0);
    }
    CHECK_INT(tare_machine_add_library(&m, &arena, "lib50", "2.0\n", &err), 0);
    CHECK_INT(m.library_count, 100);
    for (size_t i = 1; i < m.library_count; i++)
        CHECK(strcmp(m.libraries[i - 1].name, m.libraries[i].name) < 0);
    CHECK_TEXT(m.libraries[50].version, "2.0");
    CHECK_INT(tare_machine_add_library(&m, &arena, " ", "1", &err), -1);
}

static void bad_json_is_refused(void)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"[]", "'machine' is not an object"},
        {"{\"cpu\": 3}", "machine: 'cpu' is not an object"},
        {"{\"cpu\": {\"model\": 3}}", "machine: 'cpu.model' is not a string"},
        {"{\"cpu\": {\"cores\": -3}}", "machine: 'cpu.cores' is not a whole number"},
        {"{\"cpu\": {\"cores\": 18446744073709551615}}", "machine: 'cpu.cores' is not a whole number"},
        {"{\"cpu\": {\"smt\": 1}}", "machine: 'cpu.smt' is not true or false"},
        {"{\"cpu\": {\"flags\": [1]}}", "machine: 'cpu.flags' is not a list of strings"},
        {"{\"cgroup\": {\"cpus\": -1}}", "machine: 'cgroup.cpus' is not a number from 0"},
        {"{\"gpus\": [1]}", "machine: 'gpus' is not a list of devices"},
        {"{\"gpus\": [{\"model\": 1}]}", "machine: 'model' of a GPU is not a string"},
        {"{\"libraries\": {\"a\": 1}}", "machine: the version of library 'a' is not a string"},
        {"{\"libraries\": []}", "machine: 'libraries' is not an object of names and versions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tare_machine m;
        struct tare_error err = {0};
        CHECK_INT(read_json(cases[i].json, &m, &err), -1);
        CHECK_TEXT(err.msg, cases[i].message);
    }
    struct tare_machine m;
    struct tare_error err = {0};
    CHECK_INT(read_json("{\"new\": 1, \"cpu\": {\"new\": 2, \"model\": null}, \"gpus\": null}", &m, &err), 0);
    CHECK(m.cpu_model == NULL);
}

static void put(const char *root, const char *path, const char *text, size_t length)
{
    char *full = strdup(tare_arena_printf(&arena, "%s/%s", root, path));
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, text, length) == (ssize_t)length);
    close(fd);
    free(full);
}

static int drop(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static void hostile_files_are_bounded(void)
{
    char root[256];
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/tare-machine.XXXXXX", base ? base : "/tmp");
    CHECK(mkdtemp(root) != NULL);
    size_t size = 24 << 20;
    char *big = malloc(size);
    /* One endless line, one file of tiny lines beyond the bound, binary noise, a pipe in place of a file. */
    memset(big, 'a', size);
    memcpy(big, "flags\t: ", 8);
    put(root, "proc/cpuinfo", big, size);
    memset(big, '\n', size);
    put(root, "proc/self/mountinfo", big, size);
    for (size_t i = 0; i < 70000; i++)
        big[i] = (char)(i * 7919 >> 3);
    put(root, "proc/meminfo", big, 70000);
    put(root, "proc/self/cgroup", big, 70000);
    put(root, "proc/stat", "cpu  18446744073709551615 1 2 3 4 5 6 7\n", 40);
    put(root, "proc/loadavg", "-1.5 nan 3", 10);
    put(root, "sys/devices/system/cpu/present", "0-99999999999999999999", 22);
    put(root, "sys/devices/system/cpu/online", "3-1,a", 5);
    put(root, "sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "evil\x1b[31m\xff\n", 12);
    put(root, "sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "9223372036854775807", 19);
    put(root, "sys/kernel/mm/transparent_hugepage/enabled", "]always[", 8);
    char fifo[512];
    snprintf(fifo, sizeof fifo, "%s/proc/sys", root);
    mkdir(fifo, 0700);
    snprintf(fifo, sizeof fifo, "%s/proc/sys/kernel", root);
    mkdir(fifo, 0700);
    snprintf(fifo, sizeof fifo, "%s/proc/sys/kernel/osrelease", root);
    CHECK_INT(mkfifo(fifo, 0600), 0);

    struct tare_machine m = collect(root);
    CHECK_INT(m.cpu_flags.count, 0);
    CHECK(m.cpu_flags_hash != NULL);
    CHECK_INT(m.cpu_logical, -1);
    CHECK_INT(m.cpu_online, -1);
    CHECK_REAL(m.steal_since_boot, -1, 0);
    CHECK_REAL(m.load_1min, -1, 0);
    CHECK_INT(m.freq_max_hz, -1);
    CHECK_INT(m.freq_governors.count, 1);
    CHECK_TEXT(m.freq_governors.items[0], "evil [31m?");
    CHECK(m.memory_thp == NULL);
    CHECK(m.kernel_release == NULL);
    CHECK(arena.held < (size_t)4 << 20);
    free(big);
    CHECK_INT(nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS), 0);

    struct tare_machine none = collect("/nonexistent");
    CHECK_TEXT(write_json(&none), "{\n  \"fingerprint\": \"m1-84547e543808fa46\"\n}");
}

static void processor_lists(void)
{
    CHECK_INT(tare_machine_parse_cpus("0"), 1);
    CHECK_INT(tare_machine_parse_cpus("0-3,8,10-11"), 7);
    CHECK_INT(tare_machine_parse_cpus(""), -1);
    CHECK_INT(tare_machine_parse_cpus("x"), -1);
    CHECK_INT(tare_machine_parse_cpus("1-"), -1);
    CHECK_INT(tare_machine_parse_cpus("-1"), -1);
    CHECK_INT(tare_machine_parse_cpus("5-1"), -1);
    CHECK_INT(tare_machine_parse_cpus("0 1"), -1);
}

static void this_machine(void)
{
    struct tare_machine m = collect("");
    CHECK(m.cpu_arch != NULL && m.kernel_release != NULL);
    CHECK(m.cpu_online > 0 && m.cpu_affinity > 0 && m.cpu_affinity <= m.cpu_online);
    CHECK(m.memory_total_bytes > 0 && m.memory_available_bytes <= m.memory_total_bytes);
    CHECK(m.container != NULL);
}

int main(void)
{
    tare_arena_init(&arena, 0);
    RUN(metal_with_cgroup_v2);
    RUN(container_with_cgroup_v1);
    RUN(virtual_machine_with_steal);
    RUN(laptop_with_powersave);
    RUN(arm64_in_podman);
    RUN(json_reads_back_equal);
    RUN(json_and_fingerprint_are_stable);
    RUN(fingerprint_follows_the_written_rule);
    RUN(compare_weighs_what_differs);
    RUN(libraries_are_sorted_and_replaced);
    RUN(bad_json_is_refused);
    RUN(hostile_files_are_bounded);
    RUN(processor_lists);
    RUN(this_machine);
    tare_arena_finish(&arena);
    return check_done();
}
