/* SPDX-License-Identifier: Apache-2.0 */
/* opt and suggest: one table, and what comes of it: values, refusals, help, man page, completions. The last
 * two are tried in the real groff, bash and zsh. */
#include <errno.h>
#include <sys/wait.h>

#include "base/opt.h"
#include "base/suggest.h"
#include "scratch.h"

struct values {
    bool quiet, verbose;
    const char *output;
    int64_t number;
    double ratio;
    int64_t wait_ns;
    uint64_t memory;
    int sort;
    struct tare_opt_list dim, threshold;
};

static const char *const sorts[] = {"calls", "cumulative", "time", NULL};

static const struct tare_opt options[] = {
    {"quiet", 'q', TARE_OPT_FLAG, NULL, "Say less", .offset = offsetof(struct values, quiet)},
    {"verbose", 'v', TARE_OPT_FLAG, NULL, "Say more", .offset = offsetof(struct values, verbose)},
    {"output", 'o', TARE_OPT_TEXT, "FILE",
     "Write to FILE instead of standard output, in the format that its "
     "name asks for",
     .offset = offsetof(struct values, output)},
    {"number", 'n', TARE_OPT_INTEGER, "N", "How many", .min = -5, .max = 1000000,
     .offset = offsetof(struct values, number)},
    {"ratio", 0, TARE_OPT_REAL, "R", "How much of it: [0:1], don't ask", .min = 0, .max = 1,
     .offset = offsetof(struct values, ratio)},
    {"wait", 'w', TARE_OPT_DURATION, "TIME", "How long", .offset = offsetof(struct values, wait_ns)},
    {"memory", 0, TARE_OPT_SIZE, "SIZE", "How large", .offset = offsetof(struct values, memory)},
    {"sort", 's', TARE_OPT_CHOICE, "KEY", "Order of the table", .choices = sorts,
     .offset = offsetof(struct values, sort)},
    {"dim", 'd', TARE_OPT_LIST, "NAME=N", "A dimension", .offset = offsetof(struct values, dim)},
    {"a-rather-long-threshold-name", 't', TARE_OPT_LIST_MANY, "T", "Limits, several at once",
     .offset = offsetof(struct values, threshold)},
    {.name = NULL},
};

static const struct tare_opt_page pages[] = {
    {.name = "", .args = "COMMAND", .summary = "A program", .options = NULL, .stop_at_operand = true},
    {.name = "show",
     .args = "FILE...",
     .summary = "Show a file",
     .about = ".starts with a dot, has a back\\slash and a 'quote'.\n\nAn example:\n\n  tare show -q "
              "x\n\nThe end.",
     .options = options},
    {.name = "go",
     .args = "SCRIPT [ARG]...",
     .summary = "Run: it [now]",
     .options = options,
     .stop_at_operand = true},
};

static struct tare_arena arena;
static struct values values;
static struct tare_opt_list operands;
static struct tare_error err;

/* Parse up to a NULL; values start from zero, with sort 7. */
#define PARSE(page, ...) parse((page), (const char *[]){__VA_ARGS__, NULL})

static int parse(const struct tare_opt_page *page, const char **argv)
{
    char *copy[32];
    int argc = 0;
    tare_arena_finish(&arena);
    for (; argv[argc]; argc++) {
        copy[argc] = tare_arena_alloc(&arena, strlen(argv[argc]) + 1);
        memcpy(copy[argc], argv[argc], strlen(argv[argc]) + 1);
    }
    values = (struct values){.sort = 7};
    operands = (struct tare_opt_list){0};
    err = (struct tare_error){0};
    return tare_opt_parse(page, argc, copy, &arena, &values, &operands, &err);
}

static void refuses(int rc, const char *message)
{
    CHECK_INT(rc, -1);
    CHECK_INT(err.code, TARE_E_USAGE);
    CHECK_TEXT(err.msg, message);
}

