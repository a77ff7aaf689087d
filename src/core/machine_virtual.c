/* SPDX-License-Identifier: Apache-2.0 */
/* What is around this system: a hypervisor below it, a container around the process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/machine_part.h"

/* What the firmware tables of a virtual machine say. Clouds that also rent bare metal under the same name
 * (Amazon, Google, Microsoft's own hardware) are only believed when the processor shows a hypervisor too. */
static const struct {
    const char *file, *start, *name;
    bool also_metal;
} firmware[] = {
    {"product_name", "KVM", "kvm", false},
    {"product_name", "VMware", "vmware", false},
    {"product_name", "VirtualBox", "virtualbox", false},
    {"product_name", "Virtual Machine", "hyperv", false},
    {"product_name", "Google Compute Engine", "kvm", true},
    {"sys_vendor", "QEMU", "qemu", false},
    {"sys_vendor", "Xen", "xen", false},
    {"sys_vendor", "Parallels", "parallels", false},
    {"sys_vendor", "Apple Inc.", "apple", true},
    {"sys_vendor", "OpenStack", "kvm", false},
    {"sys_vendor", "DigitalOcean", "kvm", false},
    {"sys_vendor", "Amazon EC2", "amazon", true},
    {"bios_vendor", "SeaBIOS", "qemu", false},
    {"bios_vendor", "BHYVE", "bhyve", false},
};

static const char *by_firmware(const struct tare_machine_files *files, bool hypervisor)
{
    for (size_t i = 0; i < sizeof firmware / sizeof firmware[0]; i++) {
        char text[128];
        if ((hypervisor || !firmware[i].also_metal) &&
            tare_machine_file_text(files, text, sizeof text, "/sys/class/dmi/id/%s", firmware[i].file) &&
            strncmp(text, firmware[i].start, strlen(firmware[i].start)) == 0)
            return firmware[i].name;
    }
    return NULL;
}

static const char *find_hypervisor(const struct tare_machine_files *files, int hypervisor)
{
    const char *name = *files->root ? NULL : tare_machine_cpuid_hypervisor();
    if (!name)
        name = tare_machine_file_line(files, "/sys/hypervisor/type");
    if (!name)
        name = by_firmware(files, hypervisor == 1);
    if (!name && tare_machine_file_exists(files, "/proc/device-tree/hypervisor/compatible"))
        name = tare_machine_file_line(files, "/proc/device-tree/hypervisor/compatible");
    if (!name && hypervisor == 1)
        name = "unnamed";
    if (!name && hypervisor == 0)
        name = "none";
    return name;
}

struct containers {
    const char *found;
};

/* A line of /proc/self/cgroup, where the group's name tells who made it. */
static bool group_line(void *context, char *line)
{
    static const struct {
        const char *part, *name;
    } signs[] = {
        {"kubepods", "kubernetes"}, {"/libpod", "podman"},
        {"/docker", "docker"},      {"/lxc", "lxc"},
        {"/garden", "garden"},      {"/machine.slice/systemd-nspawn", "nspawn"},
    };
    struct containers *containers = context;
    for (size_t i = 0; !containers->found && i < sizeof signs / sizeof signs[0]; i++)
        if (strstr(line, signs[i].part) != NULL)
            containers->found = signs[i].name;
    return !containers->found;
}

/* Podman writes lines such as image="docker.io/library/python:3.12" there. */
static const char *quoted(struct tare_arena *arena, const char *value)
{
    char text[TARE_MACHINE_TEXT];
    snprintf(text, sizeof text, "%s", value + (*value == '"'));
    text[strcspn(text, "\"")] = '\0';
    return tare_machine_clean(arena, text);
}

struct podman {
    struct tare_arena *arena;
    struct tare_machine *machine;
};

static bool podman_line(void *context, char *line)
{
    struct podman *podman = context;
    const char *value;
    if ((value = tare_machine_value(line, "imageid")) != NULL)
        podman->machine->container_image_id = quoted(podman->arena, value);
    else if ((value = tare_machine_value(line, "image")) != NULL)
        podman->machine->container_image = quoted(podman->arena, value);
    return true;
}

static const char *find_container(const struct tare_machine_files *files)
{
    struct containers containers = {NULL};
    if (tare_machine_file_exists(files, "/var/run/secrets/kubernetes.io/serviceaccount") ||
        (!*files->root && getenv("KUBERNETES_SERVICE_HOST") != NULL))
        return "kubernetes";
    tare_machine_file_lines(files, "/proc/self/cgroup", TARE_MACHINE_FILE, group_line, &containers);
    if (containers.found && strcmp(containers.found, "kubernetes") == 0)
        return containers.found;
    if (tare_machine_file_exists(files, "/run/.containerenv"))
        return "podman";
    if (tare_machine_file_exists(files, "/.dockerenv"))
        return "docker";
    if (containers.found)
        return containers.found;
    /* Written by systemd and by LXC's templates: one word. */
    const char *word = tare_machine_file_line(files, "/run/systemd/container");
    if (word)
        return strcmp(word, "systemd-nspawn") == 0 ? "nspawn" : word;
    return tare_machine_file_exists(files, "/proc/self") ? "none" : NULL;
}

void tare_machine_collect_virtual(const struct tare_machine_files *files, int hypervisor,
                                  struct tare_machine *machine)
{
    struct podman podman = {files->arena, machine};
    machine->virtualisation = find_hypervisor(files, hypervisor);
    machine->container = find_container(files);
    tare_machine_file_lines(files, "/run/.containerenv", TARE_MACHINE_FILE, podman_line, &podman);
}
