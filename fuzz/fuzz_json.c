/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes: read as JSON or refused; what was read, written and read again is equal. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tare_error err;
    yyjson_doc *doc = NULL, *again = NULL;
    if (tare_json_read((const char *)data, size, "input", &doc, &err) < 0)
        return 0;
    for (unsigned indent = 0; indent < 3; indent += 2) {
        struct tare_out out;
        struct tare_json json;
        tare_out_init_memory(&out, (size_t)64 << 20);
        tare_json_init(&json, &out, indent);
        tare_json_value(&json, yyjson_doc_get_root(doc));
        if (tare_out_commit(&out, &err) < 0 ||
            tare_json_read(out.buf.data, out.buf.length, "written", &again, &err) < 0 ||
            !yyjson_equals(yyjson_doc_get_root(doc), yyjson_doc_get_root(again)))
            abort();
        yyjson_doc_free(again);
        tare_out_finish(&out);
    }
    yyjson_doc_free(doc);
    return 0;
}