static void every_spelling(void)
{
    const struct tare_opt_page *show = &pages[1];
    CHECK_INT(PARSE(show, "-o", "x", "in"), 0);
    CHECK_TEXT(values.output, "x");
    CHECK_INT(operands.count, 1);
    CHECK_TEXT(operands.items[0], "in");
    CHECK_INT(values.sort, 7);
    CHECK_INT(PARSE(show, "-ox"), 0);
    CHECK_TEXT(values.output, "x");
    CHECK_INT(PARSE(show, "--output", "x"), 0);
    CHECK_TEXT(values.output, "x");
    CHECK_INT(PARSE(show, "--output=x=y"), 0);
    CHECK_TEXT(values.output, "x=y");
    CHECK_INT(PARSE(show, "--output="), 0);
    CHECK_TEXT(values.output, "");
    CHECK_INT(PARSE(show, "-qvox", "a", "-", "-n-3", "b"), 0);
    CHECK(values.quiet && values.verbose);
    CHECK_TEXT(values.output, "x");
    CHECK_INT(values.number, -3);
    CHECK_INT(operands.count, 3);
    CHECK_TEXT(operands.items[1], "-");
    CHECK_INT(PARSE(show, "-o", "first", "-o", "last"), 0);
    CHECK_TEXT(values.output, "last");
    CHECK_INT(PARSE(show, "a", "--", "-q", "--", "b"), 0);
    CHECK(!values.quiet);
    CHECK_INT(operands.count, 4);
    CHECK_TEXT(operands.items[1], "-q");
    CHECK_TEXT(operands.items[2], "--");
    CHECK_INT(parse(show, (const char *[]){NULL}), 0);
    CHECK_INT(operands.count, 0);
}

static void every_kind(void)
{
    CHECK_INT(PARSE(&pages[1], "-n", "1k", "--ratio", "0.5", "-w250ms", "--memory=2MiB", "-s", "time"), 0);
    CHECK_INT(values.number, 1000);
    CHECK_REAL(values.ratio, 0.5, 0);
    CHECK_INT(values.wait_ns, 250000000);
    CHECK_INT(values.memory, 2 << 20);
    CHECK_INT(values.sort, 2);
}

static void lists(void)
{
    const struct tare_opt_page *show = &pages[1];
    static const char many[] = "--a-rather-long-threshold-name";
    CHECK_INT(PARSE(show, "-d", "a=1", "x", "--dim=b=2", "-dc=3"), 0);
    CHECK_INT(values.dim.count, 3);
    CHECK_TEXT(values.dim.items[0], "a=1");
    CHECK_TEXT(values.dim.items[1], "b=2");
    CHECK_TEXT(values.dim.items[2], "c=3");
    CHECK_INT(operands.count, 1);
    CHECK_INT(PARSE(show, many, "A", "B", "-5", "-q", "in", "-t", "C", "--", "D"), 0);
    CHECK_INT(values.threshold.count, 4);
    CHECK_TEXT(values.threshold.items[1], "B");
    CHECK_TEXT(values.threshold.items[2], "-5");
    CHECK_TEXT(values.threshold.items[3], "C");
    CHECK(values.quiet);
    CHECK_INT(operands.count, 2);
    CHECK_TEXT(operands.items[1], "D");
    /* An attached value stands alone. */
    CHECK_INT(PARSE(show, "-tA", "in"), 0);
    CHECK_INT(values.threshold.count, 1);
    CHECK_INT(operands.count, 1);
    refuses(PARSE(show, "-t", "-q"), "option '-t' needs a value (T)");
}

static void stops_at_the_program(void)
{
    CHECK_INT(PARSE(&pages[2], "-q", "script.py", "-v", "--help", "--", "x"), 0);
    CHECK(values.quiet && !values.verbose);
    CHECK_INT(operands.count, 5);
    CHECK_TEXT(operands.items[1], "-v");
    CHECK_TEXT(operands.items[3], "--");
}

static void help_is_everywhere(void)
{
    CHECK_INT(PARSE(&pages[1], "-h"), 1);
    CHECK_INT(PARSE(&pages[1], "x", "--help", "--nonsense"), 1);
    CHECK_INT(PARSE(&pages[1], "-qh"), 1);
    CHECK_INT(PARSE(&pages[0], "-h"), 1);
    CHECK_INT(PARSE(&pages[1], "--", "-h"), 0);
}

