/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small inference server's loop, recorded: two worker threads answer requests, each with a tokenizer and a
 * model.
 *
 *     cc server.c $(pkg-config --static --cflags --libs tare) -o server
 *     mkdir captures && ./server captures && tare report captures
 */
#include <pthread.h>
#include <stdio.h>
#include <tare/tare.h>

enum { WORKERS = 2, REQUESTS = 200, HIDDEN = 96 };

static int tokenize(int request)
{
    TARE_SPAN("tokenize");
    int tokens = 0;
    for (int i = 0; i < 2000; i++)
        tokens += (request + i) % 7 == 0;
    TARE_COUNT("tokens", tokens);
    return tokens;
}

static double forward(int tokens)
{
    TARE_SPAN("forward");
    double state[HIDDEN] = {0};
    for (int layer = 0; layer < 6; layer++) {
        TARE_SPAN("layer");
        for (int i = 0; i < HIDDEN; i++)
            for (int j = 0; j < HIDDEN; j++)
                state[i] += 1e-3 * state[j] + tokens;
    }
    return state[0];
}

static void *worker(void *sum)
{
    pthread_setname_np(pthread_self(), "worker");
    TARE_SPAN("serve");
    for (int request = 0; request < REQUESTS; request++) {
        tare_step();
        *(double *)sum += forward(tokenize(request));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    char problem[240];
    if (tare_record_begin(argc > 1 ? argv[1] : NULL, problem, sizeof problem) < 0) {
        fprintf(stderr, "server: not recorded: %s\n", problem);
        return 1;
    }
    pthread_t threads[WORKERS];
    double sums[WORKERS] = {0};
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, worker, &sums[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    printf("%s\n", tare_record_path());
    tare_record_end();
    return 0;
}
