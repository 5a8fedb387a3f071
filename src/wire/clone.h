/* Where a sandbox of the process backend has its workspace a second time: CLONE_FROM/workspace
 * (keeper/root.c says why). Policies see paths below it as paths below /workspace. */
#ifndef WIRE_CLONE_H
#define WIRE_CLONE_H

#define CLONE_FROM "/run/sandglass/clone"

#endif
