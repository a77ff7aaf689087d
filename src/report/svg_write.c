/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph: one SVG file that needs nothing else. The root is at the top and calls go downwards, so
 * that a deep stack opens where it begins; the heaviest of a function's calls is at the left. What is written
 * here is a complete picture; svg_script.js makes it interactive where scripts run.
 *
 * A difference is drawn with the new widths, and red or blue by how much a frame and all below it changed, in
 * percent of the larger total: the path to what changed stands out, and noise in small frames does not.
 */
#include <inttypes.h>
#include <string.h>

#include "core/pairs.h"
#include "report/amount.h"
#include "report/report.h"
#include "report/svg_assets.h"
#include "report/svg_layout.h"
#include "report/svg_text.h"

enum {
    WIDTH = 1200,
    PAD = 10,           /* left and right of the frames; svg_script.js has the same */
    TOP = 70,           /* where the frames begin, without a legend */
    LEGEND = 22,        /* its height */
    ROW = 19,           /* from one row to the next */
    BAR = 18,           /* a frame's height */
    BOTTOM = 34,        /* below the frames */
    BASELINE = 13,      /* of a label in its frame */
    HUES = 3,           /* of each kind, in two lightnesses */
    TEXT_COLUMNS = 400, /* of a name in a tooltip */
    TITLE_COLUMNS = 90,
    COLUMN_COLUMNS = 40, /* of a column's name */
};

static const double gap = 0.6, inset = 4, column_width = 7.4;

/* A change in four steps, by its share of the larger total. */
static const double change_steps[] = {0.002, 0.01, 0.03, 0.1};

struct svg {
    struct tare_svg_layout layout;
    const struct tare_profile *original;
    const struct tare_view *view;
    struct tare_out *out;
    const char *unit;
    uint32_t top;                    /* where the frames begin */
    bool kinds[TARE_FRAME_MARK + 1]; /* which occur */
};

static void put_text(struct svg *svg, const char *text)
{
    tare_svg_escape(svg->out, text, strlen(text));
}

static void put_string(struct svg *svg, uint32_t string, unsigned columns)
{
    const struct tare_profile *profile = svg->layout.stacks.profile;
    tare_svg_label(svg->out, tare_profile_text(profile, string), tare_profile_text_length(profile, string),
                   columns);
}

/* "12.3 ms"; of what is only counted the column says what it is: "665 samples". */
static void put_amount(struct svg *svg, int64_t value)
{
    const struct tare_stacks *stacks = &svg->layout.stacks;
    char text[TARE_AMOUNT_TEXT];
    put_text(svg, tare_amount_format(text, sizeof text, value, svg->unit));
    if (strncmp(svg->unit, "count", 5) == 0) {
        const char *column = tare_profile_column_name(stacks->profile, stacks->column);
        tare_out_text(svg->out, " ");
        tare_svg_label(svg->out, column, strlen(column), COLUMN_COLUMNS);
    }
}

static void put_share(struct svg *svg, int64_t part, int64_t whole)
{
    char text[TARE_AMOUNT_TEXT];
    put_text(svg, tare_share_format(text, sizeof text, part, whole));
}

static void put_count(struct svg *svg, uint64_t count)
{
    char text[TARE_UNITS_TEXT];
    put_text(svg, tare_count_format(text, sizeof text, count));
}

/* From before to after: "+12.3 ms, +4.5 %". */
static void put_change(struct svg *svg, int64_t before, int64_t after)
{
    char text[TARE_AMOUNT_TEXT];
    put_text(svg, tare_change_format(text, sizeof text, after - before, svg->unit));
    if (before > 0 && after != before)
        tare_out_printf(svg->out, ", %+.1f %%", 100 * ((double)after - (double)before) / (double)before);
    else if (before == 0 && after > 0)
        tare_out_text(svg->out, ", new");
}

/* A coordinate without needless zeros. */
static void put_px(struct svg *svg, double value)
{
    char text[40];
    int length = snprintf(text, sizeof text, "%.2f", value);
    while (length > 1 && text[length - 1] == '0')
        length--;
    if (length > 1 && text[length - 1] == '.')
        length--;
    tare_out_add(svg->out, text, (size_t)length);
}

/* How strong a change is, from -4 to 4. */
static int change_step(const struct svg *svg, int64_t change)
{
    const struct tare_svg_layout *layout = &svg->layout;
    int64_t whole = layout->total > layout->total_before ? layout->total : layout->total_before;
    double share = whole > 0 ? (double)change / (double)whole : 0;
    int step = 0;
    while (step < 4 && (share < 0 ? -share : share) >= change_steps[step])
        step++;
    return share < 0 ? -step : step;
}

