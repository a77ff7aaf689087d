/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts. What a value is completed with follows from its kind and from what help calls it: FILE
 * and DIR mean what they say, COMMAND means our own commands, and choices are listed. */
#include <string.h>

#include "base/opt.h"

enum filling { FILL_NOTHING, FILL_FILES, FILL_FOLDERS, FILL_COMMANDS, FILL_CHOICES };

static enum filling filling_of_value(const struct tare_opt *opt)
{
    if (opt->kind == TARE_OPT_CHOICE)
        return FILL_CHOICES;
    if (opt->arg && strstr(opt->arg, "FILE"))
        return FILL_FILES;
    if (opt->arg && strstr(opt->arg, "DIR"))
        return FILL_FOLDERS;
    return FILL_NOTHING;
}

static enum filling filling_of_operands(const struct tare_opt_page *page)
{
    if (!page->args)
        return FILL_NOTHING;
    return strstr(page->args, "COMMAND") ? FILL_COMMANDS : FILL_FILES;
}

static void command_names(struct tare_out *out, const struct tare_opt_page *pages, size_t count)
{
    for (size_t i = 1; i < count; i++)
        tare_out_printf(out, "%s%s", i > 1 ? " " : "", pages[i].name);
}

static void choice_names(struct tare_out *out, const struct tare_opt *opt)
{
    const char *name;
    for (size_t i = 0; (name = tare_opt_choice_name(opt, i)); i++)
        tare_out_printf(out, "%s%s", i ? " " : "", name);
}

/* -- bash ------------------------------------------------------------------------------------------------ */

static void bash_fill(struct tare_out *out, enum filling filling, const struct tare_opt *opt,
                      const struct tare_opt_page *pages, size_t count)
{
    switch (filling) {
    case FILL_NOTHING:
        tare_out_text(out, ":");
        break;
    case FILL_FILES:
        tare_out_text(out, "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
        break;
    case FILL_FOLDERS:
        tare_out_text(out, "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")");
        break;
    case FILL_COMMANDS:
        tare_out_text(out, "mapfile -t COMPREPLY < <(compgen -W '");
        command_names(out, pages, count);
        tare_out_text(out, "' -- \"$cur\")");
        break;
    case FILL_CHOICES:
        tare_out_text(out, "mapfile -t COMPREPLY < <(compgen -W '");
        choice_names(out, opt);
        tare_out_text(out, "' -- \"$cur\")");
        break;
    }
}

static void bash_option_names(struct tare_out *out, const struct tare_opt *options)
{
    for (const struct tare_opt *opt = options; opt && opt->name; opt++) {
        if (opt->letter)
            tare_out_printf(out, "-%c ", opt->letter);
        tare_out_printf(out, "--%s ", opt->name);
    }
    tare_out_text(out, "-h --help");
}

static void bash_page(struct tare_out *out, const struct tare_opt_page *page,
                      const struct tare_opt_page *pages, size_t count)
{
    if (*page->name)
        tare_out_printf(out, "    %s)\n", page->name);
    else
        tare_out_text(out, "    '')\n");
    tare_out_text(out, "        case $prev in\n");
    for (const struct tare_opt *opt = page->options; opt && opt->name; opt++) {
        if (opt->kind == TARE_OPT_FLAG)
            continue;
        tare_out_text(out, "        ");
        if (opt->letter)
            tare_out_printf(out, "-%c | ", opt->letter);
        tare_out_printf(out, "--%s)\n            ", opt->name);
        bash_fill(out, filling_of_value(opt), opt, pages, count);
        tare_out_text(out, "\n            return\n            ;;\n");
    }
    tare_out_text(out, "        esac\n        if [[ $cur == -* ]]; then\n            "
                       "mapfile -t COMPREPLY < <(compgen -W '");
    bash_option_names(out, page->options);
    tare_out_text(out, "' -- \"$cur\")\n        else\n            ");
    bash_fill(out, *page->name ? filling_of_operands(page) : FILL_COMMANDS, NULL, pages, count);
    tare_out_text(out, "\n        fi\n        ;;\n");
}

static void bash_script(struct tare_out *out, const char *program, const struct tare_opt_page *pages,
                        size_t count)
{
    tare_out_printf(out,
                    "# bash completion for %s, made from its option table\n"
                    "_%s() {\n"
                    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command= i\n"
                    "    # --option=value comes as three words.\n"
                    "    if [[ $cur == = ]]; then\n"
                    "        cur=\n"
                    "    elif [[ $prev == = && COMP_CWORD -ge 2 ]]; then\n"
                    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
                    "    fi\n"
                    "    COMPREPLY=()\n"
                    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
                    "        if [[ ${COMP_WORDS[i]} != -* ]]; then\n"
                    "            command=${COMP_WORDS[i]}\n"
                    "            break\n"
                    "        fi\n"
                    "    done\n"
                    "    case $command in\n",
                    program, program);
    for (size_t i = 0; i < count; i++)
        bash_page(out, &pages[i], pages, count);
    tare_out_printf(out, "    esac\n}\ncomplete -F _%s %s\n", program, program);
}

/* -- zsh ------------------------------------------------------------------------------------------------- */

/* Text inside a single-quoted part of an _arguments or _describe specification. */
static void zsh_text(struct tare_out *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            tare_out_text(out, "'\\''");
        else if (strchr("[]:\\", *text))
            tare_out_printf(out, "\\%c", *text);
        else
            tare_out_add(out, text, 1);
    }
}