static void refusals(void)
{
    const struct tare_opt_page *show = &pages[1];
    refuses(PARSE(show, "--outptu", "x"), "unknown option '--outptu'; did you mean '--output'?");
    refuses(PARSE(show, "--out=x"), "unknown option '--out'; did you mean '--output'?");
    refuses(PARSE(show, "--hlep"), "unknown option '--hlep'; did you mean '--help'?");
    refuses(PARSE(show, "--unheard-of"), "unknown option '--unheard-of'");
    refuses(PARSE(show, "-qz"), "unknown option '-z'");
    refuses(PARSE(show, "-memory", "1"), "unknown option '-memory'; did you mean '--memory'?");
    refuses(PARSE(show, "-o"), "option '-o' needs a value (FILE)");
    refuses(PARSE(show, "--output"), "option '--output' needs a value (FILE)");
    refuses(PARSE(show, "--quiet=yes"), "option '--quiet': it takes no value");
    refuses(PARSE(show, "--sort", "cumulativ"),
            "option '--sort': unknown KEY 'cumulativ'; did you mean 'cumulative'?");
    refuses(PARSE(show, "-sx"), "option '-s': unknown KEY 'x' (use one of: calls, cumulative, time)");
    refuses(PARSE(show, "-n", "ten"), "option '-n': 'ten' is not a count: give a number such as 1000 or 25M");
    refuses(PARSE(show, "-n", "-6"), "option '-n': -6 is out of range (-5 to 1000000)");
    refuses(PARSE(show, "-n", "99999999999999999999"),
            "option '-n': '99999999999999999999' is not a count: it is too large");
    refuses(PARSE(show, "--ratio", "1.5"), "option '--ratio': 1.5 is out of range (0 to 1)");
    refuses(PARSE(show, "-w", "soon"),
            "option '-w': 'soon' is not a duration: give a number such as 10s or 250ms");
    refuses(PARSE(&pages[0], "--x"), "unknown option '--x'");
    char text[400];
    memset(text, 'x', sizeof text - 1);
    memcpy(text, "--", 2);
    text[sizeof text - 1] = '\0';
    CHECK_INT(PARSE(show, text), -1);
    memcpy(text, "-s", 2);
    CHECK_INT(PARSE(show, text), -1);
}

static void suggestions(void)
{
    static const struct {
        const char *typed, *want;
    } cases[] = {
        {"reprot", "report"}, {"REPORT", "report"}, {"rep", "report"}, {"docter", "doctor"},
        {"report", "report"}, {"hepl", "help"},     {"xyz", NULL},     {"", NULL},
        {"r", NULL},          {"banana", NULL},
    };
    static const char *const names[] = {"report", "doctor", "help"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tare_suggest suggest = {0};
        for (size_t j = 0; j < 3; j++)
            tare_suggest_offer(&suggest, cases[i].typed, names[j]);
        if (cases[i].want)
            CHECK_TEXT(suggest.best, cases[i].want);
        else
            CHECK(suggest.best == NULL);
    }
}

static void help_fits_its_width(void)
{
    struct tare_out out;
    tare_out_init_memory(&out, 1 << 16);
    tare_opt_help("tare", &pages[1], 60, &out);
    CHECK_TEXT(out.buf.data, "Usage: tare show [OPTION]... FILE...\n"
                             "\n"
                             "Show a file\n"
                             "\n"
                             ".starts with a dot, has a back\\slash and a 'quote'.\n"
                             "\n"
                             "An example:\n"
                             "\n"
                             "  tare show -q x\n"
                             "\n"
                             "The end.\n"
                             "\n"
                             "Options:\n"
                             "  -q, --quiet        Say less\n"
                             "  -v, --verbose      Say more\n"
                             "  -o, --output FILE  Write to FILE instead of standard\n"
                             "                     output, in the format that its name\n"
                             "                     asks for\n"
                             "  -n, --number N     How many\n"
                             "      --ratio R      How much of it: [0:1], don't ask\n"
                             "  -w, --wait TIME    How long\n"
                             "      --memory SIZE  How large\n"
                             "  -s, --sort KEY     Order of the table: calls, cumulative,\n"
                             "                     time\n"
                             "  -d, --dim NAME=N   A dimension\n"
                             "  -t, --a-rather-long-threshold-name T...\n"
                             "                     Limits, several at once\n"
                             "  -h, --help         Show this help\n");
    tare_out_finish(&out);
    /* However narrow or wide, no line is wider than asked for, within reason; -t is a word that does not fit.
     */
    for (unsigned width = 0; width < 200; width += 7) {
        tare_out_init_memory(&out, 1 << 16);
        tare_opt_help("tare", &pages[1], width, &out);
        size_t limit = width < 40 ? 40 : width > 100 ? 100 : width;
        for (const char *line = out.buf.data; *line; line += strcspn(line, "\n") + 1)
            if (strcspn(line, "\n") > limit && strncmp(line, "  -t,", 5) != 0)
                CHECK_INT(strcspn(line, "\n"), limit);
        tare_out_finish(&out);
    }
}

