/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dispatch shares with the help command: the table of commands as pages of help.
 */
#ifndef TARE_CMD_DISPATCH_H
#define TARE_CMD_DISPATCH_H

#include "cmd/cmd.h"

/** The command of that name, or NULL. */
const struct tare_cmd *tare_cmd_find(const char *name);

/** A command as its help needs it. */
struct tare_opt_page tare_cmd_page(const struct tare_cmd *cmd);

/** The program and all commands; NULL when memory runs out. */
const struct tare_opt_page *tare_cmd_pages(struct tare_arena *arena, size_t *ret_count);

/** Columns of the terminal, 80 where there is none. */
unsigned tare_cmd_width(void);

/** Fail with the closest name. */
int tare_cmd_unknown(const char *name, struct tare_error *err);

#endif
