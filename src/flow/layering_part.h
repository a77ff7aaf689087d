/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of looking inside a model share. Private to layering*.c. */
#ifndef TARE_FLOW_LAYERING_PART_H
#define TARE_FLOW_LAYERING_PART_H

#include "bench/model_count.h"
#include "bench/ort_profile.h"
#include "bench/peaks.h"
#include "bench/tax.h"
#include "bench/twin.h"
#include "flow/bench_part.h"

enum { TARE_LAYERING_PAIRS = 16 };

/* Nodes that take less than their tax, and the others. */
enum tare_layering_kind { TARE_LAYERING_SMALL, TARE_LAYERING_LARGE, TARE_LAYERING_KINDS };

/* What running the nodes of a kind again told. */
struct tare_layering_class {
    size_t nodes; /* that run again */
    int times;
    double ns, tax_ns; /* as the first pair and the chains have it */
    size_t copy;       /* its number among the others; 0: it has none */
    size_t count;      /* pairs behind these: */
    double took[TARE_LAYERING_PAIRS], raw[TARE_LAYERING_PAIRS], variance; /* as shares of a plain call */
};

/* One node of the graph that is really run, of one call of the model. */
struct tare_layering_node {
    const struct tare_ort_node *seen;   /* as the profile has it */
    const struct tare_model_node *node; /* as the optimised graph has it; NULL if it is not there */
    double *raws, *taxes;               /* of each pair, as shares of its plain call */
    double raw_ns, tax_ns, ns, half_ns; /* ns is without the tax, within half_ns of the truth */
    enum tare_layering_kind kind;
    bool repeated;
    const char *group;
    int64_t macs, bytes; /* -1: not known */
};

struct tare_layering {
    struct tare_bench *bench;
    size_t index; /* of the configuration */
    struct tare_layering_node *nodes;
    size_t count;
    double plains_ns[TARE_LAYERING_PAIRS], plain_ns;
    size_t pairs;
    int64_t calls; /* profiled ones behind the figures */
    double tax_error;
    const struct tare_model *original, *optimised; /* NULL where they cannot be read */
    const struct tare_peaks *peaks;                /* NULL: not measured */
    /* Copies of the optimised graph: as it is, then with the nodes of a kind run again. */
    struct tare_worker_spec copies[1 + TARE_LAYERING_KINDS];
    struct tare_twin_others others;
    struct tare_layering_class classes[TARE_LAYERING_KINDS];
    struct tare_arena arena;
};

/** Find the nodes of the optimised graph. */
void tare_layering_join_names(struct tare_layering *layering);

/** After the first pair: tell small nodes from large ones, and write the copies in which they run again. A
 * model whose copies could not be had has no others. */
int tare_layering_repeat_open(struct tare_layering *layering, struct tare_error *err);

/** Remove the copies. */
void tare_layering_repeat_close(struct tare_layering *layering);

/** Use the last pair. */
void tare_layering_repeat_add(struct tare_layering *layering, const struct tare_twin *twin);

/** After all pairs: the tax of a kind of nodes, in units of that of the chains. */
double tare_layering_repeat_factor(struct tare_layering *layering, enum tare_layering_kind kind);

/** The mean of the middle half of values, which are sorted by it: what a machine that is busy now and then
 * shows when it is not. */
double tare_layering_middle(double *values, size_t count);

/** Join the profile with the optimised graph: nodes, bytes, groups. */
void tare_layering_join(struct tare_layering *layering, const struct tare_model_count *count);

/** Fill in the configuration's layers. */
int tare_layering_rows(struct tare_layering *layering, struct tare_error *err);

#endif
