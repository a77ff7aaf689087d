/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for an ONNX Runtime library: a good one, or one that crashes, ends the process or hangs while it
 * is loaded. */
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
    (void)version;
    return NULL;
}

static const char *get_version(void)
{
    return "1.99.7";
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
