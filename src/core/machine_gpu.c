/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs as far as files tell: NVIDIA's driver in /proc, the graphics devices in /sys/class/drm, AMD's compute
 * nodes in /sys/class/kfd, and as a last sign the nodes /dev/nvidiaN. A device that several of them show is
 * found again by its bus address.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine_part.h"

enum { MAX_GPUS = 64 };

struct gpus {
    const struct tare_machine_files *files;
    struct tare_machine_gpu items[MAX_GPUS];
    size_t count;
    const char *nvidia_version;
    size_t nvidia_nodes; /* /dev/nvidiaN */
};

/* NVIDIA's driver writes the address with capital digits, the kernel with small ones. */
static const char *address(struct tare_arena *arena, const char *text)
{
    char small[32];
    size_t length = 0;
    for (; text[length] && length < sizeof small - 1; length++)
        small[length] = text[length] >= 'A' && text[length] <= 'F' ? (char)(text[length] + 32) : text[length];
    small[length] = '\0';
    return tare_machine_clean(arena, small);
}

static struct tare_machine_gpu *at_address(struct gpus *gpus, const char *where)
{
    for (size_t i = 0; where && i < gpus->count; i++)
        if (gpus->items[i].address && strcmp(gpus->items[i].address, where) == 0)
            return &gpus->items[i];
    if (gpus->count == MAX_GPUS)
        return NULL;
    struct tare_machine_gpu *gpu = &gpus->items[gpus->count++];
    gpu->address = where;
    return gpu;
}

struct nvidia_lines {
    struct tare_arena *arena;
    struct tare_machine_gpu *gpu;
};

static bool nvidia_line(void *context, char *line)
{
    struct nvidia_lines *lines = context;
    const char *value = tare_machine_value(line, "Model");
    if (value)
        lines->gpu->model = tare_machine_clean(lines->arena, value);
    return !value;
}

static bool nvidia_folder(void *context, const char *name)
{
    struct gpus *gpus = context;
    struct tare_arena *arena = gpus->files->arena;
    char path[512];
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%.200s/information", name);
    struct tare_machine_gpu *gpu = at_address(gpus, address(arena, name));
    if (!gpu)
        return false;
    gpu->vendor = "NVIDIA";
    gpu->driver =
        gpus->nvidia_version ? tare_arena_printf(arena, "nvidia %s", gpus->nvidia_version) : "nvidia";
    struct nvidia_lines lines = {arena, gpu};
    tare_machine_file_lines(gpus->files, path, TARE_MACHINE_FILE, nvidia_line, &lines);
    return true;
}

struct uevent {
    struct tare_arena *arena;
    const char *driver, *slot;
};

static bool uevent_line(void *context, char *line)
{
    struct uevent *uevent = context;
    const char *value;
    if ((value = tare_machine_value(line, "DRIVER")) != NULL)
        uevent->driver = tare_machine_clean(uevent->arena, value);
    else if ((value = tare_machine_value(line, "PCI_SLOT_NAME")) != NULL)
        uevent->slot = address(uevent->arena, value);
    return true;
}

static const char *vendor_name(unsigned long id)
{
    return id == 0x10de ? "NVIDIA" : id == 0x1002 ? "AMD" : id == 0x8086 ? "Intel" : NULL;
}

/* card0, but not its outlets (card0-HDMI-A-1) nor the render nodes, which are the same devices again. */
static bool drm_card(void *context, const char *name)
{
    struct gpus *gpus = context;
    const struct tare_machine_files *files = gpus->files;
    char path[512], vendor_text[32], device_text[32];
    if (strncmp(name, "card", 4) != 0 || strspn(name + 4, "0123456789") != strlen(name + 4) ||
        strlen(name) > 16)
        return true;
    const char *folder = "/sys/class/drm";
    if (!tare_machine_file_text(files, vendor_text, sizeof vendor_text, "%s/%s/device/vendor", folder,
                                name) ||
        !tare_machine_file_text(files, device_text, sizeof device_text, "%s/%s/device/device", folder, name))
        return true;
    unsigned long vendor = strtoul(vendor_text, NULL, 16), device = strtoul(device_text, NULL, 16);
    if (!vendor_name(vendor))
        return true;
    struct uevent uevent = {files->arena, NULL, NULL};
    snprintf(path, sizeof path, "%s/%s/device/uevent", folder, name);
    tare_machine_file_lines(files, path, TARE_MACHINE_FILE, uevent_line, &uevent);
    struct tare_machine_gpu *gpu = at_address(gpus, uevent.slot);
    if (!gpu)
        return false;
    gpu->vendor = vendor_name(vendor);
    gpu->pci_id = tare_arena_printf(files->arena, "%04lx:%04lx", vendor & 0xffff, device & 0xffff);
    if (!gpu->driver)
        gpu->driver = uevent.driver;
    if (!gpu->model)
        gpu->model = tare_machine_file_line(files, "%s/%s/device/product_name", folder, name);
    return true;
}

