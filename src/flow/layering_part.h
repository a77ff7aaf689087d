/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of looking inside a model share. Private to layering*.c. */
#ifndef TARE_FLOW_LAYERING_PART_H
#define TARE_FLOW_LAYERING_PART_H

#include "bench/model_count.h"
#include "bench/ort_profile.h"
#include "bench/peaks.h"
#include "bench/tax.h"
#include "flow/bench_part.h"

/* One node of the graph that is really run, of one call of the model. */
struct tare_layering_node {
    const struct tare_ort_node *seen;   /* as the profile has it */
    const struct tare_model_node *node; /* as the optimised graph has it; NULL if it is not there */
    double raw_ns, tax_ns, ns, half_ns; /* ns is without the tax, within half_ns of the truth */
    const char *group;
    int64_t macs, bytes; /* -1: not known */
};

struct tare_layering {
    struct tare_bench *bench;
    size_t index; /* of the configuration */
    struct tare_layering_node *nodes;
    size_t count;
    double plain_ns;
    int64_t calls; /* profiled ones behind the figures */
    double tax_error;
    const struct tare_model *original, *optimised; /* NULL where they cannot be read */
    const struct tare_peaks *peaks;                /* NULL: not measured */
    struct tare_arena arena;
};

/** Join the profile with the optimised graph: nodes, bytes, groups. */
void tare_layering_join(struct tare_layering *layering, const struct tare_model_count *count);

/** Fill in the configuration's layers. */
int tare_layering_rows(struct tare_layering *layering, struct tare_error *err);

#endif
