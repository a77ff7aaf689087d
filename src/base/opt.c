/* SPDX-License-Identifier: Apache-2.0 */
#include "base/opt.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"

static const struct tare_opt no_options[] = {{.name = NULL}};

struct parser {
    const struct tare_opt *options;
    const struct tare_opt_pass *pass;
    char *const *argv;
    int argc, at; /* at: the next argument to look at */
    struct tare_arena *arena;
    char *values;
    const char ***items; /* per option: a list's values so far; NULL until it is given */
    const char **operands;
    size_t operand_count;
    struct tare_error *err;
};

const char *tare_opt_choice_name(const struct tare_opt *opt, size_t index)
{
    if (opt->choice)
        return opt->choice(index);
    for (size_t i = 0; opt->choices && opt->choices[i]; i++)
        if (i == index)
            return opt->choices[i];
    return NULL;
}

/* An option as it was typed, for messages: "-o" or "--output". */
struct typed {
    char text[48];
};

static struct typed typed_long(const char *name, size_t length)
{
    struct typed typed;
    snprintf(typed.text, sizeof typed.text, "--%.*s", length < 40 ? (int)length : 40, name);
    return typed;
}

static struct typed typed_letter(char letter)
{
    return (struct typed){.text = {'-', letter}};
}

static const struct tare_opt *find_long(const struct tare_opt *options, const char *name, size_t length)
{
    for (const struct tare_opt *opt = options; opt->name; opt++)
        if (strlen(opt->name) == length && memcmp(opt->name, name, length) == 0)
            return opt;
    return NULL;
}

static const struct tare_opt *find_letter(const struct tare_opt *options, char letter)
{
    for (const struct tare_opt *opt = options; opt->name; opt++)
        if (opt->letter && opt->letter == letter)
            return opt;
    return NULL;
}

static int fail_unknown_long(struct parser *parser, const char *name, size_t length)
{
    struct typed typed = typed_long(name, length);
    struct tare_suggest suggest = {0};
    for (const struct tare_opt *opt = parser->options; opt->name; opt++)
        tare_suggest_offer(&suggest, typed.text + 2, opt->name);
    tare_suggest_offer(&suggest, typed.text + 2, "help");
    if (suggest.best)
        return tare_fail(parser->err, TARE_E_USAGE, 0, "unknown option '%s'; did you mean '--%s'?",
                         typed.text, suggest.best);
    return tare_fail(parser->err, TARE_E_USAGE, 0, "unknown option '%s'", typed.text);
}

static int fail_unknown_letter(struct parser *parser, char letter, const char *whole)
{
    /* -output: one dash too few. */
    size_t length = strcspn(whole + 1, "=");
    if (length > 1 && find_long(parser->options, whole + 1, length))
        return tare_fail(parser->err, TARE_E_USAGE, 0, "unknown option '%.40s'; did you mean '-%.40s'?",
                         whole, whole);
    return tare_fail(parser->err, TARE_E_USAGE, 0, "unknown option '-%c'", letter);
}

/* Say which option it was in front of what is wrong with its value. */
static int fail_value(struct parser *parser, const struct typed *typed, const char *what)
{
    return tare_fail(parser->err, TARE_E_USAGE, 0, "option '%s': %s", typed->text, what);
}

static int set_integer(struct parser *parser, const struct tare_opt *opt, const struct typed *typed,
                       const char *text)
{
    struct tare_error inner;
    bool negative = text[0] == '-';
    uint64_t size;
    if (tare_count_parse(text + negative, &size, &inner) < 0)
        return fail_value(parser, typed, inner.msg);
    if (size > (uint64_t)INT64_MAX)
        return fail_value(parser, typed, "it is too large");
    int64_t value = negative ? -(int64_t)size : (int64_t)size;
    if (opt->min < opt->max && ((double)value < opt->min || (double)value > opt->max))
        return tare_fail(parser->err, TARE_E_USAGE, 0, "option '%s': %.40s is out of range (%.0f to %.0f)",
                         typed->text, text, opt->min, opt->max);
    memcpy(parser->values + opt->offset, &value, sizeof value);
    return 0;
}

static int set_real(struct parser *parser, const struct tare_opt *opt, const struct typed *typed,
                    const char *text)
{
    struct tare_error inner;
    double value;
    if (tare_real_parse(text, &value, &inner) < 0)
        return fail_value(parser, typed, inner.msg);
    if (opt->min < opt->max && (value < opt->min || value > opt->max))
        return tare_fail(parser->err, TARE_E_USAGE, 0, "option '%s': %.40s is out of range (%g to %g)",
                         typed->text, text, opt->min, opt->max);
    memcpy(parser->values + opt->offset, &value, sizeof value);
    return 0;
}

