/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for SVG. Names come from other people's programs, and an XML parser refuses a whole file for one wrong
 * character: whatever XML cannot hold is replaced by a visible sign, and so are characters that reorder the
 * text around them. Pure functions.
 */
#ifndef TARE_REPORT_SVG_TEXT_H
#define TARE_REPORT_SVG_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/out.h"

/** Write text as XML character data, good inside an attribute too. */
void tare_svg_escape(struct tare_out *out, const char *text, size_t length);

/** Write as much of text as fits into that many columns of a fixed-width font, ending in an ellipsis if it
 * was cut. Characters that may be drawn wide count as two columns. */
void tare_svg_label(struct tare_out *out, const char *text, size_t length, unsigned columns);

#endif
