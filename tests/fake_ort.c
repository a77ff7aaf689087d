/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for an ONNX Runtime library: a good one of any version, or one that crashes, ends the process or
 * hangs while it is loaded. What was asked for is written over the first byte of its interface. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_base {
    const void *(*get_api)(uint32_t version);
    const char *(*get_version)(void);
};

const struct fake_base *OrtGetApiBase(void);

static const void *get_api(uint32_t version)
{
    static unsigned char api[1];
    api[0] = (unsigned char)version;
    return getenv("TARE_FAKE_ORT_NO_API") ? NULL : api;
}

static const char *get_version(void)
{
    const char *version = getenv("TARE_FAKE_ORT_VERSION");
    return version ? version : "1.99.7";
}

__attribute__((constructor)) static void at_load(void)
{
    const char *mood = getenv("TARE_FAKE_ORT");
    if (mood && strcmp(mood, "crash") == 0) {
        /* Past the handler of a sanitizer. */
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (mood && strcmp(mood, "exit") == 0)
        _exit(3);
    if (mood && strcmp(mood, "hang") == 0)
        for (;;)
            pause();
}

__attribute__((visibility("default"))) const struct fake_base *OrtGetApiBase(void)
{
    static const struct fake_base base = {get_api, get_version};
    return &base;
}
