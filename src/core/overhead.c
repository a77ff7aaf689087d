/* SPDX-License-Identifier: Apache-2.0 */
#include "core/overhead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"

#define KEY "calibration"

static const char *const names[TARE_COSTS] = {
    [TARE_COST_NONE] = "none",
    [TARE_COST_EXACT] = "exact",
    [TARE_COST_METHOD] = "method",
    [TARE_COST_GENERAL] = "general",
    [TARE_COST_INIT] = "init",
    [TARE_COST_SLOT] = "slot",
    [TARE_COST_GENERATOR] = "generator",
    [TARE_COST_C_NOARGS] = "c_noargs",
    [TARE_COST_C_O] = "c_o",
    [TARE_COST_C_FAST] = "c_fast",
    [TARE_COST_C_FAST_KEYWORDS] = "c_fast_keywords",
    [TARE_COST_C_VARARGS] = "c_varargs",
    [TARE_COST_M_NOARGS] = "m_noargs",
    [TARE_COST_M_O] = "m_o",
    [TARE_COST_M_FAST] = "m_fast",
    [TARE_COST_M_FAST_KEYWORDS] = "m_fast_keywords",
    [TARE_COST_M_VARARGS] = "m_varargs",
    [TARE_COST_LEN] = "len",
    [TARE_COST_ISINSTANCE] = "isinstance",
    [TARE_COST_APPEND] = "append",
    [TARE_COST_FROM_C] = "from_c",
    [TARE_COST_UNWIND] = "unwind",
    [TARE_COST_BLIND] = "blind",
};

const char *tare_cost_name(enum tare_cost cost)
{
    return names[cost];
}

static long long thousandths(double value)
{
    return isfinite(value) && fabs(value) < 1e12 ? llround(value * 1000) : 0;
}

void tare_calibration_write(const struct tare_calibration *c, struct tare_buf *buf)
{
    tare_buf_printf(buf, "dilation %lld %lld, scale %lld, probe %lld", thousandths(c->dilation),
                    thousandths(c->dilation_error), thousandths(c->scale_error), thousandths(c->probe_ns));
    for (int i = TARE_COST_EXACT; i < TARE_COSTS; i++)
        tare_buf_printf(buf, ", %s %lld %lld %lld", names[i], thousandths(c->costs[i].inner),
                        thousandths(c->costs[i].outer), thousandths(c->costs[i].error));
}

/* A number that a cost can be; false for anything else, because a capture is input. */
static bool number(const char **at, double least, double most, double *ret_value)
{
    char *end;
    double value = (double)strtoll(*at, &end, 10) / 1000;
    if (end == *at || !(value >= least && value <= most))
        return false;
    *at = end;
    *ret_value = value;
    return true;
}

static bool read_cost(const char **at, const char *name, struct tare_cost_ns *ret_cost)
{
    size_t length = strlen(name);
    struct tare_cost_ns cost;
    if (strncmp(*at, ", ", 2) != 0 || strncmp(*at + 2, name, length) != 0 || (*at)[2 + length] != ' ')
        return false;
    *at += 2 + length;
    if (!number(at, -1e6, 1e6, &cost.inner) || !number(at, -1e6, 1e6, &cost.outer) ||
        !number(at, 0, 1e6, &cost.error))
        return false;
    *ret_cost = cost;
    return true;
}

bool tare_calibration_read(const char *text, struct tare_calibration *ret_calibration)
{
    struct tare_calibration c = {0};
    const char *at = text;
    if (strncmp(at, "dilation", 8) != 0)
        return false;
    at += 8;
    if (!number(&at, 0.5, 10, &c.dilation) || !number(&at, 0, 10, &c.dilation_error) ||
        strncmp(at, ", scale", 7) != 0)
        return false;
    at += 7;
    if (!number(&at, 0, 10, &c.scale_error) || strncmp(at, ", probe", 7) != 0)
        return false;
    at += 7;
    if (!number(&at, 0, 1e9, &c.probe_ns))
        return false;
    for (int i = TARE_COST_EXACT; i < TARE_COSTS; i++)
        if (!read_cost(&at, names[i], &c.costs[i]))
            return false;
    c.costs[TARE_COST_NONE] = c.costs[TARE_COST_EXACT];
    *ret_calibration = c;
    return true;
}

