/* Behavior tests: sandglass test --suite FILE (lua/sandglass/suite.lua says what is in one). */
#ifndef SUITE_SUITE_H
#define SUITE_SUITE_H

#include "cli/lib/cmd.h"

/* Runs all scenarios, tells each run and each scenario; the exit status. */
int suite_test(struct cmd_ctx *ctx, const char *file);

#endif
