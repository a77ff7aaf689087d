/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/npz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bench/npy.h"

enum {
    ENTRIES_MAX = 4096,
    NAME_MAX_BYTES = 1024,
    DEFLATE_RATIO_MAX = 1032, /* what deflate can unpack to, at most */
};

struct entry {
    const char *name;
    const uint8_t *data;
    uint64_t packed, bytes;
    bool deflated, summed; /* has a checksum */
    uint32_t sum;
};

struct tare_npz {
    struct tare_arena arena;
    const char *name;
    const uint8_t *data;
    size_t length;
    bool mapped;
    struct entry *entries;
    size_t count;
};

static uint64_t little(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static int damaged(const struct tare_npz *npz, const char *what, struct tare_error *err)
{
    return tare_fail(err, TARE_E_INPUT, 0, "'%s' is not a sound .npz file: %s", npz->name, what);
}

/* The three numbers of a central entry that zip64 may move into an extra field, in its order. */
static bool read_zip64(const uint8_t *extra, size_t length, uint64_t *numbers[3])
{
    while (length >= 4) {
        size_t size = (size_t)little(extra + 2, 2);
        if (size > length - 4)
            return false;
        if (little(extra, 2) == 1) {
            const uint8_t *at = extra + 4;
            for (size_t i = 0; i < 3; i++) {
                if (*numbers[i] != 0xffffffff)
                    continue;
                if (size < 8)
                    return false;
                *numbers[i] = little(at, 8);
                at += 8;
                size -= 8;
            }
            return true;
        }
        extra += 4 + size;
        length -= 4 + size;
    }
    return true;
}

/* One entry of the central directory; *at moves behind it. */
static int read_entry(struct tare_npz *npz, size_t *at, struct entry *entry, struct tare_error *err)
{
    const uint8_t *head = npz->data + *at;
    size_t left = npz->length - *at;
    if (left < 46 || little(head, 4) != 0x02014b50)
        return damaged(npz, "its directory is damaged", err);
    unsigned flags = (unsigned)little(head + 8, 2), method = (unsigned)little(head + 10, 2);
    uint64_t packed = little(head + 20, 4), bytes = little(head + 24, 4), offset = little(head + 42, 4);
    size_t name = (size_t)little(head + 28, 2), extra = (size_t)little(head + 30, 2);
    size_t comment = (size_t)little(head + 32, 2);
    if (name + extra + comment > left - 46)
        return damaged(npz, "its directory is damaged", err);
    if (!read_zip64(head + 46 + name, extra, (uint64_t *[3]){&bytes, &packed, &offset}))
        return damaged(npz, "its directory is damaged", err);
    if (flags & 1)
        return damaged(npz, "it is encrypted", err);
    if (method != 0 && method != 8)
        return damaged(npz, "it is compressed in a way other than deflate", err);
    if (name > NAME_MAX_BYTES || memchr(head + 46, '\0', name))
        return damaged(npz, "a name in it is damaged", err);
    *at += 46 + name + extra + comment;
    /* The local header repeats the name, and has an extra field of its own. */
    if (offset > npz->length || npz->length - offset < 30 || little(npz->data + offset, 4) != 0x04034b50)
        return damaged(npz, "an array lies outside the file", err);
    const uint8_t *local = npz->data + offset;
    uint64_t skip = 30 + little(local + 26, 2) + little(local + 28, 2);
    if (skip > npz->length - offset || packed > npz->length - offset - skip)
        return damaged(npz, "an array runs past the end of the file", err);
    if (method == 0 ? bytes != packed : bytes / DEFLATE_RATIO_MAX > packed + 1)
        return damaged(npz, "an array claims a size that it cannot have", err);
    size_t shown = name > 4 && memcmp(head + 46 + name - 4, ".npy", 4) == 0 ? name - 4 : name;
    *entry = (struct entry){
        .name = tare_arena_text(&npz->arena, (const char *)head + 46, shown),
        .data = local + skip,
        .packed = packed,
        .bytes = bytes,
        .deflated = method == 8,
        .summed = true,
        .sum = (uint32_t)little(head + 16, 4),
    };
    return 0;
}

/* Where the end record is: it is last but for a comment. */
static bool find_end(const struct tare_npz *npz, size_t *ret_at)
{
    if (npz->length < 22)
        return false;
    size_t lowest = npz->length > 22 + 0xffff ? npz->length - 22 - 0xffff : 0;
    for (size_t at = npz->length - 22;; at--) {
        if (little(npz->data + at, 4) == 0x06054b50) {
            *ret_at = at;
            return true;
        }
        if (at == lowest)
            return false;
    }
}

static int read_directory(struct tare_npz *npz, struct tare_error *err)
{
    size_t end;
    if (!find_end(npz, &end))
        return damaged(npz, "it has no directory, so it is cut short or something else", err);
    uint64_t count = little(npz->data + end + 10, 2), at = little(npz->data + end + 16, 4);
    if ((count == 0xffff || at == 0xffffffff) && end >= 20 && little(npz->data + end - 20, 4) == 0x07064b50) {
        uint64_t record = little(npz->data + end - 20 + 8, 8);
        if (record > npz->length || npz->length - record < 56 || little(npz->data + record, 4) != 0x06064b50)
            return damaged(npz, "its directory is damaged", err);
        count = little(npz->data + record + 32, 8);
        at = little(npz->data + record + 48, 8);
    }
    if (count > ENTRIES_MAX)
        return damaged(npz, "it holds too many arrays", err);
    if (at > end)
        return damaged(npz, "its directory is damaged", err);
    npz->entries = tare_arena_array(&npz->arena, (size_t)count, sizeof *npz->entries);
    if (!npz->entries)
        return tare_arena_check(&npz->arena, err);
    size_t place = (size_t)at;
    for (; npz->count < count; npz->count++)
        if (read_entry(npz, &place, &npz->entries[npz->count], err) < 0)
            return -1;
    return tare_arena_check(&npz->arena, err);
}

static int read_all(struct tare_npz *npz, struct tare_error *err)
{
    if (npz->length >= 6 && memcmp(npz->data, "\x93NUMPY", 6) == 0) {
        npz->entries = tare_arena_alloc(&npz->arena, sizeof *npz->entries);
        if (!npz->entries)
            return tare_arena_check(&npz->arena, err);
        *npz->entries =
            (struct entry){.name = "", .data = npz->data, .packed = npz->length, .bytes = npz->length};
        npz->count = 1;
        return 0;
    }
    if (npz->length == 0)
        return damaged(npz, "it is empty", err);
    return read_directory(npz, err);
}

static int npz_create(const char *name, struct tare_npz **ret_npz, struct tare_error *err)
{
    struct tare_npz *npz = calloc(1, sizeof *npz);
    if (!npz)
        return tare_fail_memory(err);
    tare_arena_init(&npz->arena, 0);
    npz->name = tare_arena_copy(&npz->arena, name);
    *ret_npz = npz;
    return 0;
}

void tare_npz_close(struct tare_npz *npz)
{
    if (!npz)
        return;
    if (npz->mapped) {
        union {
            const uint8_t *data;
            void *map;
        } mapped = {npz->data};
        munmap(mapped.map, npz->length);
    }
    tare_arena_finish(&npz->arena);
    free(npz);
}

int tare_npz_open_memory(const void *data, size_t length, const char *name, struct tare_npz **ret_npz,
                         struct tare_error *err)
{
    struct tare_npz *npz = NULL;
    if (npz_create(name, &npz, err) < 0)
        return -1;
    npz->data = data;
    npz->length = length;
    if (read_all(npz, err) < 0) {
        tare_npz_close(npz);
        return -1;
    }
    *ret_npz = npz;
    return 0;
}

static int map_file(struct tare_npz *npz, const char *path, struct tare_error *err)
{
    struct stat stat;
    int rc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return tare_fail(err, TARE_E_IO, errno, "cannot open '%s'", path);
    if (fstat(fd, &stat) < 0) {
        rc = tare_fail(err, TARE_E_IO, errno, "cannot look at '%s'", path);
    } else if (!S_ISREG(stat.st_mode)) {
        rc = tare_fail(err, TARE_E_INPUT, 0, "'%s' is not a file", path);
    } else if (stat.st_size > 0) {
        void *map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            rc = tare_fail(err, TARE_E_IO, errno, "cannot map '%s'", path);
        } else {
            npz->data = map;
            npz->length = (size_t)stat.st_size;
            npz->mapped = true;
        }
    }
    close(fd);
    return rc;
}

