/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/ort_locate.h"

#include <stdlib.h>
#include <string.h>

#include "core/machine_file.h"
#include "flow/ask.h"
#include "flow/interpreter.h"

/* Starting Python from a cold network file system takes its time; without an answer the variables decide. */
#define ASK_NS INT64_C(20000000000)

/* Imports nothing: importing onnxruntime takes a quarter of a second. */
static const char question[] = "import os, sys\n"
                               "for folder in sys.path[1:]:\n"
                               "    capi = os.path.join(folder, 'onnxruntime', 'capi')\n"
                               "    if os.path.isdir(capi):\n"
                               "        sys.stdout.write('ort=%s\\n' % capi)\n"
                               "        break\n";

/* NULL when it has none, or does not say. */
static const char *package_of(const struct tare_interpreter *interpreter, struct tare_arena *arena)
{
    const char *argv[] = {interpreter->path, "-c", question, NULL};
    struct tare_ask *ask = tare_arena_alloc(arena, sizeof *ask);
    if (!ask || !tare_ask_program(ask, argv))
        return NULL;
    tare_ask_wait(ask, 1, ASK_NS);
    char *rest = ask->answer;
    const char *folder = tare_ask_succeeded(ask) ? tare_machine_value(strsep(&rest, "\n"), "ort") : NULL;
    return folder && *folder == '/' ? tare_arena_copy(arena, folder) : NULL;
}

int tare_ort_locate(const char *named, struct tare_arena *arena, struct tare_ort_found *ret_found,
                    struct tare_error *err)
{
    const char *variable = getenv("TARE_ORT");
    struct tare_ort_search search = {.named = named};
    struct tare_interpreter interpreter;
    struct tare_ort_place place;
    if (!named && !(variable && *variable) && tare_interpreter_find(NULL, arena, &interpreter, NULL) == 0) {
        place = (struct tare_ort_place){package_of(&interpreter, arena), interpreter.source};
        search.places = &place;
        search.count = place.folder != NULL;
    }
    return tare_ort_find(&search, arena, ret_found, err);
}
