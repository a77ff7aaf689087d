/* SPDX-License-Identifier: Apache-2.0 */
/* Which constants of a model are trained values, by what they are used for. Private to model_facts.c. */
#ifndef TARE_BENCH_MODEL_WEIGHTS_H
#define TARE_BENCH_MODEL_WEIGHTS_H

#include "bench/model_uses.h"

enum tare_weight {
    TARE_WEIGHT_NONE,      /* a constant of the program */
    TARE_WEIGHT_PARAMETER, /* trained */
    TARE_WEIGHT_BUFFER,    /* measured or derived: statistics, scales, zero points */
};

/** What a constant is. made: it is not stored but made by ConstantOfShape. */
enum tare_weight tare_model_weight(const struct tare_model_uses *uses, const char *name,
                                   enum tare_element element, int64_t count, bool made);

#endif
