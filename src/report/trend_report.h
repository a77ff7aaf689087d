/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers of trends: a table with sparklines, JSON, and an SVG with one panel a trend. Pure functions of
 * const data; names come from other people's files and are escaped.
 */
#ifndef TARE_REPORT_TREND_REPORT_H
#define TARE_REPORT_TREND_REPORT_H

#include "base/arena.h"
#include "base/out.h"
#include "core/trend.h"

/** The table, then a sentence for every change; acknowledged and gone ones are only counted unless all. */
void tare_trends_text(const struct tare_trends *trends, bool all, struct tare_out *out);

void tare_trends_json(const struct tare_trends *trends, struct tare_out *out);

void tare_trends_svg(const struct tare_trends *trends, struct tare_out *out);

/** A change in a sentence. */
const char *tare_trend_sentence(const struct tare_trend *trend, const struct tare_trend_change *change,
                                struct tare_arena *arena);

#endif