static void scale(struct tare_calibration *c, double by)
{
    for (int i = 0; i < TARE_COSTS; i++) {
        c->costs[i].inner *= by;
        c->costs[i].outer *= by;
        c->costs[i].error *= by;
    }
}

void tare_calibration_wait(struct tare_calibration *c, double by)
{
    if (by < 1)
        return;
    scale(c, by);
    /* What it waited while it was calibrated does not matter then. */
    c->scale_error = TARE_OVERHEAD_DOUBT;
}

bool tare_calibration_find(const struct tare_profile *profile, struct tare_calibration *ret_calibration)
{
    bool found = false;
    for (uint32_t i = 0; i < tare_profile_comments(profile); i++) {
        const char *text = tare_profile_text(profile, tare_profile_comment_at(profile, i));
        if (strncmp(text, KEY ": ", strlen(KEY ": ")) == 0)
            found = tare_calibration_read(text + strlen(KEY ": "), ret_calibration);
    }
    return found;
}

void tare_calibration_adapt(struct tare_calibration *c, double probe_ns)
{
    double by = c->probe_ns > 0 ? probe_ns / c->probe_ns : 0;
    if (by > 0.1 && by < 10) {
        scale(c, by);
        c->probe_ns = probe_ns;
    }
}

static bool is_python(uint8_t kind)
{
    return kind == TARE_FRAME_PYTHON;
}

/* A correction in progress. */
struct removal {
    struct tare_profile *profile;
    const struct tare_capture_info *info;
    const struct tare_calibration *calibration;
    double *own;          /* per node */
    double *frame_errors; /* per frame, or NULL */
    double calls[TARE_COSTS];
    uint32_t calls_column, wall_column;
    struct tare_overhead total;
};

static const struct tare_frame *frame_of(const struct removal *r, uint32_t node, uint32_t *ret_frame)
{
    *ret_frame = tare_profile_node_at(r->profile, node)->frame;
    return tare_profile_frame_at(r->profile, *ret_frame);
}

/* Is it a context of functions that were recorded, and not node 0 or a thread's root? */
static bool recorded(const struct removal *r, uint32_t node)
{
    uint32_t frame;
    return node != 0 && frame_of(r, node, &frame)->kind != TARE_FRAME_ROOT;
}

/* Take a number of calls of a kind off a node's own time. */
static void take(struct removal *r, uint32_t node, double ns, double error_ns)
{
    uint32_t frame;
    frame_of(r, node, &frame);
    r->own[node] -= ns;
    r->total.taken_ns += ns;
    if (r->frame_errors)
        r->frame_errors[frame] += error_ns + r->calibration->scale_error * fabs(ns);
}

static void take_node(struct removal *r, uint32_t node)
{
    uint32_t frame;
    const struct tare_frame *what = frame_of(r, node, &frame);
    const struct tare_capture_counts *counts = &r->info->counts[node];
    const struct tare_cost_ns *costs = r->calibration->costs;
    uint32_t parent = tare_profile_node_at(r->profile, node)->parent;
    double calls = (double)tare_profile_values(r->profile, node)[r->calls_column];
    if (what->kind != TARE_FRAME_PYTHON && what->kind != TARE_FRAME_BUILTIN && what->kind != TARE_FRAME_MARK)
        return; /* spans are not Python's calls */
    enum tare_cost cost = (enum tare_cost)r->info->costs[frame];
    bool has_caller = recorded(r, parent);
    uint32_t parent_frame;
    if (has_caller && is_python(what->kind) && cost != TARE_COST_GENERATOR &&
        frame_of(r, parent, &parent_frame)->kind == TARE_FRAME_BUILTIN)
        cost = TARE_COST_FROM_C;
    r->calls[cost] += calls;
    take(r, node, calls * costs[cost].inner, calls * costs[cost].error);
    if (counts->blind) {
        r->calls[TARE_COST_BLIND] += (double)counts->blind;
        take(r, node, (double)counts->blind * costs[TARE_COST_BLIND].outer,
             (double)counts->blind * costs[TARE_COST_BLIND].error);
    }
    if (!has_caller)
        return;
    take(r, parent, calls * costs[cost].outer, calls * costs[cost].error);
    if (is_python(what->kind) && counts->unwinds) {
        r->calls[TARE_COST_UNWIND] += (double)counts->unwinds;
        take(r, parent, (double)counts->unwinds * costs[TARE_COST_UNWIND].outer,
             (double)counts->unwinds * costs[TARE_COST_UNWIND].error);
    }
}

