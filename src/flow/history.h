/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of runs, told as trends: read, ordered by time, taken apart by benchmark, configuration, metric
 * and machine, and searched for changes. A change that somebody has acknowledged stays quiet: its id and the
 * reason stand in acknowledged.txt in the folder.
 */
#ifndef TARE_FLOW_HISTORY_H
#define TARE_FLOW_HISTORY_H

#include "base/arena.h"
#include "base/error.h"
#include "core/trend.h"

/** Read all runs of a folder and judge them. match, if not NULL, keeps only metrics and configurations whose
 * "metric @ configuration" contains it. */
int tare_history_read(const char *folder, const char *match, struct tare_arena *arena,
                      struct tare_trends *ret_trends, struct tare_error *err);

/** Acknowledge the change with this id: it must be there. */
int tare_history_acknowledge(const char *folder, const struct tare_trends *trends, const char *id,
                             const char *reason, struct tare_error *err);

#endif