int tare_npz_open(const char *path, struct tare_npz **ret_npz, struct tare_error *err)
{
    struct tare_npz *npz = NULL;
    if (npz_create(path, &npz, err) < 0)
        return -1;
    if (map_file(npz, path, err) < 0 || read_all(npz, err) < 0) {
        tare_npz_close(npz);
        return -1;
    }
    *ret_npz = npz;
    return 0;
}

size_t tare_npz_count(const struct tare_npz *npz)
{
    return npz->count;
}

const char *tare_npz_name(const struct tare_npz *npz, size_t i)
{
    return npz->entries[i].name;
}

/* Unpack a deflated entry; exactly entry->bytes must come out. */
static int unpack(const struct entry *entry, uint8_t *out, struct tare_error *err)
{
    z_stream stream = {0};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return tare_fail_memory(err);
    union {
        const uint8_t *from;
        Bytef *in;
    } data = {entry->data};
    uint64_t in = 0, done = 0;
    int rc = Z_OK;
    /* zlib counts in 32 bits, so large arrays go through it in pieces. */
    while (rc == Z_OK) {
        uint64_t in_left = entry->packed - in, out_left = entry->bytes - done;
        uInt in_piece = (uInt)(in_left < 1u << 30 ? in_left : 1u << 30);
        uInt out_piece = (uInt)(out_left < 1u << 30 ? out_left : 1u << 30);
        stream.next_in = data.in + in;
        stream.avail_in = in_piece;
        stream.next_out = out + done;
        stream.avail_out = out_piece;
        rc = inflate(&stream, Z_NO_FLUSH);
        in += in_piece - stream.avail_in;
        done += out_piece - stream.avail_out;
        if (rc == Z_OK && in_piece == stream.avail_in && out_piece == stream.avail_out)
            break;
    }
    inflateEnd(&stream);
    if (rc != Z_STREAM_END || done != entry->bytes)
        return tare_fail(err, TARE_E_INPUT, 0, "its compressed data is damaged");
    return 0;
}

