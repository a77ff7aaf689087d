/* SPDX-License-Identifier: Apache-2.0 */
/* Models of another precision, made with the tools that come with the user's own onnxruntime: there is no
 * call in its library that converts. */
#include <string.h>

#include "flow/ask.h"
#include "flow/bench_model.h"
#include "flow/interpreter.h"

#define CONVERT_MOST_NS INT64_C(120000000000)

/* The argument after the two paths is the precision. An answer of one line says what is missing. */
static const char program[] =
    "import sys\n"
    "source, target, precision = sys.argv[1:4]\n"
    "try:\n"
    "    import onnx\n"
    "    if precision == 'int8':\n"
    "        from onnxruntime.quantization import QuantType, quantize_dynamic\n"
    "        quantize_dynamic(source, target, weight_type=QuantType.QInt8)\n"
    "    else:\n"
    "        from onnxruntime.transformers.float16 import convert_float_to_float16\n"
    "        onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)\n"
    "except ImportError as e:\n"
    "    print('it lacks ' + str(e.name))\n"
    "    sys.exit(3)\n"
    "except BaseException as e:\n"
    "    print(type(e).__name__ + ': ' + ' '.join(str(e).split())[:120])\n"
    "    sys.exit(4)\n";

int tare_bench_convert(struct tare_bench *bench, const char *path, const char *precision,
                       const char **ret_path, struct tare_error *err)
{
    struct tare_interpreter interpreter;
    if (strcmp(precision, "int8") != 0 && strcmp(precision, "fp16") != 0)
        return tare_fail(err, TARE_E_USAGE, 0, "--precision %.40s: give the model that has it: %.40s=PATH",
                         precision, precision);
    if (tare_interpreter_find(bench->plan->python, &bench->arena, &interpreter, err))
        return tare_fail(err, TARE_E_UNSUPPORTED, 0,
                         "--precision %s: there is no Python to make such a model with; give %s=PATH",
                         precision, precision);
    const char *made = tare_arena_printf(&bench->arena, "%s/%s.onnx", bench->folder, precision);
    const char *const argv[] = {interpreter.path, "-c", program, path, made, precision, NULL};
    struct tare_ask ask = {.fd = -1};
    tare_bench_say(bench, TARE_BENCH_LOADING, "making a model in %s", precision);
    if (tare_ask_program(&ask, argv))
        tare_ask_wait(&ask, 1, CONVERT_MOST_NS);
    if (!tare_ask_succeeded(&ask)) {
        /* Tools print before they fail; what went wrong is their last line. */
        while (ask.length && (ask.answer[ask.length - 1] == '\n' || ask.answer[ask.length - 1] == ' '))
            ask.answer[--ask.length] = 0;
        const char *last = strrchr(ask.answer, '\n');
        return tare_fail(
            err, TARE_E_UNSUPPORTED, 0,
            "--precision %s: %.60s cannot make it (%.90s): pip install onnx onnxruntime, or give "
            "%s=PATH",
            precision, interpreter.path, ask.length ? (last ? last + 1 : ask.answer) : "no answer",
            precision);
    }
    *ret_path = made;
    tare_bench_note(bench, "%s was made from '%s' with the tools of onnxruntime in %s", precision, path,
                    interpreter.path);
    return tare_arena_check(&bench->arena, err);
}
