/* Settings as they hold: the first of option, environment variable, project (if trusted), user,
 * system, built in that says something. The table is in cmd_config.c. */
#ifndef CLI_LIB_CONFIG_H
#define CLI_LIB_CONFIG_H

#include "cli/lib/cmd.h"

struct config;

/* Reads the files (each once, in a Lua host). ERR_SCRIPT with file and line when one is wrong. */
NODISCARD int config_open(struct config **out, struct cmd_ctx *ctx, struct err *err);
void config_close(struct config **c);
/* As text; NULL when nothing says anything. Returns owned. */
char *config_value(const struct config *c, const char *name);
/* All settings below "NAME.": the rest of each name -> value. Returns owned; never NULL. */
json_t *config_below(const struct config *c, const char *name);

/* A table of tables ("models") as one object, the nearest layer first; NULL when nothing says
 * anything. Returns owned. */
json_t *config_object(const struct config *c, const char *name);
/* Puts @name's value, true or false, as "1" or "0" into @variable. A variable that the user has
 * set takes precedence. */
void config_to_env(const struct config *c, const char *name, const char *variable);
/* Where session files lie: the setting `sessions`. Returns owned, never NULL. */
char *config_sessions(struct cmd_ctx *ctx);
/* Makes the setting `user` the name under which this process and its children act
 * (SANDGLASS_USER). */
void config_user(struct cmd_ctx *ctx);

#endif
