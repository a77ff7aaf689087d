/* SPDX-License-Identifier: Apache-2.0 */
#include "profile_bytes.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 4096 };

struct tare_profile *profile_from_bytes(const struct tare_reader *reader, const void *data, size_t size)
{
    struct tare_in *in;
    struct tare_profile *profile;
    struct tare_error err = {0};
    reader->recognise(data, size < HEAD_BYTES ? size : HEAD_BYTES, size <= HEAD_BYTES);
    if (tare_in_open_memory(data, size, "input", &in, &err) < 0)
        return NULL;
    if (tare_profile_create((size_t)64 << 20, &profile, &err) < 0)
        abort();
    int rc = reader->read(in, profile, &err);
    tare_in_close(in);
    if (rc == 0)
        return profile;
    if (err.msg[0] == '\0' || strchr(err.msg, '\n'))
        abort();
    tare_profile_destroy(profile);
    return NULL;
}

bool profile_to_bytes(const struct tare_writer *writer, const struct tare_profile *profile,
                      struct tare_out *out)
{
    static const struct tare_view view = {0};
    struct tare_error err;
    tare_out_init_memory(out, (size_t)16 << 20);
    writer->write(profile, &view, out);
    if (tare_out_commit(out, &err) == 0)
        return true;
    if (err.code != TARE_E_MEMORY && err.code != TARE_E_LIMIT)
        abort();
    return false;
}

bool bytes_equal(const struct tare_out *a, const struct tare_out *b)
{
    return a->buf.length == b->buf.length && memcmp(a->buf.data, b->buf.data, a->buf.length) == 0;
}