static void overview_lists_commands(void)
{
    struct tare_out out;
    tare_out_init_memory(&out, 1 << 16);
    tare_opt_overview("tare", pages, 3, 80, &out);
    CHECK_TEXT(out.buf.data, "Usage: tare COMMAND [OPTION]... [ARGUMENT]...\n"
                             "\n"
                             "A program\n"
                             "\n"
                             "Commands:\n"
                             "  show  Show a file\n"
                             "  go    Run: it [now]\n"
                             "\n"
                             "Options:\n"
                             "  -h, --help  Show this help\n");
    tare_out_finish(&out);
}

/* Run a program: what it printed on both outputs, or NULL if it is not installed. */
static const char *output_of(const char *const *argv)
{
    static char text[8192];
    int ends[2], status = 0;
    size_t length = 0;
    CHECK_INT(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        char *copy[12] = {0};
        for (size_t i = 0; argv[i] && i < 11; i++)
            copy[i] = strdup(argv[i]);
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execvp(copy[0], copy);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n;
    close(ends[0]);
    text[length] = '\0';
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        fprintf(stderr, "skipped: %s is not installed\n", argv[0]);
        return NULL;
    }
    CHECK_INT(status, 0);
    return text;
}

static void save(const char *path, const struct tare_out *out)
{
    scratch_write(path, out->buf.data, out->buf.length);
}

static void man_page_in_groff(void)
{
    struct tare_out out;
    scratch_enter();
    tare_out_init_memory(&out, 1 << 16);
    tare_opt_man("tare", "1.2", pages, 3, ".SH LAST\nThe tail.\n", &out);
    save("x.1", &out);
    tare_out_finish(&out);
    /* -ww makes every doubt a complaint, which would be in the output. */
    const char *shown =
        output_of((const char *[]){"groff", "-man", "-ww", "-Tascii", "-P-c", "-P-b", "-P-u", "x.1", NULL});
    if (shown) {
        CHECK(strstr(shown, "warning") == NULL && strstr(shown, "error") == NULL);
        CHECK(strstr(shown, "tare - A program") != NULL);
        CHECK(strstr(shown, ".starts with a dot, has a back\\slash") != NULL);
        CHECK(strstr(shown, "         tare show -q x\n") != NULL);
        CHECK(strstr(shown, "-o, --output FILE") != NULL);
        CHECK(strstr(shown, "-t, --a-rather-long-threshold-name T...") != NULL);
        CHECK(strstr(shown, "Order of the table: calls, cumulative, time.") != NULL);
        CHECK(strstr(shown, "The tail.") != NULL);
    }
    scratch_leave();
}

/* What bash offers for the words of a command line, the last of which is unfinished. */
static const char *bash_offers(const char *words)
{
    char script[512];
    snprintf(script, sizeof script,
             "compopt() { :; }; . ./c.bash; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tare; "
             "echo ${COMPREPLY[@]}",
             words);
    return output_of((const char *[]){"bash", "--norc", "-c", script, NULL});
}

static void completion_in_bash(void)
{
    struct tare_out out;
    static const char *const cases[][2] = {
        {"tare ''", "show go\n"},
        {"tare s", "show\n"},
        {"tare -", "-h --help\n"},
        {"tare show --o", "--output\n"},
        {"tare show -s ''", "calls cumulative time\n"},
        {"tare show --sort c", "calls cumulative\n"},
        {"tare show --sort = ''", "calls cumulative time\n"},
        {"tare show --sort = t", "time\n"},
        {"tare show -o a", "a file\n"},
        {"tare show -q ''", "a file c.bash\n"},
        {"tare show --number ''", "\n"},
        {"tare nonsense ''", "\n"},
    };
    scratch_enter();
    tare_out_init_memory(&out, 1 << 16);
    CHECK_INT(tare_opt_complete("bash", "tare", pages, 3, &out, NULL), 0);
    save("c.bash", &out);
    scratch_write("a file", "", 0);
    tare_out_finish(&out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *offers = bash_offers(cases[i][0]);
        if (!offers)
            break;
        CHECK_TEXT(offers, cases[i][1]);
    }
    scratch_leave();
}