static int set_choice(struct parser *parser, const struct tare_opt *opt, const struct typed *typed,
                      const char *text)
{
    struct tare_suggest suggest = {0};
    char list[160] = "";
    size_t length = 0;
    const char *name;
    for (size_t i = 0; (name = tare_opt_choice_name(opt, i)); i++) {
        if (strcmp(name, text) == 0) {
            int value = (int)i;
            memcpy(parser->values + opt->offset, &value, sizeof value);
            return 0;
        }
        tare_suggest_offer(&suggest, text, name);
        if (length < sizeof list)
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", name);
    }
    if (suggest.best)
        return tare_fail(parser->err, TARE_E_USAGE, 0, "option '%s': unknown %s '%.40s'; did you mean '%s'?",
                         typed->text, opt->arg, text, suggest.best);
    return tare_fail(parser->err, TARE_E_USAGE, 0, "option '%s': unknown %s '%.40s' (use one of: %s%s)",
                     typed->text, opt->arg, text, list, length < sizeof list ? "" : "...");
}

/* One more value for a list; the first replaces the defaults. */
static int set_item(struct parser *parser, const struct tare_opt *opt, const char *text)
{
    const char ***items = &parser->items[opt - parser->options];
    struct tare_opt_list list = {0};
    if (*items)
        memcpy(&list, parser->values + opt->offset, sizeof list);
    else
        *items = tare_arena_array(parser->arena, (size_t)parser->argc, sizeof **items);
    if (!*items)
        return tare_fail_memory(parser->err);
    (*items)[list.count++] = text;
    list.items = *items;
    memcpy(parser->values + opt->offset, &list, sizeof list);
    return 0;
}

static int set_value(struct parser *parser, const struct tare_opt *opt, const struct typed *typed,
                     const char *text)
{
    struct tare_error inner;
    int64_t ns;
    uint64_t bytes;
    switch (opt->kind) {
    case TARE_OPT_FLAG: /* takes none; the caller has said so */
        break;
    case TARE_OPT_TEXT:
        memcpy(parser->values + opt->offset, &text, sizeof text);
        break;
    case TARE_OPT_INTEGER:
        return set_integer(parser, opt, typed, text);
    case TARE_OPT_REAL:
        return set_real(parser, opt, typed, text);
    case TARE_OPT_DURATION:
        if (tare_duration_parse(text, &ns, &inner) < 0)
            return fail_value(parser, typed, inner.msg);
        memcpy(parser->values + opt->offset, &ns, sizeof ns);
        break;
    case TARE_OPT_SIZE:
        if (tare_size_parse(text, &bytes, &inner) < 0)
            return fail_value(parser, typed, inner.msg);
        memcpy(parser->values + opt->offset, &bytes, sizeof bytes);
        break;
    case TARE_OPT_CHOICE:
        return set_choice(parser, opt, typed, text);
    case TARE_OPT_LIST:
    case TARE_OPT_LIST_MANY:
        return set_item(parser, opt, text);
    }
    return 0;
}

/* Does an argument end the values of an option that takes several? A negative number does not. */
static bool ends_values(const char *text)
{
    return text[0] == '-' && text[1] != '\0' && text[1] != '.' && !(text[1] >= '0' && text[1] <= '9');
}

/* Give an option its value: the one attached to it, or the arguments that follow. */
static int take(struct parser *parser, const struct tare_opt *opt, const struct typed *typed,
                const char *attached)
{
    if (opt->kind == TARE_OPT_FLAG) {
        bool yes = true;
        if (attached)
            return fail_value(parser, typed, "it takes no value");
        memcpy(parser->values + opt->offset, &yes, sizeof yes);
        return 0;
    }
    if (attached)
        return set_value(parser, opt, typed, attached);
    if (parser->at == parser->argc ||
        (opt->kind == TARE_OPT_LIST_MANY && ends_values(parser->argv[parser->at])))
        return tare_fail(parser->err, TARE_E_USAGE, 0, "option '%s' needs a value (%s)", typed->text,
                         opt->arg);
    do {
        if (set_value(parser, opt, typed, parser->argv[parser->at++]) < 0)
            return -1;
    } while (opt->kind == TARE_OPT_LIST_MANY && parser->at < parser->argc &&
             !ends_values(parser->argv[parser->at]));
    return 0;
}