/* FNV-1a: the same on every machine. */
static uint32_t name_hash(const struct tare_profile *profile, uint32_t string)
{
    uint32_t hash = 2166136261u;
    const char *text = tare_profile_text(profile, string);
    for (size_t i = 0; i < tare_profile_text_length(profile, string); i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash >> 8;
}

/* The hue follows the file, so that functions of one file look alike, and the lightness the name; both are
 * the same in every picture. */
static unsigned shade(const struct tare_profile *profile, const struct tare_frame *frame)
{
    uint32_t home = frame->file ? frame->file : frame->module ? frame->module : frame->name;
    return 2 * (name_hash(profile, home) % HUES) + (name_hash(profile, frame->name) & 1);
}

static const struct {
    char letter; /* in svg_style.css */
    const char *words;
} kinds[] = {
    [TARE_FRAME_OTHER] = {'o', "other"},       [TARE_FRAME_ROOT] = {'r', "thread"},
    [TARE_FRAME_PYTHON] = {'p', "Python"},     [TARE_FRAME_BUILTIN] = {'b', "built-in"},
    [TARE_FRAME_NATIVE] = {'n', "native"},     [TARE_FRAME_SPAN] = {'s', "span"},
    [TARE_FRAME_MARK] = {'m', "made by tare"},
};

static void put_colour(struct svg *svg, uint32_t node)
{
    const struct tare_svg_layout *layout = &svg->layout;
    if (layout->before) {
        int step = change_step(svg, layout->totals[node] - layout->before[node]);
        tare_out_printf(svg->out, "%c%d", step > 0 ? 'u' : step < 0 ? 'l' : 'd', step < 0 ? -step : step);
        return;
    }
    const struct tare_frame *frame = node ? tare_stacks_frame(&layout->stacks, node) : NULL;
    uint8_t kind = frame ? frame->kind : TARE_FRAME_ROOT;
    bool plain = kind == TARE_FRAME_ROOT || kind == TARE_FRAME_MARK;
    tare_out_printf(svg->out, "%c%u", kinds[kind].letter, plain ? 0 : shade(layout->stacks.profile, frame));
}

/* Where a function is, or else what it is. */
static void put_place(struct svg *svg, const struct tare_frame *frame)
{
    if (frame->file) {
        put_string(svg, frame->file, TEXT_COLUMNS);
        if (frame->first_line)
            tare_out_printf(svg->out, ":%" PRIu32, frame->first_line);
    } else if (frame->module) {
        put_string(svg, frame->module, TEXT_COLUMNS);
    } else if (frame->kind != TARE_FRAME_OTHER) {
        put_text(svg, kinds[frame->kind].words);
    }
}

/* The tooltip: name, place, and what it weighs, a line each. */
static void put_title(struct svg *svg, uint32_t node)
{
    const struct tare_svg_layout *layout = &svg->layout;
    const struct tare_profile *profile = layout->stacks.profile;
    struct tare_out *out = svg->out;
    int64_t value = layout->totals[node];
    int64_t own = tare_profile_values(profile, node)[layout->stacks.column];
    tare_out_text(out, "<title>");
    if (node) {
        const struct tare_frame *frame = tare_stacks_frame(&layout->stacks, node);
        put_string(svg, frame->name, TEXT_COLUMNS);
        tare_out_text(out, "\n");
        put_place(svg, frame);
    } else {
        tare_out_text(out, "all\n");
    }
    tare_out_text(out, "\n");
    put_amount(svg, value);
    if (node) {
        tare_out_text(out, ", ");
        put_share(svg, value, layout->total);
        tare_out_text(out, " of total, ");
        put_share(svg, value, layout->totals[tare_profile_node_at(profile, node)->parent]);
        tare_out_text(out, " of parent");
    }
    if (own > 0 && own != value) {
        tare_out_text(out, "\n");
        put_amount(svg, own);
        tare_out_text(out, " in itself");
    }
    if (layout->before) {
        tare_out_text(out, "\nbefore ");
        put_amount(svg, layout->before[node]);
        tare_out_text(out, ", change ");
        put_change(svg, layout->before[node], value);
    }
    tare_out_text(out, "</title>");
}

static void put_frame(void *context, uint32_t node, uint32_t row, int64_t start)
{
    struct svg *svg = context;
    const struct tare_svg_layout *layout = &svg->layout;
    struct tare_out *out = svg->out;
    double x = PAD + (double)start * layout->scale, room = (double)layout->totals[node] * layout->scale;
    double width = room - gap > room / 2 ? room - gap : room / 2;
    uint32_t y = svg->top + ROW * row;
    tare_out_printf(out, "<g data-f=\"%" PRId64 ",%" PRId64 ",%" PRIu32 "\">", start, layout->totals[node],
                    row);
    put_title(svg, node);
    tare_out_text(out, "<rect class=\"");
    put_colour(svg, node);
    tare_out_text(out, "\" x=\"");
    put_px(svg, x);
    tare_out_printf(out, "\" y=\"%" PRIu32 "\" width=\"", y);
    put_px(svg, width);
    tare_out_printf(out, "\" height=\"%d\"%s/>", BAR, width > 3 ? " rx=\"2\"" : "");
    int columns = (int)((width - 2 * inset) / column_width);
    if (columns >= 3) {
        tare_out_text(out, "<text x=\"");
        put_px(svg, x + inset);
        tare_out_printf(out, "\" y=\"%" PRIu32 "\">", y + BASELINE);
        if (node)
            put_string(svg, tare_stacks_frame(&layout->stacks, node)->name, (unsigned)columns);
        else
            tare_out_text(out, "all");
        tare_out_text(out, "</text>");
    }
    tare_out_text(out, "</g>\n");
}

static void note_kind(void *context, uint32_t node, uint32_t row, int64_t start)
{
    struct svg *svg = context;
    (void)row;
    (void)start;
    if (node)
        svg->kinds[tare_stacks_frame(&svg->layout.stacks, node)->kind] = true;
}

/* What the profile says about the command it is of; NULL if nothing. */
static const char *command_of(const struct tare_profile *profile)
{
    static const char *const keys[] = {"command: ", "command="};
    for (uint32_t i = 0; i < tare_profile_comments(profile); i++) {
        const char *comment = tare_profile_text(profile, tare_profile_comment_at(profile, i));
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (strncmp(comment, keys[k], strlen(keys[k])) == 0)
                return comment + strlen(keys[k]);
    }
    return NULL;
}

static void put_heading(struct svg *svg)
{
    const struct tare_svg_layout *layout = &svg->layout;
    const struct tare_stacks *stacks = &layout->stacks;
    const char *command = command_of(svg->original);
    const char *title = svg->view->title ? svg->view->title
                        : command        ? command
                        : layout->before ? "What changed"
                                         : "Flame graph";
    struct tare_out *out = svg->out;
    tare_out_text(out, "<title>");
    tare_svg_label(out, title, strlen(title), TEXT_COLUMNS);
    tare_out_printf(out, "</title>\n<text class=\"title\" x=\"%d\" y=\"32\">", PAD);
    tare_svg_label(out, title, strlen(title), TITLE_COLUMNS);
    tare_out_printf(out, "</text>\n<text class=\"note\" x=\"%d\" y=\"54\">", PAD);
    if (strncmp(svg->unit, "count", 5) != 0) {
        const char *column = tare_profile_column_name(stacks->profile, stacks->column);
        tare_svg_label(out, column, strlen(column), COLUMN_COLUMNS);
        tare_out_text(out, ": ");
    }
    if (layout->before) {
        put_amount(svg, layout->total_before);
        tare_out_text(out, " before, ");
        put_amount(svg, layout->total);
        tare_out_text(out, " after, ");
        put_change(svg, layout->total_before, layout->total);
    } else {
        put_amount(svg, layout->total);
        tare_out_text(out, " in total");
    }
    if (tare_stacks_estimated(stacks))
        tare_out_text(out, ", " TARE_PAIRS_ESTIMATED);
    if (svg->view->match) {
        tare_out_text(out, ", only stacks with ");
        tare_svg_label(out, svg->view->match, strlen(svg->view->match), COLUMN_COLUMNS);
    }
    tare_out_text(out, "</text>\n");
}

static double put_swatch(struct svg *svg, double x, const char *colour, const char *words)
{
    tare_out_printf(svg->out, "<rect class=\"%s\" x=\"%.1f\" y=\"66\" width=\"12\" height=\"12\" rx=\"2\"/>",
                    colour, x);
    if (*words)
        tare_out_printf(svg->out, "<text class=\"note\" x=\"%.1f\" y=\"76\">%s</text>", x + 17, words);
    tare_out_text(svg->out, "\n");
    return x + (*words ? 17 + 6.4 * (double)strlen(words) + 16 : 14);
}

static const uint8_t legend_order[] = {TARE_FRAME_PYTHON, TARE_FRAME_BUILTIN, TARE_FRAME_NATIVE,
                                       TARE_FRAME_SPAN,   TARE_FRAME_OTHER,   TARE_FRAME_MARK};

/* One colour needs no explanation. */
static bool has_legend(const struct svg *svg)
{
    unsigned different = 0;
    for (size_t i = 0; i < sizeof legend_order; i++)
        different += svg->kinds[legend_order[i]];
    return svg->layout.before || different > 1;
}

/* Which colour means what. */
static void put_legend(struct svg *svg)
{
    double x = PAD;
    if (!svg->layout.before) {
        for (size_t i = 0; i < sizeof legend_order; i++) {
            uint8_t kind = legend_order[i];
            char colour[] = {kinds[kind].letter, kind == TARE_FRAME_MARK ? '0' : '2', '\0'};
            if (svg->kinds[kind])
                x = put_swatch(svg, x, colour, kinds[kind].words);
        }
        return;
    }
    static const char *const ramp[] = {"l4", "l3", "l2", "l1", "d0", "u1", "u2", "u3", "u4"};
    tare_out_printf(svg->out, "<text class=\"note\" x=\"%.1f\" y=\"76\">less</text>\n", x);
    x += 30;
    for (size_t i = 0; i < sizeof ramp / sizeof *ramp; i++)
        x = put_swatch(svg, x, ramp[i], "");
    tare_out_printf(
        svg->out,
        "<text class=\"note\" x=\"%.1f\" y=\"76\">more, in steps from %g, %g, %g and %g %% of the total; "
        "widths show after</text>\n",
        x + 4, 100 * change_steps[0], 100 * change_steps[1], 100 * change_steps[2], 100 * change_steps[3]);
}

/* What is not in the picture. */
static void put_footer(struct svg *svg, uint32_t y)
{
    const struct tare_svg_layout *layout = &svg->layout;
    struct tare_out *out = svg->out;
    uint32_t left_out = layout->drawable - layout->drawn;
    const char *joint = "";
    tare_out_printf(out, "<text class=\"note\" x=\"%d\" y=\"%" PRIu32 "\">", PAD, y);
    if (layout->total <= 0) {
        tare_out_text(out, "There is nothing to show: no value is above zero");
        joint = "; ";
    }
    if (left_out) {
        put_count(svg, left_out);
        tare_out_printf(out, " frame%s narrower than ", left_out == 1 ? "" : "s");
        put_px(svg, (double)layout->threshold * layout->scale);
        if (layout->rows == TARE_SVG_ROWS)
            tare_out_printf(out, " px or below row %d", TARE_SVG_ROWS);
        else
            tare_out_text(out, " px");
        tare_out_printf(out, " left out (");
        put_share(svg, layout->left_out, layout->total);
        tare_out_text(out, " of the total)");
        joint = "; ";
    }
    if (layout->gone_count) {
        tare_out_text(out, joint);
        put_count(svg, layout->gone_count);
        tare_out_printf(out, " context%s with ", layout->gone_count == 1 ? "" : "s");
        put_amount(svg, layout->gone);
        tare_out_printf(out, " before %s gone and without width", layout->gone_count == 1 ? "is" : "are");
        joint = "; ";
    }
    if (layout->negative)
        tare_out_printf(out, "%svalues below zero have no width", joint);
    tare_out_text(out, "</text>\n");
}

static void put_page(struct svg *svg)
{
    const struct tare_svg_layout *layout = &svg->layout;
    struct tare_out *out = svg->out;
    uint32_t height = svg->top + ROW * layout->rows + BOTTOM;
    tare_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    tare_out_printf(out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tare\" width=\"%d\" height=\"%" PRIu32
                    "\" viewBox=\"0 0 %d %" PRIu32 "\">\n",
                    WIDTH, height, WIDTH, height);
    tare_out_text(out, "<style><![CDATA[\n");
    tare_out_text(out, tare_svg_style);
    tare_out_text(out, "]]></style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    put_heading(svg);
    if (has_legend(svg))
        put_legend(svg);
    tare_out_text(out, "<g class=\"frames\">\n");
    tare_svg_layout_each(layout, put_frame, svg);
    tare_out_text(out, "</g>\n");
    put_footer(svg, height - BOTTOM + 20);
    tare_out_text(out, "<script><![CDATA[\n");
    tare_out_text(out, tare_svg_script);
    tare_out_text(out, "]]></script>\n</svg>\n");
}

static void svg_write(const struct tare_profile *profile, const struct tare_view *view, struct tare_out *out)
{
    struct svg svg = {.original = profile, .view = view, .out = out};
    struct tare_error err;
    if (tare_svg_layout_init(&svg.layout, profile, view, WIDTH - 2 * PAD, &err) < 0) {
        tare_out_fail(out, &err);
        return;
    }
    const struct tare_stacks *stacks = &svg.layout.stacks;
    svg.unit = tare_profile_column_unit(stacks->profile, stacks->column);
    tare_svg_layout_each(&svg.layout, note_kind, &svg);
    svg.top = has_legend(&svg) ? TOP + LEGEND : TOP;
    put_page(&svg);
    tare_svg_layout_finish(&svg.layout);
}

const struct tare_writer tare_writer_svg = {
    .name = "svg",
    .extensions = ".svg",
    .summary = "flame graph to look at in a browser, root at the top",
    .write = svg_write,
};
