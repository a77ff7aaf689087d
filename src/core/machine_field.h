/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a machine as a table, so that writing, reading, comparing and fingerprinting cannot disagree.
 * To add a field: a member in core/machine.h (absent by default), a row here, and a collector that fills it.
 * Rows of one group stay together. An identity row changes the fingerprint of every machine that knows it:
 * then the fingerprint's own version must change too.
 */
#ifndef TARE_CORE_MACHINE_FIELD_H
#define TARE_CORE_MACHINE_FIELD_H

#include "core/machine.h"

enum tare_machine_kind {
    TARE_MACHINE_KIND_TEXT,
    TARE_MACHINE_KIND_INT,
    TARE_MACHINE_KIND_REAL,
    TARE_MACHINE_KIND_BOOL,
    TARE_MACHINE_KIND_LIST,
};

struct tare_machine_field {
    const char *group, *name; /* where it is in JSON; NULL ends the table */
    enum tare_machine_kind kind;
    enum tare_machine_weight weight;
    size_t offset;
    double tolerance; /* numbers that differ by less, relatively, count as equal */
};

extern const struct tare_machine_field tare_machine_fields[];

/** The member of a field; the kind says which of these is the right one. */
const char *const *tare_machine_field_text(const struct tare_machine *machine,
                                           const struct tare_machine_field *field);
const int64_t *tare_machine_field_int(const struct tare_machine *machine,
                                      const struct tare_machine_field *field);
const double *tare_machine_field_real(const struct tare_machine *machine,
                                      const struct tare_machine_field *field);
const struct tare_machine_list *tare_machine_field_list(const struct tare_machine *machine,
                                                        const struct tare_machine_field *field);

/** The member itself, to fill it in. */
void *tare_machine_field_slot(struct tare_machine *machine, const struct tare_machine_field *field);

/** Is it there? */
bool tare_machine_field_known(const struct tare_machine *machine, const struct tare_machine_field *field);

#endif
