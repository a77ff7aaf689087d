/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/worker_wire.h"

#include <string.h>

/* The whole numbers of a struct, in the order in which they are sent. */
#define USE_NUMBERS(use)                                                                                     \
    {                                                                                                        \
        &(use)->wall_ns, &(use)->cpu_user_ns, &(use)->cpu_system_ns, &(use)->switches_voluntary,             \
            &(use)->switches_involuntary, &(use)->faults_minor, &(use)->faults_major, &(use)->disk_read,     \
            &(use)->disk_write, &(use)->net_receive, &(use)->net_send, &(use)->steal_ns,                     \
            &(use)->throttled_ns, &(use)->throttled_periods                                                  \
    }
#define MEMORY_NUMBERS(memory)                                                                               \
    {                                                                                                        \
        &(memory)->before, &(memory)->after, &(memory)->peak, &(memory)->average,                            \
            &(memory)->engine.requested, &(memory)->engine.in_use, &(memory)->engine.total,                  \
            &(memory)->engine.peak, &(memory)->engine.allocations, &(memory)->engine.reserves,               \
            &(memory)->engine.extensions, &(memory)->engine.largest                                          \
    }

void tare_worker_put_dims(struct tare_buf *buf, const struct tare_run_dim *dims, size_t count)
{
    tare_wire_put_int(buf, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        tare_wire_put_text(buf, dims[i].name);
        tare_wire_put_int(buf, dims[i].value);
    }
}

const struct tare_run_dim *tare_worker_get_dims(struct tare_wire_reader *reader, struct tare_arena *arena,
                                                size_t *ret_count)
{
    size_t count = (size_t)tare_wire_int_in(reader, 0, TARE_WORKER_DIMS);
    struct tare_run_dim *dims = count ? tare_arena_array(arena, count, sizeof *dims) : NULL;
    for (size_t i = 0; dims && i < count; i++) {
        dims[i].name = tare_wire_text(reader, arena);
        dims[i].value = tare_wire_int(reader);
        if (!dims[i].name)
            reader->bad = true;
    }
    *ret_count = dims ? count : 0;
    return dims;
}

void tare_worker_put_spec(struct tare_buf *buf, const struct tare_worker_spec *spec)
{
    const struct tare_engine_options *options = &spec->options;
    tare_wire_put_int(buf, TARE_WORKER_PROTOCOL);
    tare_wire_put_text(buf, spec->engine);
    tare_wire_put_text(buf, spec->model_path);
    tare_wire_put_text(buf, spec->inputs_path);
    tare_wire_put_int(buf, spec->batch);
    tare_worker_put_dims(buf, spec->dims, spec->dims_count);
    tare_wire_put_text(buf, options->library);
    tare_wire_put_text(buf, options->provider);
    tare_wire_put_int(buf, options->threads);
    tare_wire_put_int(buf, options->inter_threads);
    tare_wire_put_int(buf, (int64_t)options->level);
    tare_wire_put_int(buf, options->no_spinning);
    tare_wire_put_text(buf, options->profile_prefix);
    tare_wire_put_text(buf, options->optimised_path);
}

void tare_worker_get_spec(struct tare_wire_reader *reader, struct tare_arena *arena,
                          struct tare_worker_spec *ret_spec)
{
    struct tare_engine_options *options = &ret_spec->options;
    tare_wire_int_in(reader, TARE_WORKER_PROTOCOL, TARE_WORKER_PROTOCOL);
    ret_spec->engine = tare_wire_text(reader, arena);
    ret_spec->model_path = tare_wire_text(reader, arena);
    ret_spec->inputs_path = tare_wire_text(reader, arena);
    ret_spec->batch = tare_wire_int_in(reader, 0, INT64_MAX);
    ret_spec->dims = tare_worker_get_dims(reader, arena, &ret_spec->dims_count);
    options->library = tare_wire_text(reader, arena);
    options->provider = tare_wire_text(reader, arena);
    options->threads = (int)tare_wire_int_in(reader, 0, 65536);
    options->inter_threads = (int)tare_wire_int_in(reader, 0, 65536);
    options->level = (enum tare_graph_level)tare_wire_int_in(reader, TARE_GRAPH_ALL, TARE_GRAPH_EXTENDED);
    options->no_spinning = tare_wire_int_in(reader, 0, 1) == 1;
    options->profile_prefix = tare_wire_text(reader, arena);
    options->optimised_path = tare_wire_text(reader, arena);
    if (!ret_spec->engine || !ret_spec->model_path)
        reader->bad = true;
}

void tare_worker_put_use(struct tare_buf *buf, const struct tare_worker_use *use)
{
    const int64_t *const numbers[] = USE_NUMBERS(use);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tare_wire_put_int(buf, *numbers[i]);
    tare_wire_put_int(buf, (int64_t)use->cores);
    for (size_t i = 0; i < use->cores; i++)
        tare_wire_put_real(buf, use->per_core[i]);
}

void tare_worker_get_use(struct tare_wire_reader *reader, struct tare_worker_use *ret_use)
{
    int64_t *const numbers[] = USE_NUMBERS(ret_use);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = tare_wire_int(reader);
    ret_use->cores = (size_t)tare_wire_int_in(reader, 0, sizeof ret_use->per_core / sizeof(double));
    for (size_t i = 0; i < ret_use->cores; i++)
        ret_use->per_core[i] = tare_wire_real(reader);
}

void tare_worker_put_memory(struct tare_buf *buf, const struct tare_worker_memory *memory)
{
    const int64_t *const numbers[] = MEMORY_NUMBERS(memory);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        tare_wire_put_int(buf, *numbers[i]);
    tare_wire_put_int(buf, (int64_t)memory->count);
    tare_wire_put_bytes(buf, memory->ns, memory->count * sizeof *memory->ns);
    tare_wire_put_bytes(buf, memory->resident, memory->count * sizeof *memory->resident);
}

void tare_worker_get_memory(struct tare_wire_reader *reader, struct tare_arena *arena,
                            struct tare_worker_memory *ret_memory)
{
    int64_t *const numbers[] = MEMORY_NUMBERS(ret_memory);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        *numbers[i] = tare_wire_int(reader);
    size_t count = (size_t)tare_wire_int_in(reader, 0, 1 << 20);
    size_t size = count * sizeof(int64_t);
    const void *ns = tare_wire_bytes(reader, size), *resident = tare_wire_bytes(reader, size);
    ret_memory->ns = tare_arena_alloc(arena, size + 1);
    ret_memory->resident = tare_arena_alloc(arena, size + 1);
    if (reader->bad || !ret_memory->ns || !ret_memory->resident) {
        reader->bad = true;
        return;
    }
    memcpy(ret_memory->ns, ns, size);
    memcpy(ret_memory->resident, resident, size);
    ret_memory->count = count;
}