/* What is left at least: a call took some time, and a view that goes by time must not lose it. */
static double least(const struct removal *r, uint32_t node)
{
    const int64_t *values = tare_profile_values(r->profile, node);
    double recorded_ns = (double)values[r->wall_column], calls = (double)values[r->calls_column];
    return recorded_ns < calls ? recorded_ns : calls;
}

/* Children first: what a function does not have is its caller's, because it is the border between the two
 * that is least known. */
static double settle(struct removal *r)
{
    double short_ns = 0;
    for (uint32_t node = tare_profile_nodes(r->profile) - 1; node > 0; node--) {
        uint32_t frame, parent = tare_profile_node_at(r->profile, node)->parent;
        const struct tare_frame *what = frame_of(r, node, &frame);
        double dilation = is_python(what->kind) ? r->calibration->dilation : 1;
        double floor_ns = least(r, node);
        if (r->own[node] > floor_ns * dilation) {
            double less = r->own[node] * (1 - 1 / dilation);
            r->total.taken_ns += less;
            r->own[node] -= less;
            if (r->frame_errors && is_python(what->kind))
                r->frame_errors[frame] += r->calibration->scale_error * fabs(less);
            continue;
        }
        double missing = floor_ns - r->own[node];
        r->own[node] = floor_ns;
        r->total.moved_ns += missing;
        if (r->frame_errors)
            r->frame_errors[frame] += missing;
        if (recorded(r, parent))
            r->own[parent] -= missing;
        else
            short_ns += missing;
    }
    r->total.taken_ns -= short_ns;
    return short_ns;
}

/* A time as it is stored; a damaged capture may claim centuries. */
static int64_t whole_ns(double ns)
{
    if (!(ns > 0))
        return 0;
    return ns < 9e18 ? llround(ns) : INT64_MAX;
}

static void remove_overhead(struct removal *r)
{
    uint32_t nodes = tare_profile_nodes(r->profile);
    for (uint32_t node = 1; node < nodes; node++) {
        r->own[node] = (double)tare_profile_values(r->profile, node)[r->wall_column];
        r->total.recorded_ns += r->own[node];
    }
    for (uint32_t node = 1; node < nodes; node++)
        if (recorded(r, node))
            take_node(r, node);
    double short_ns = settle(r);
    double square = 0;
    for (uint32_t node = 1; node < nodes; node++) {
        int64_t now = whole_ns(r->own[node]);
        tare_profile_add(r->profile, node, r->wall_column,
                         now - tare_profile_values(r->profile, node)[r->wall_column]);
    }
    /* Kinds err on their own; what the machine does to all of them at once adds up. */
    for (int i = 0; i < TARE_COSTS; i++) {
        double error = r->calls[i] * r->calibration->costs[i].error;
        square += error * error;
    }
    r->total.error_ns = sqrt(square) + r->calibration->scale_error * fabs(r->total.taken_ns) + short_ns;
}

int tare_overhead_remove(struct tare_profile *profile, const struct tare_capture_info *info,
                         const struct tare_calibration *calibration, double *frame_errors,
                         struct tare_overhead *ret_overhead, struct tare_error *err)
{
    struct removal r = {
        .profile = profile,
        .info = info,
        .calibration = calibration,
        .frame_errors = frame_errors,
        .own = calloc(tare_profile_nodes(profile), sizeof *r.own),
        .calls_column = tare_profile_find_column(profile, "calls"),
        .wall_column = tare_profile_find_column(profile, "wall"),
    };
    if (!r.own)
        return tare_fail_memory(err);
    if (frame_errors)
        memset(frame_errors, 0, tare_profile_frames(profile) * sizeof *frame_errors);
    remove_overhead(&r);
    free(r.own);
    *ret_overhead = r.total;
    return tare_profile_check(profile, err);
}