struct kfd {
    uint64_t simd, vendor, device, location, domain, gfx;
};

static bool kfd_line(void *context, char *line)
{
    struct kfd *kfd = context;
    const struct {
        const char *name;
        uint64_t *value;
    } rows[] = {{"simd_count ", &kfd->simd},  {"vendor_id ", &kfd->vendor},
                {"device_id ", &kfd->device}, {"location_id ", &kfd->location},
                {"domain ", &kfd->domain},    {"gfx_target_version ", &kfd->gfx}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(line, rows[i].name, strlen(rows[i].name)) == 0)
            *rows[i].value = strtoull(line + strlen(rows[i].name), NULL, 10);
    return true;
}

/* A node without SIMD units is the processor. */
static bool kfd_node(void *context, const char *name)
{
    struct gpus *gpus = context;
    struct tare_arena *arena = gpus->files->arena;
    struct kfd kfd = {0};
    char path[512];
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%.200s/properties", name);
    tare_machine_file_lines(gpus->files, path, TARE_MACHINE_FILE, kfd_line, &kfd);
    if (kfd.simd == 0 || kfd.vendor == 0)
        return true;
    unsigned location = (unsigned)(kfd.location & 0xffff);
    const char *where = tare_arena_printf(arena, "%04x:%02x:%02x.%x", (unsigned)(kfd.domain & 0xffff),
                                          location >> 8, location >> 3 & 0x1f, location & 7);
    struct tare_machine_gpu *gpu = at_address(gpus, where);
    if (!gpu)
        return false;
    gpu->vendor = vendor_name((unsigned long)kfd.vendor);
    gpu->pci_id = tare_arena_printf(arena, "%04x:%04x", (unsigned)(kfd.vendor & 0xffff),
                                    (unsigned)(kfd.device & 0xffff));
    if (!gpu->driver)
        gpu->driver = "amdgpu";
    if (!gpu->model && kfd.gfx > 0)
        gpu->model = tare_arena_printf(arena, "gfx%" PRIu64 "%" PRIx64 "%" PRIx64, kfd.gfx / 10000,
                                       kfd.gfx / 100 % 100, kfd.gfx % 100);
    return true;
}

static bool device_node(void *context, const char *name)
{
    struct gpus *gpus = context;
    if (strncmp(name, "nvidia", 6) == 0 && name[6] != '\0' &&
        strspn(name + 6, "0123456789") == strlen(name + 6) && gpus->nvidia_nodes < MAX_GPUS)
        gpus->nvidia_nodes++;
    return true;
}

static int compare_gpus(const void *a, const void *b)
{
    const struct tare_machine_gpu *x = a, *y = b;
    return strcmp(x->address ? x->address : "~", y->address ? y->address : "~");
}

void tare_machine_collect_gpu(const struct tare_machine_files *files, struct tare_machine *machine)
{
    struct gpus gpus = {.files = files};
    gpus.nvidia_version = tare_machine_file_line(files, "/sys/module/nvidia/version");
    tare_machine_file_entries(files, "/proc/driver/nvidia/gpus", nvidia_folder, &gpus);
    tare_machine_file_entries(files, "/sys/class/drm", drm_card, &gpus);
    tare_machine_file_entries(files, "/sys/class/kfd/kfd/topology/nodes", kfd_node, &gpus);
    tare_machine_file_entries(files, "/dev", device_node, &gpus);

    size_t nvidia = 0;
    for (size_t i = 0; i < gpus.count; i++)
        nvidia += gpus.items[i].vendor && strcmp(gpus.items[i].vendor, "NVIDIA") == 0;
    /* A container may have the device nodes and none of the driver's files. */
    for (size_t i = 0; nvidia == 0 && i < gpus.nvidia_nodes && gpus.count < MAX_GPUS; i++)
        gpus.items[gpus.count++] = (struct tare_machine_gpu){.vendor = "NVIDIA"};
    if (gpus.count == 0)
        return;
    qsort(gpus.items, gpus.count, sizeof gpus.items[0], compare_gpus);
    struct tare_machine_gpu *items = tare_arena_array(files->arena, gpus.count, sizeof *items);
    if (!items)
        return;
    memcpy(items, gpus.items, gpus.count * sizeof *items);
    machine->gpus = items;
    machine->gpu_count = gpus.count;
}