static int read_array(const struct entry *entry, struct tare_arena *arena, struct tare_tensor *tensor,
                      struct tare_error *err)
{
    const uint8_t *data = entry->data;
    uint8_t *unpacked = NULL;
    int rc = -1;
    if (entry->deflated) {
        unpacked = malloc((size_t)entry->bytes + 1);
        if (!unpacked)
            return tare_fail_memory(err);
        if (unpack(entry, unpacked, err) < 0)
            goto out;
        data = unpacked;
    }
    if (entry->summed && (uint32_t)crc32_z(0, data, (z_size_t)entry->bytes) != entry->sum) {
        rc = tare_fail(err, TARE_E_INPUT, 0, "its checksum is wrong");
        goto out;
    }
    struct tare_npy npy;
    if (tare_npy_header(data, (size_t)entry->bytes, &npy, err) < 0)
        goto out;
    if (npy.bytes > entry->bytes - npy.header) {
        rc = tare_fail(err, TARE_E_INPUT, 0, "it ends before its data does");
        goto out;
    }
    *tensor = (struct tare_tensor){.name = tare_arena_copy(arena, entry->name), .element = npy.element};
    memcpy(tensor->dims, npy.dims, sizeof tensor->dims);
    tensor->rank = npy.rank;
    tensor->bytes = npy.bytes;
    tensor->data = tare_arena_alloc(arena, npy.bytes);
    rc = tare_arena_check(arena, err);
    if (rc == 0)
        tare_npy_copy(&npy, data + npy.header, tensor->data);
out:
    free(unpacked);
    return rc;
}

int tare_npz_read(const struct tare_npz *npz, size_t i, struct tare_arena *arena,
                  struct tare_tensor *ret_tensor, struct tare_error *err)
{
    struct tare_error inner = {0};
    struct tare_tensor tensor;
    if (read_array(&npz->entries[i], arena, &tensor, &inner) < 0)
        return tare_fail(err, inner.code, 0, "array '%.80s' of '%s' cannot be read: %s", npz->entries[i].name,
                         npz->name, inner.msg);
    *ret_tensor = tensor;
    return 0;
}
