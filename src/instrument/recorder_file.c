/* SPDX-License-Identifier: Apache-2.0 */
/* The capture as a file: made, mapped, grown by chunks that exist before they are touched. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "instrument/recorder_impl.h"

/* How much the file grows at least; one system call for many chunks. */
enum { GROW_CHUNKS = 8 };

/* Really allocate bytes of the file. Where the file system cannot, write zeros. */
static int allocate(int fd, uint64_t offset, uint64_t length)
{
    int rc;
    do
        rc = fallocate(fd, 0, (off_t)offset, (off_t)length) < 0 ? errno : 0;
    while (rc == EINTR);
    if (rc != EOPNOTSUPP && rc != ENOSYS)
        return rc;
    static const char zeros[4096];
    for (uint64_t done = 0; done < length;) {
        uint64_t piece = length - done < sizeof zeros ? length - done : sizeof zeros;
        ssize_t n = pwrite(fd, zeros, piece, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        done += (uint64_t)n;
    }
    return 0;
}

/* Make the capture at least size bytes long and map what is new. 0 or an errno. */
static int grow(struct tare_recorder *recorder, uint64_t now, uint64_t size)
{
    if (size > recorder->cap)
        return EFBIG;
    int rc = allocate(recorder->fd, now, size - now);
    if (rc)
        return rc;
    void *got = mmap(recorder->base + now, size - now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                     recorder->fd, (off_t)now);
    return got == MAP_FAILED ? errno : 0;
}

static int make_file(struct tare_recorder *recorder, struct tare_error *err)
{
    if (recorder->scratch) {
        recorder->fd = memfd_create("tare", MFD_CLOEXEC);
        return recorder->fd < 0 ? tare_fail(err, TARE_E_IO, errno, "no memory for a capture") : 0;
    }
    char *path = NULL;
    if (asprintf(&path, "%s/%ld-XXXXXX.tarecap", recorder->folder, (long)getpid()) < 0)
        return tare_fail_memory(err);
    int fd = mkostemps(path, (int)strlen(".tarecap"), O_CLOEXEC);
    if (fd < 0) {
        int rc = tare_fail(err, TARE_E_IO, errno, "cannot make a capture file in '%s'", recorder->folder);
        free(path);
        return rc;
    }
    free(recorder->path);
    recorder->path = path;
    recorder->fd = fd;
    return 0;
}

int recorder_file_open(struct tare_recorder *recorder, struct tare_error *err)
{
    if (make_file(recorder, err) < 0)
        return -1;
    recorder->base = mmap(NULL, recorder->cap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (recorder->base == MAP_FAILED) {
        recorder->base = NULL;
        return tare_fail(err, TARE_E_MEMORY, errno, "cannot reserve address space for a capture");
    }
    uint64_t size = TARE_CAPTURE_HEADER + GROW_CHUNKS * TARE_CAPTURE_CHUNK;
    int rc = grow(recorder, 0, size);
    if (rc) {
        tare_fail(err, TARE_E_IO, rc, "no room for a capture in '%s'", recorder->folder);
        if (recorder->path)
            unlink(recorder->path);
        return -1;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tare_capture_header *header = (struct tare_capture_header *)(void *)recorder->base;
    recorder->header = header;
    memcpy(header->magic, TARE_CAPTURE_MAGIC, sizeof header->magic);
    header->order = TARE_CAPTURE_ORDER;
    header->layout = TARE_CAPTURE_LAYOUT;
    snprintf(header->version, sizeof header->version, "%s", TARE_VERSION);
    header->size = size;
    header->cap = recorder->cap;
    header->pid = getpid();
    header->parent_pid = getppid();
    header->start_unix_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    header->start_ticks = tare_clock_ticks(&recorder->clock);
    header->ns_per_tick = 1e9 / recorder->clock.frequency_hz;
    recorder->next_chunk = TARE_CAPTURE_HEADER;
    recorder->free_chunk = 0;
    recorder->meta = (struct chunk_list){.first = &header->first_meta};
    recorder->frames = (struct chunk_list){.first = &header->first_frames};
    recorder->text = (struct chunk_list){.first = &header->first_text};
    recorder->threads = (struct chunk_list){.first = &header->first_threads};
    return 0;
}

void recorder_file_close(struct tare_recorder *recorder)
{
    if (recorder->base)
        munmap(recorder->base, recorder->cap);
    if (recorder->fd >= 0)
        close(recorder->fd);
    recorder->base = NULL;
    recorder->fd = -1;
}

int recorder_file_reach(struct tare_recorder *recorder, uint64_t size)
{
    uint64_t now = recorder->header->size;
    if (size <= now)
        return 0;
    int rc = grow(recorder, now, size);
    if (rc == 0)
        recorder->header->size = size;
    return rc;
}

static uint32_t chunk_take(struct tare_recorder *recorder)
{
    if (recorder->free_chunk) {
        uint32_t address = recorder->free_chunk;
        struct tare_capture_chunk *chunk = at_address(recorder->base, address);
        recorder->free_chunk = chunk->next;
        memset(chunk, 0, TARE_CAPTURE_CHUNK);
        return address;
    }
    uint64_t end = recorder->next_chunk + TARE_CAPTURE_CHUNK;
    uint64_t size = recorder->header->size;
    if (end > size) {
        /* Grow by an eighth, so that a long run makes few system calls; when that is too much, by one. */
        uint64_t chunks = size / TARE_CAPTURE_CHUNK / 8;
        uint64_t want = size + (chunks > GROW_CHUNKS ? chunks : GROW_CHUNKS) * TARE_CAPTURE_CHUNK;
        if (recorder_file_reach(recorder, want) != 0 && recorder_file_reach(recorder, end) != 0)
            return 0;
    }
    uint32_t address = (uint32_t)(recorder->next_chunk / TARE_CAPTURE_UNIT);
    recorder->next_chunk = end;
    return address;
}

uint32_t recorder_chunk_add(struct tare_recorder *recorder, struct chunk_list *list,
                            enum tare_chunk_kind kind)
{
    uint32_t address = chunk_take(recorder);
    if (!address)
        return 0;
    struct tare_capture_chunk *chunk = at_address(recorder->base, address);
    chunk->kind = (uint32_t)kind;
    atomic_thread_fence(memory_order_release);
    if (list->last)
        ((struct tare_capture_chunk *)at_address(recorder->base, list->last))->next = address;
    else
        *list->first = address;
    list->last = address;
    return address;
}

void *recorder_room(struct tare_recorder *recorder, struct chunk_list *list, enum tare_chunk_kind kind,
                    uint32_t bytes)
{
    const uint32_t room = TARE_CAPTURE_CHUNK - sizeof(struct tare_capture_chunk);
    struct tare_capture_chunk *chunk = list->last ? at_address(recorder->base, list->last) : NULL;
    if (bytes > room)
        return NULL;
    if (!chunk || bytes > room - chunk->used) {
        if (!recorder_chunk_add(recorder, list, kind))
            return NULL;
        chunk = at_address(recorder->base, list->last);
    }
    return (unsigned char *)(chunk + 1) + chunk->used;
}

void recorder_publish(struct tare_recorder *recorder, const struct chunk_list *list, uint32_t bytes)
{
    struct tare_capture_chunk *chunk = at_address(recorder->base, list->last);
    atomic_thread_fence(memory_order_release);
    chunk->used += bytes;
}
