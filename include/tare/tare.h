/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record where a C or C++ program spends its time, with the same tool as Python: spans, steps and counters go
 * into a capture, which `tare report` opens, also while the program runs and after it was killed.
 *
 *     #include <tare/tare.h>
 *
 *     tare_record_begin("captures", problem, sizeof problem);   // an existing folder, or NULL for
 * $TARE_RECORD for (;;) { TARE_SPAN("request");             // until the end of this block
 *         ...
 *         TARE_COUNT("tokens", n);          // added to the span that is open here
 *         tare_step();                      // one step of this thread's loop is over
 *     }
 *     tare_record_end();
 *
 * Every thread has its own stack; nothing needs to be registered. While nothing is recorded a span costs one
 * comparison. While recording, a span costs two readings of the clock and no system call; when there is no
 * room for new contexts they are folded into <truncated> and counted. A child made by fork() records into a
 * capture of its own. Spans must end in the reverse order in which they began, on the thread that began them.
 * Times are as recorded: what a span costs, about 50 ns, is not taken off.
 *
 * Link with `pkg-config --static --libs tare`.
 */
#ifndef TARE_TARE_H
#define TARE_TARE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the source: one static object per span or counter, filled by the macros below. */
struct tare_place {
    const char *name;
    const char *file;
    unsigned line;
    unsigned recording; /* which recording knows it; 0: none */
    unsigned id;
};

/** Begin recording into a capture in folder (NULL: the environment variable TARE_RECORD). 0, or -1 with the
 * reason in problem. */
int tare_record_begin(const char *folder, char *problem, size_t size);

/** End it: the capture is complete. No thread may be inside a span. */
void tare_record_end(void);

/** Where the capture is; NULL while nothing is recorded. */
const char *tare_record_path(void);

/** A span begins on this thread. */
void tare_span_begin(struct tare_place *place);

/** The innermost span of this thread ends. */
void tare_span_end(void);

/** A step of this thread's loop is over, and the next one begins. Steps lie inside the span that is open;
 * what is left is ended by it. */
void tare_step(void);

/** Add to a counter of the span that is open: tokens, bytes, requests. */
void tare_count(struct tare_place *place, int64_t amount);

#define TARE_JOIN_(a, b) a##b
#define TARE_JOIN(a, b)  TARE_JOIN_(a, b)

/* Add AMOUNT to the counter NAME, a string literal. */
#define TARE_COUNT(NAME, AMOUNT)                                                                             \
    do {                                                                                                     \
        static struct tare_place tare_place_here = {NAME, __FILE__, __LINE__, 0, 0};                         \
        tare_count(&tare_place_here, AMOUNT);                                                                \
    } while (0)

#ifdef __cplusplus
}

struct tare_scope {
    explicit tare_scope(tare_place *place)
    {
        tare_span_begin(place);
    }
    ~tare_scope()
    {
        tare_span_end();
    }
    tare_scope(const tare_scope &) = delete;
    tare_scope &operator=(const tare_scope &) = delete;
};

/* A span named NAME, a string literal, until the end of the block. */
#define TARE_SPAN(NAME)                                                                                      \
    static tare_place TARE_JOIN(tare_place_, __LINE__) = {NAME, __FILE__, __LINE__, 0, 0};                   \
    tare_scope TARE_JOIN(tare_scope_, __LINE__)(&TARE_JOIN(tare_place_, __LINE__))
#else
static inline void tare_scope_end(const char *unused)
{
    (void)unused;
    tare_span_end();
}

#define TARE_SPAN(NAME)                                                                                      \
    static struct tare_place TARE_JOIN(tare_place_, __LINE__) = {NAME, __FILE__, __LINE__, 0, 0};            \
    __attribute__((cleanup(tare_scope_end), unused)) char TARE_JOIN(tare_scope_, __LINE__) =                 \
        (tare_span_begin(&TARE_JOIN(tare_place_, __LINE__)), 0)
#endif

#endif