/* A part of a whole in percent, for a sentence. */
static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static void describe(const struct tare_overhead *overhead, struct tare_buf *buf)
{
    double left = overhead->recorded_ns - overhead->taken_ns;
    double error_ns = hypot(overhead->error_ns, tare_noise_time_doubt_ns(&overhead->noise, left));
    double share_ns =
        hypot(TARE_OVERHEAD_SHARE_DOUBT * overhead->taken_ns, tare_noise_share_doubt_ns(&overhead->noise));
    double points = fmin(100, ceil(percent(share_ns, left)));
    tare_buf_printf(
        buf,
        "recording took about %.3f s, %.0f %% of the run, and is taken off; the %.3f s left are right to "
        "about %.0f %%, shares of it to about %.0f point%s",
        overhead->taken_ns / 1e9, percent(overhead->taken_ns, overhead->recorded_ns), left / 1e9,
        ceil(percent(error_ns, left)), points, points == 1 ? "" : "s");
}

static double recorded_ns(const struct tare_profile *profile, uint32_t wall)
{
    double sum = 0;
    for (uint32_t node = 1; node < tare_profile_nodes(profile); node++)
        sum += (double)tare_profile_values(profile, node)[wall];
    return sum;
}

int tare_overhead_correct(struct tare_profile *profile, const struct tare_capture_info *info,
                          struct tare_overhead *ret_overhead, struct tare_error *err)
{
    struct tare_calibration calibration;
    struct tare_overhead overhead = {0};
    if (!tare_calibration_find(profile, &calibration)) {
        *ret_overhead = (struct tare_overhead){.uncalibrated = 1};
        return 0;
    }
    uint32_t frames = tare_profile_frames(profile), wall = tare_profile_find_column(profile, "wall");
    struct tare_noise noise;
    tare_calibration_adapt(&calibration, info->probe_ns);
    tare_calibration_wait(&calibration, tare_noise_find(profile, info, recorded_ns(profile, wall), &noise));
    double *errors = calloc((size_t)frames * 2 + 1, sizeof *errors);
    if (!errors)
        return tare_fail_memory(err);
    int rc = tare_overhead_remove(profile, info, &calibration, errors, &overhead, err);
    double *own = errors + frames;
    for (uint32_t node = 1; rc == 0 && node < tare_profile_nodes(profile); node++)
        own[tare_profile_node_at(profile, node)->frame] += (double)tare_profile_values(profile, node)[wall];
    if (rc == 0)
        tare_overhead_find_doubts(profile, own, errors, &overhead);
    free(errors);
    if (rc < 0)
        return -1;
    overhead.noise = noise;
    struct tare_buf buf;
    tare_buf_init(&buf, 640);
    tare_buf_add_text(&buf, "correction: ");
    describe(&overhead, &buf);
    tare_profile_add_comment(profile, buf.data, buf.length);
    tare_buf_finish(&buf);
    *ret_overhead = overhead;
    return tare_profile_check(profile, err);
}

void tare_overhead_add(struct tare_overhead *sum, const struct tare_overhead *other)
{
    sum->recorded_ns += other->recorded_ns;
    sum->taken_ns += other->taken_ns;
    sum->moved_ns += other->moved_ns;
    sum->error_ns += other->error_ns;
    sum->uncalibrated += other->uncalibrated;
    tare_noise_add(&sum->noise, &other->noise);
    tare_overhead_add_doubts(sum, other);
}

void tare_overhead_note(struct tare_profile *profile, const struct tare_overhead *overhead)
{
    if (overhead->uncalibrated)
        tare_profile_note(profile, "times hold what recording cost: %u capture%s no calibration",
                          overhead->uncalibrated, overhead->uncalibrated == 1 ? " has" : "s have");
    if (overhead->recorded_ns <= 0)
        return;
    struct tare_buf buf;
    tare_buf_init(&buf, 640);
    describe(overhead, &buf);
    tare_profile_note(profile, "%s", buf.data);
    tare_buf_finish(&buf);
    tare_overhead_note_doubts(profile, overhead);
}
