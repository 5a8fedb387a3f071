/* sandglass export --all -F tables: many sessions as tables (exchange/tables.h). */
#ifndef CLI_EXPORT_TABLES_H
#define CLI_EXPORT_TABLES_H

#include "cli/lib/cmd.h"

int export_tables(struct cmd_ctx *ctx); /* exit status */

#endif
