/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tare weighs machine-learning code and models, and takes its own weight off the scale before it reports.
 *
 * The house, room by room, in the order in which data walks through it. A room may include what stands above
 * it in its own column of needs, and nothing else; tests/py/test_rooms.py keeps the direction.
 *
 *   base/        error, arena, buf, in, out, json, pb, clock, units, opt, hash   needs: libc, zlib, yyjson
 *   core/        the nouns: profile, trace, run, machine, stats, capture         needs: base
 *   instrument/  in-process recorder: events -> capture                          needs: core, base
 *   sample/      out-of-process sampler: another process -> profile              needs: core, base
 *   bench/       harness and engines: a model -> run                             needs: core, base
 *   judge/       thresholds, comparison, history: runs -> verdict                needs: core, base
 *   report/      readers and writers, one file per format                        needs: core, base
 *   flow/        what joins them: load, sweep, advise, record and write          needs: all above
 *   cmd/         one file per subcommand: parses and prints                      needs: flow and above
 *
 * instrument, sample, bench, judge and report never include each other: they meet in core's nouns, and only
 * flow knows more than one of them. That is what lets any collector feed any view. A room that is not in the
 * tree yet has its place here.
 *
 * Start reading at cmd/dispatch.c, which has the table of commands; each is one file, cmd_NAME.c. The Python
 * extension links everything but this file and calls tare_main too.
 */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    return tare_main(argc, argv);
}
