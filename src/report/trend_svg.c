/* SPDX-License-Identifier: Apache-2.0 */
/* Trends as a picture: one panel each, points in the order of time, changes marked where they begin. */
#include <math.h>
#include <string.h>

#include "report/run_report.h"
#include "report/svg_text.h"
#include "report/trend_report.h"

enum { WIDTH = 960, PANEL = 150, LEFT = 110, RIGHT = 20, TOP = 34, BOTTOM = 26, PANELS_MOST = 200 };

static const char style[] =
    "<style>svg{font:12px system-ui,sans-serif;background:#fff}text{fill:#1c2430}.dim{fill:#6b7686}"
    ".frame{fill:none;stroke:#d8dde5}.line{fill:none;stroke:#8aa4c8;stroke-width:1}.dot{fill:#2f6db5}"
    ".worse{stroke:#c0392b;fill:#c0392b}.better{stroke:#1e8449;fill:#1e8449}.quiet{stroke:#9aa5b1;fill:#"
    "9aa5b1}"
    ".level{stroke-width:2;stroke-dasharray:5 3}"
    "@media (prefers-color-scheme:dark){svg{background:#14181f}text{fill:#e4e9f0}.dim{fill:#93a0b0}"
    ".frame{stroke:#323a46}.line{stroke:#48648c}.dot{fill:#7fb2ef}.worse{stroke:#ff7b6b;fill:#ff7b6b}"
    ".better{stroke:#58d68d;fill:#58d68d}}</style>\n";

/* Where values go in one panel. */
struct scale {
    double low, high;
    double top; /* of the panel in the picture */
    size_t count;
};

static double x_of(const struct scale *scale, size_t point)
{
    double width = WIDTH - LEFT - RIGHT;
    return LEFT + (scale->count > 1 ? width * (double)point / (double)(scale->count - 1) : width / 2);
}

static double y_of(const struct scale *scale, double value)
{
    double height = PANEL - TOP - BOTTOM;
    return scale->top + TOP + height * (scale->high - value) / (scale->high - scale->low);
}

static struct scale scale_of(const struct tare_trend *trend, size_t panel)
{
    struct scale scale = {
        .low = INFINITY, .high = -INFINITY, .top = (double)panel * PANEL, .count = trend->count};
    for (size_t i = 0; i < trend->count; i++) {
        scale.low = fmin(scale.low, trend->points[i].value);
        scale.high = fmax(scale.high, trend->points[i].value);
    }
    /* Noise must not look like mountains. */
    double least = 0.1 * scale.high, span = scale.high - scale.low;
    if (span < least) {
        scale.low -= (least - span) / 2;
        scale.high += (least - span) / 2;
    }
    return scale;
}

static void put_text(struct tare_out *out, double x, double y, const char *more, const char *text)
{
    tare_out_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
    tare_svg_escape(out, text, strlen(text));
    tare_out_text(out, "</text>\n");
}

static void put_change(struct tare_out *out, const struct tare_trend *trend, const struct scale *scale,
                       const struct tare_trend_change *change, struct tare_arena *arena)
{
    const char *kind = change->reason || change->gone ? "quiet" : change->worse ? "worse" : "better";
    const char *sentence = tare_trend_sentence(trend, change, arena);
    double x = x_of(scale, change->first), end = x_of(scale, change->last);
    tare_out_printf(out, "<g class=\"%s\"><title>", kind);
    tare_svg_escape(out, sentence, strlen(sentence));
    tare_out_text(out, "</title>");
    if (!change->drift)
        tare_out_printf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, x,
                        scale->top + TOP, scale->top + PANEL - BOTTOM);
    tare_out_printf(out, "<line class=\"level\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x, end,
                    y_of(scale, change->drift ? change->before : change->after), y_of(scale, change->after));
    tare_out_printf(out, "<text class=\"%s\" stroke=\"none\" x=\"%.1f\" y=\"%.1f\">%+.1f %%</text></g>\n",
                    kind, fmin(x + 4, WIDTH - 60), scale->top + TOP + 12, 100 * (change->ratio - 1));
}

static void put_panel(struct tare_out *out, const struct tare_trend *trend, size_t panel,
                      struct tare_arena *arena)
{
    struct scale scale = scale_of(trend, panel);
    const char *title = tare_arena_printf(arena, *trend->label ? "%s  %s @ %s" : "%s  %s%s", trend->benchmark,
                                          trend->metric, trend->label);
    put_text(out, LEFT, scale.top + 20, " font-weight=\"600\"", title);
    tare_out_printf(out, "<rect class=\"frame\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n", LEFT,
                    scale.top + TOP, WIDTH - LEFT - RIGHT, PANEL - TOP - BOTTOM);
    const char *end = " class=\"dim\" text-anchor=\"end\"";
    put_text(out, LEFT - 6, scale.top + TOP + 10, end,
             tare_arena_printf(arena, "%s %s", tare_run_number(arena, scale.high), trend->unit));
    put_text(out, LEFT - 6, scale.top + PANEL - BOTTOM, end, tare_run_number(arena, scale.low));
    put_text(out, LEFT, scale.top + PANEL - 10, " class=\"dim\"", trend->points[0].timestamp);
    put_text(out, WIDTH - RIGHT, scale.top + PANEL - 10, end, trend->points[trend->count - 1].timestamp);
    tare_out_text(out, "<polyline class=\"line\" points=\"");
    for (size_t i = 0; i < trend->count; i++)
        tare_out_printf(out, "%.1f,%.1f ", x_of(&scale, i), y_of(&scale, trend->points[i].value));
    tare_out_text(out, "\"/>\n");
    for (size_t i = 0; trend->count <= 500 && i < trend->count; i++)
        tare_out_printf(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>", x_of(&scale, i),
                        y_of(&scale, trend->points[i].value));
    tare_out_text(out, "\n");
    for (size_t i = 0; i < trend->changes_count; i++)
        put_change(out, trend, &scale, &trend->changes[i], arena);
}

void tare_trends_svg(const struct tare_trends *trends, struct tare_out *out)
{
    struct tare_arena arena;
    struct tare_error err;
    size_t panels = trends->count < PANELS_MOST ? trends->count : PANELS_MOST;
    tare_arena_init(&arena, 0);
    tare_out_printf(out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                    "viewBox=\"0 0 %d %zu\">\n",
                    WIDTH, panels * PANEL + 24, WIDTH, panels * PANEL + 24);
    tare_out_text(out, style);
    for (size_t i = 0; i < panels; i++)
        put_panel(out, &trends->items[i], i, &arena);
    if (panels < trends->count)
        put_text(out, LEFT, (double)(panels * PANEL + 16), " class=\"dim\"",
                 tare_arena_printf(&arena, "%zu more are not drawn", trends->count - panels));
    tare_out_text(out, "</svg>\n");
    if (tare_arena_check(&arena, &err))
        tare_out_fail(out, &err);
    tare_arena_finish(&arena);
}
