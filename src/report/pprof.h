/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the pprof reader and writer share: field numbers, and how a frame is told in pprof's words. Only
 * src/report/pprof*.c includes this.
 *
 * A location is a frame at a line, with the frames that were inlined into it as further lines; a location
 * without lines is a native frame of which only the address is known. A function is a frame without address,
 * mapping and line.
 *   - The kind of a frame follows from its file (tare_pprof_kind).
 *   - Python: pprof's views merge functions of one name, so the qualified name is what it gets as the name,
 * and the bare name is the system name. Other kinds: name is the name, qualname the system name.
 *   - pprof takes a name that equals the system name for C++ and cuts what stands in <> or (), so a name like
 *     <module> goes without a system name.
 * What these rules cannot say (another kind, a module, a twin, a qualname like <module>) is in fields of our
 * own, numbered far above pprof's; other readers pass over them. Files that hold nothing of the sort have
 * none of them. What the profile as a whole is stands in the comments: a line each, PPROF_MARK_*.
 */
#ifndef TARE_REPORT_PPROF_H
#define TARE_REPORT_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include "core/profile.h"

enum {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE = 2,
    PPROF_MAPPING = 3,
    PPROF_LOCATION = 4,
    PPROF_FUNCTION = 5,
    PPROF_STRING = 6,
    PPROF_DROP_FRAMES = 7,
    PPROF_KEEP_FRAMES = 8,
    PPROF_TIME = 9,
    PPROF_DURATION = 10,
    PPROF_PERIOD_TYPE = 11,
    PPROF_PERIOD = 12,
    PPROF_COMMENT = 13,
    PPROF_DEFAULT_TYPE = 14,
    PPROF_DOC_URL = 15,

    PPROF_TYPE_TYPE = 1,
    PPROF_TYPE_UNIT = 2,

    PPROF_SAMPLE_LOCATIONS = 1,
    PPROF_SAMPLE_VALUES = 2,
    PPROF_SAMPLE_LABEL = 3,

    PPROF_LABEL_KEY = 1,
    PPROF_LABEL_TEXT = 2,
    PPROF_LABEL_NUMBER = 3,
    PPROF_LABEL_UNIT = 4,

    PPROF_MAPPING_ID = 1,
    PPROF_MAPPING_START = 2,
    PPROF_MAPPING_LIMIT = 3,
    PPROF_MAPPING_OFFSET = 4,
    PPROF_MAPPING_FILE = 5,
    PPROF_MAPPING_BUILD_ID = 6,
    PPROF_MAPPING_FLAGS = 7, /* to 10, in the order of TARE_MAPPING_* */

    PPROF_LOCATION_ID = 1,
    PPROF_LOCATION_MAPPING = 2,
    PPROF_LOCATION_ADDRESS = 3,
    PPROF_LOCATION_LINE = 4,
    PPROF_LOCATION_FOLDED = 5,

    PPROF_LINE_FUNCTION = 1,
    PPROF_LINE_LINE = 2,
    PPROF_LINE_COLUMN = 3,

    PPROF_FUNCTION_ID = 1,
    PPROF_FUNCTION_NAME = 2,
    PPROF_FUNCTION_SYSTEM = 3,
    PPROF_FUNCTION_FILE = 4,
    PPROF_FUNCTION_FIRST_LINE = 5,
    PPROF_FUNCTION_KIND = 1001,     /* our own: enum tare_frame_kind */
    PPROF_FUNCTION_MODULE = 1002,   /* our own: a string */
    PPROF_FUNCTION_QUALNAME = 1003, /* our own: a string; the name is then the name */
    PPROF_FUNCTION_TWIN = 1004,     /* our own */
};

#define PPROF_MARK_PAIRS     "tare: caller pairs"
#define PPROF_MARK_DIFF      "tare: difference"
#define PPROF_MARK_ESTIMATED "tare: estimated from caller pairs"

/* Bounds of the reader: far beyond any real profile, and small enough for a hostile one. */
enum {
    PPROF_MESSAGE_MAX = 4 << 20, /* bytes of one top-level field */
    PPROF_DEPTH_MAX = 1 << 18,   /* frames of one stack */
    PPROF_TYPES_MAX = 256,       /* sample types */
};

/** The kind of a function whose file is this, as far as that tells. */
enum tare_frame_kind tare_pprof_kind(const char *file, size_t length);

#endif