/* "--name" or "--name=value". */
static int take_long(struct parser *parser, const char *text)
{
    const char *name = text + 2;
    size_t length = strcspn(name, "=");
    const struct tare_opt *opt = find_long(parser->options, name, length);
    if (!opt && strcmp(name, "help") == 0)
        return 1;
    if (!opt)
        return fail_unknown_long(parser, name, length);
    struct typed typed = typed_long(name, length);
    return take(parser, opt, &typed, name[length] == '=' ? name + length + 1 : NULL);
}

/* "-o", "-oFILE", "-qv". */
static int take_letters(struct parser *parser, const char *text)
{
    for (const char *at = text + 1; *at; at++) {
        const struct tare_opt *opt = find_letter(parser->options, *at);
        if (!opt && *at == 'h')
            return 1;
        if (!opt)
            return fail_unknown_letter(parser, *at, text);
        struct typed typed = typed_letter(*at);
        if (opt->kind == TARE_OPT_FLAG) {
            if (take(parser, opt, &typed, NULL) < 0)
                return -1;
            continue;
        }
        return take(parser, opt, &typed, at[1] ? at + 1 : NULL);
    }
    return 0;
}

static void take_rest(struct parser *parser)
{
    while (parser->at < parser->argc)
        parser->operands[parser->operand_count++] = parser->argv[parser->at++];
}

static bool among(const char *letters, char letter)
{
    return letters && letter && strchr(letters, letter);
}

/* "-O", "-uB", "-X dev", "-Xdev", "-um MODULE": kept as they are. 1 if the text was such, 0 if it is an
 * option of this table. */
static int take_passed(struct parser *parser, const char *text)
{
    const struct tare_opt_pass *pass = parser->pass;
    const char *at = text + 1;
    if (!pass || find_letter(parser->options, *at) ||
        !(among(pass->flags, *at) || among(pass->values, *at) || among(pass->rest, *at)))
        return 0;
    while (among(pass->flags, *at))
        at++;
    if (*at && !among(pass->values, *at) && !among(pass->rest, *at))
        return tare_fail(parser->err, TARE_E_USAGE, 0, "'-%c' cannot stand in '%.40s': give it by itself",
                         *at, text);
    parser->operands[parser->operand_count++] = text;
    if (!*at)
        return 1;
    if (!at[1] && parser->at == parser->argc)
        return tare_fail(parser->err, TARE_E_USAGE, 0, "option '-%c' needs a value", *at);
    if (!at[1])
        parser->operands[parser->operand_count++] = parser->argv[parser->at++];
    if (among(pass->rest, *at))
        take_rest(parser);
    return 1;
}

static int parse_all(struct parser *parser, bool stop_at_operand)
{
    while (parser->at < parser->argc) {
        const char *text = parser->argv[parser->at++];
        int rc = 0;
        if (text[0] != '-' || text[1] == '\0') {
            parser->operands[parser->operand_count++] = text;
            if (stop_at_operand)
                take_rest(parser);
        } else if (strcmp(text, "--") == 0) {
            take_rest(parser);
        } else if (text[1] == '-') {
            rc = take_long(parser, text);
        } else {
            rc = take_passed(parser, text);
            if (rc == 0)
                rc = take_letters(parser, text);
            else if (rc == 1)
                rc = 0;
        }
        if (rc != 0)
            return rc;
    }
    return 0;
}

int tare_opt_parse(const struct tare_opt_page *page, int argc, char *const *argv, struct tare_arena *arena,
                   void *ret_values, struct tare_opt_list *ret_operands, struct tare_error *err)
{
    struct parser parser = {
        .options = page->options ? page->options : no_options,
        .pass = page->pass,
        .argv = argv,
        .argc = argc,
        .arena = arena,
        .values = ret_values,
        .err = err,
    };
    size_t rows = 0;
    while (parser.options[rows].name)
        rows++;
    parser.items = tare_arena_array(arena, rows + 1, sizeof *parser.items);
    parser.operands = tare_arena_array(arena, (size_t)argc + 1, sizeof *parser.operands);
    if (!parser.items || !parser.operands)
        return tare_fail_memory(err);
    int rc = parse_all(&parser, page->stop_at_operand);
    if (rc == 0)
        *ret_operands = (struct tare_opt_list){.items = parser.operands, .count = parser.operand_count};
    return rc;
}
