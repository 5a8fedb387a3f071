/* Behaviour tests: sandglass test --suite FILE (lua/sandglass/suite.lua says what is in one). */
#ifndef APP_SUITE_H
#define APP_SUITE_H

#include "app/cmd/cmd.h"

/* Runs all scenarios, tells each run and each scenario; the exit status. */
int suite_test(struct cmd_ctx *ctx, const char *file);

#endif
