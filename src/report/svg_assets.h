/* SPDX-License-Identifier: Apache-2.0 */
/* The style and the script of a flame graph: svg_style.css and svg_script.js, put here by the build. */
#ifndef TARE_REPORT_SVG_ASSETS_H
#define TARE_REPORT_SVG_ASSETS_H

extern const char tare_svg_style[];
extern const char tare_svg_script[];

#endif