static void zsh_fill(struct tare_out *out, enum filling filling, const struct tare_opt *opt,
                     const struct tare_opt_page *pages, size_t count)
{
    switch (filling) {
    case FILL_NOTHING:
        tare_out_text(out, " ");
        break;
    case FILL_FILES:
        tare_out_text(out, "_files");
        break;
    case FILL_FOLDERS:
        tare_out_text(out, "_files -/");
        break;
    case FILL_COMMANDS:
        tare_out_text(out, "(");
        command_names(out, pages, count);
        tare_out_text(out, ")");
        break;
    case FILL_CHOICES:
        tare_out_text(out, "(");
        choice_names(out, opt);
        tare_out_text(out, ")");
        break;
    }
}

/* One specification: '(-o --output)'{-o+,--output=}'[Write here]:FILE:_files'. */
static void zsh_option(struct tare_out *out, const struct tare_opt *opt, const struct tare_opt_page *pages,
                       size_t count)
{
    bool value = opt->kind != TARE_OPT_FLAG;
    bool many = opt->kind == TARE_OPT_LIST || opt->kind == TARE_OPT_LIST_MANY;
    tare_out_text(out, " \\\n        ");
    if (many)
        tare_out_text(out, "'*'");
    else if (opt->letter)
        tare_out_printf(out, "'(-%c --%s)'", opt->letter, opt->name);
    if (opt->letter)
        tare_out_printf(out, "{-%c%s,--%s%s}", opt->letter, value ? "+" : "", opt->name, value ? "=" : "");
    else
        tare_out_printf(out, "--%s%s", opt->name, value ? "=" : "");
    tare_out_text(out, "'[");
    zsh_text(out, opt->help);
    tare_out_text(out, "]");
    if (value) {
        /* All words up to the next option. */
        tare_out_text(out, opt->kind == TARE_OPT_LIST_MANY ? ":*-*:" : ":");
        zsh_text(out, opt->arg);
        tare_out_text(out, ":");
        zsh_fill(out, filling_of_value(opt), opt, pages, count);
    }
    tare_out_text(out, "'");
}

static void zsh_options(struct tare_out *out, const struct tare_opt_page *page,
                        const struct tare_opt_page *pages, size_t count)
{
    for (const struct tare_opt *opt = page->options; opt && opt->name; opt++)
        zsh_option(out, opt, pages, count);
    tare_out_text(out, " \\\n        '(- *)'{-h,--help}'[Show this help]'");
}

static void zsh_page(struct tare_out *out, const struct tare_opt_page *page,
                     const struct tare_opt_page *pages, size_t count)
{
    tare_out_printf(out, "    %s)\n        _arguments -s%s", page->name,
                    page->stop_at_operand ? " -A '-*'" : "");
    zsh_options(out, page, pages, count);
    enum filling filling = filling_of_operands(page);
    if (filling != FILL_NOTHING) {
        tare_out_text(out, " \\\n        '*:");
        zsh_text(out, page->args);
        tare_out_text(out, ":");
        zsh_fill(out, filling, NULL, pages, count);
        tare_out_text(out, "'");
    }
    tare_out_text(out, "\n        ;;\n");
}

static void zsh_script(struct tare_out *out, const char *program, const struct tare_opt_page *pages,
                       size_t count)
{
    tare_out_printf(out,
                    "#compdef %s\n"
                    "# zsh completion for %s, made from its option table\n"
                    "_%s() {\n"
                    "    local curcontext=$curcontext state line\n"
                    "    typeset -A opt_args\n"
                    "    local -a commands=(\n",
                    program, program, program);
    for (size_t i = 1; i < count; i++) {
        tare_out_printf(out, "        '%s:", pages[i].name);
        zsh_text(out, pages[i].summary);
        tare_out_text(out, "'\n");
    }
    tare_out_text(out, "    )\n    _arguments -C");
    zsh_options(out, &pages[0], pages, count);
    tare_out_printf(out,
                    " \\\n        '1:command:->command' '*::argument:->argument' && return\n"
                    "    if [[ $state == command ]]; then\n"
                    "        _describe -t commands '%s command' commands\n"
                    "        return\n"
                    "    fi\n"
                    "    case $words[1] in\n",
                    program);
    for (size_t i = 1; i < count; i++)
        zsh_page(out, &pages[i], pages, count);
    /* Autoloaded, the file's body is the function; sourced, it registers itself. */
    tare_out_printf(out,
                    "    esac\n}\n"
                    "if [[ $funcstack[1] == _%s ]]; then\n    _%s \"$@\"\nelse\n    compdef _%s %s\nfi\n",
                    program, program, program, program);
}

int tare_opt_complete(const char *shell, const char *program, const struct tare_opt_page *pages, size_t count,
                      struct tare_out *out, struct tare_error *err)
{
    if (strcmp(shell, "bash") == 0)
        bash_script(out, program, pages, count);
    else if (strcmp(shell, "zsh") == 0)
        zsh_script(out, program, pages, count);
    else
        return tare_fail(err, TARE_E_USAGE, 0, "no completion for '%.40s' (use bash or zsh)", shell);
    return 0;
}
