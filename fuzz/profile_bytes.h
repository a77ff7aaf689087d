/* SPDX-License-Identifier: Apache-2.0 */
/* What the targets that read profiles share: bytes become a profile, and a profile becomes bytes. */
#ifndef TARE_FUZZ_PROFILE_BYTES_H
#define TARE_FUZZ_PROFILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

/** Recognise and read; NULL when it is refused, which takes one line of reason. */
struct tare_profile *profile_from_bytes(const struct tare_reader *reader, const void *data, size_t size);

/** Write a view into memory; false if it is too large. Afterwards tare_out_finish. */
bool profile_to_bytes(const struct tare_writer *writer, const struct tare_profile *profile,
                      struct tare_out *out);

/** Did both write the same? */
bool bytes_equal(const struct tare_out *a, const struct tare_out *b);

#endif