/* zsh completes only in a terminal: zsh/zpty gives it one, and a widget on ^X tells what the line became. */
static const char zsh_driver[] =
    "zmodload zsh/zpty || exit 127\n"
    "zpty shell 'TERM=dumb zsh -f -i'\n"
    "zpty -w shell 'PROMPT=; unsetopt beep; setopt no_list_beep auto_menu; autoload -Uz compinit; compinit "
    "-u -D'\n"
    "zpty -w shell '. ./c.zsh; show() { print -r -- \"<$BUFFER>\" > shown.new; mv shown.new shown; }'\n"
    "zpty -w shell 'zle -N show; bindkey \"^X\" show; : > ready'\n"
    "for ((i = 0; i < 100; i++)); do [[ -e ready ]] && break; sleep 0.1; done\n"
    "zpty -w -n shell \"$1\"$'\\t\\x18'\n"
    "for ((i = 0; i < 100; i++)); do [[ -e shown ]] && break; sleep 0.1; done\n"
    "cat shown\n"
    "zpty -d shell\n";

static void completion_in_zsh(void)
{
    struct tare_out out;
    static const char *const cases[][2] = {
        {"tare s", "<tare show >\n"},
        {"tare show --ou", "<tare show --output=>\n"},
        {"tare show --sort=ti", "<tare show --sort=time>\n"},
        {"tare show -s cu", "<tare show -s cumulative>\n"},
        {"tare show a", "<tare show a\\ file>\n"},
        {"tare go -q a", "<tare go -q a\\ file>\n"},
    };
    scratch_enter();
    tare_out_init_memory(&out, 1 << 16);
    CHECK_INT(tare_opt_complete("zsh", "tare", pages, 3, &out, NULL), 0);
    save("c.zsh", &out);
    tare_out_finish(&out);
    scratch_write("driver", zsh_driver, sizeof zsh_driver - 1);
    scratch_write("a file", "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = output_of((const char *[]){"zsh", "-f", "driver", cases[i][0], NULL});
        if (!line)
            break;
        /* After a unique match zsh may or may not leave a space. */
        char plain[128];
        snprintf(plain, sizeof plain, "%s", line);
        size_t length = strlen(plain), want = strlen(cases[i][1]);
        if (length == want + 1 && plain[length - 3] == ' ')
            memmove(plain + length - 3, plain + length - 2, 3);
        CHECK_TEXT(plain, cases[i][1]);
        unlink("shown");
        unlink("ready");
    }
    scratch_leave();
}

static void letters_of_another_program_stay_as_typed(void)
{
    static const struct tare_opt_pass pass = {.flags = "BIu", .values = "WXo", .rest = "mc"};
    struct tare_opt_page page = pages[2];
    page.pass = &pass;
    /* A row of the table wins: -o is ours. */
    CHECK_INT(PARSE(&page, "-B", "-q", "-uX", "dev", "-Wx", "-o", "out", "script", "-q", "-v"), 0);
    CHECK_TEXT(values.output, "out");
    CHECK(values.quiet && !values.verbose);
    static const char *const want[] = {"-B", "-uX", "dev", "-Wx", "script", "-q", "-v"};
    CHECK_INT(operands.count, 7);
    for (size_t i = 0; i < operands.count && i < 7; i++)
        CHECK_TEXT(operands.items[i], want[i]);
    CHECK_INT(PARSE(&page, "-um", "module", "-o", "theirs", "--", "-h"), 0);
    CHECK_INT(operands.count, 6);
    CHECK(values.output == NULL);
    CHECK_INT(PARSE(&page, "-cpass", "-v"), 0);
    CHECK_INT(operands.count, 2);
    CHECK(!values.verbose);
    refuses(PARSE(&page, "-X"), "option '-X' needs a value");
    refuses(PARSE(&page, "-m"), "option '-m' needs a value");
    refuses(PARSE(&page, "-Bq", "x"), "'-q' cannot stand in '-Bq': give it by itself");
}

static void other_shells_are_refused(void)
{
    struct tare_out out;
    tare_out_init_memory(&out, 100);
    err = (struct tare_error){0};
    refuses(tare_opt_complete("fish", "tare", pages, 3, &out, &err),
            "no completion for 'fish' (use bash or zsh)");
    tare_out_finish(&out);
}

int main(void)
{
    tare_arena_init(&arena, 0);
    RUN(every_spelling);
    RUN(every_kind);
    RUN(lists);
    RUN(stops_at_the_program);
    RUN(letters_of_another_program_stay_as_typed);
    RUN(help_is_everywhere);
    RUN(refusals);
    RUN(suggestions);
    RUN(help_fits_its_width);
    RUN(overview_lists_commands);
    RUN(man_page_in_groff);
    RUN(completion_in_bash);
    RUN(completion_in_zsh);
    RUN(other_shells_are_refused);
    tare_arena_finish(&arena);
    return check_done();
}
