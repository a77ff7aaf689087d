/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged captures are read or refused in one line. A capture is mostly empty space, so the input is not one:
 * it is a list of changes, four bytes each (which part, where in it, the new byte), to a small sound capture
 * that is made here.
 */
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"
#include "core/overhead.h"

enum { CHUNKS = 6, AREA = 512, SIZE = TARE_CAPTURE_HEADER + CHUNKS * TARE_CAPTURE_CHUNK };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t chunk_address(unsigned number)
{
    return (TARE_CAPTURE_HEADER + number * TARE_CAPTURE_CHUNK) / TARE_CAPTURE_UNIT;
}

/* The address of item `index` of a size in a chunk. */
static uint32_t item_address(unsigned chunk, size_t size, unsigned index)
{
    return chunk_address(chunk) +
           (uint32_t)((sizeof(struct tare_capture_chunk) + index * size) / TARE_CAPTURE_UNIT);
}

static void *chunk_begin(unsigned char *image, unsigned number, enum tare_chunk_kind kind, size_t used)
{
    struct tare_capture_chunk chunk = {.kind = (uint32_t)kind, .used = (uint32_t)used};
    unsigned char *at = image + TARE_CAPTURE_HEADER + number * TARE_CAPTURE_CHUNK;
    memcpy(at, &chunk, sizeof chunk);
    return at + sizeof chunk;
}

static void make(unsigned char *image)
{
    enum { TEXT, META, FRAMES, THREADS, NODES, STACK };
    struct tare_capture_header header = {
        .order = TARE_CAPTURE_ORDER,
        .layout = TARE_CAPTURE_LAYOUT,
        .version = "fuzz",
        .size = SIZE,
        .cap = SIZE,
        .pid = 1,
        .start_ticks = 100,
        .ns_per_tick = 0.5,
        .first_meta = chunk_address(META),
        .first_frames = chunk_address(FRAMES),
        .first_text = chunk_address(TEXT),
        .first_threads = chunk_address(THREADS),
    };
    memcpy(header.magic, TARE_CAPTURE_MAGIC, sizeof header.magic);
    memcpy(image, &header, sizeof header);
    const char text[] = "\5\0\0\0hello\0\0\0\0\0\0";
    memcpy(chunk_begin(image, TEXT, TARE_CHUNK_TEXT, 16), text, 16);
    uint32_t hello = item_address(TEXT, 16, 0);
    uint32_t *meta = chunk_begin(image, META, TARE_CHUNK_META, 8);
    meta[0] = meta[1] = hello;
    struct tare_capture_frame *frames =
        chunk_begin(image, FRAMES, TARE_CHUNK_FRAMES, 3 * sizeof(struct tare_capture_frame));
    for (int i = 0; i < 3; i++)
        frames[i] = (struct tare_capture_frame){.name = hello, .kind = TARE_FRAME_PYTHON, .first_line = 1};
    struct tare_capture_thread *thread = chunk_begin(image, THREADS, TARE_CHUNK_THREADS, sizeof *thread);
    *thread = (struct tare_capture_thread){.tid = 7,
                                           .name = hello,
                                           .root = item_address(NODES, sizeof(struct tare_capture_node), 0),
                                           .first_nodes = chunk_address(NODES),
                                           .first_stack = chunk_address(STACK),
                                           .depth = 2,
                                           .begin_ticks = 100,
                                           .last_ticks = 900};
    struct tare_capture_node *nodes =
        chunk_begin(image, NODES, TARE_CHUNK_NODES, 4 * sizeof(struct tare_capture_node));
    for (unsigned i = 1; i < 4; i++)
        nodes[i] = (struct tare_capture_node){
            .parent = item_address(NODES, sizeof *nodes, i - 1),
            .frame = item_address(FRAMES, sizeof *frames, i - 1),
            .calls = i,
            .self_ticks = 10 * i,
        };
    struct tare_capture_call *calls = chunk_begin(image, STACK, TARE_CHUNK_STACK, 0);
    for (unsigned i = 0; i < 3; i++)
        calls[i] =
            (struct tare_capture_call){.enter_ticks = 200 * i, .node = item_address(NODES, sizeof *nodes, i)};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static _Alignas(8) unsigned char sound[SIZE], image[SIZE];
    if (sound[0] == 0)
        make(sound);
    memcpy(image, sound, sizeof image);
    for (size_t i = 0; i + 4 <= size && i < 400; i += 4) {
        size_t where = (size_t)(data[i + 1] | data[i + 2] << 8) % AREA;
        unsigned part = data[i] % (CHUNKS + 1);
        image[part == 0 ? where : TARE_CAPTURE_HEADER + (part - 1) * TARE_CAPTURE_CHUNK + where] =
            data[i + 3];
    }
    struct tare_profile *profile = NULL;
    struct tare_capture_info info;
    struct tare_error err = {0};
    if (tare_profile_create((size_t)64 << 20, &profile, &err) < 0)
        return 0;
    size_t length = size % 5 == 4 ? SIZE - size * 100 % SIZE : SIZE;
    if (tare_capture_read(image, length, "fuzz", 0, profile, &info, &err) < 0) {
        if (err.msg[0] == '\0' || strchr(err.msg, '\n'))
            abort();
    } else {
        struct tare_calibration calibration = {.dilation = 1.5};
        struct tare_overhead overhead;
        for (int i = 0; i < TARE_COSTS; i++)
            calibration.costs[i] = (struct tare_cost_ns){.inner = 2, .outer = 1, .error = 1};
        if (tare_overhead_remove(profile, &info, &calibration, NULL, &overhead, &err) < 0)
            abort();
        tare_capture_info_finish(&info);
    }
    /* Nothing changed: it must be read. */
    if (size == 0 && tare_profile_nodes(profile) < 4)
        abort();
    tare_profile_destroy(profile);
    return 0;
}
