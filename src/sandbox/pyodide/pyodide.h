/* A box for Python alone: the npm package pyodide (CPython in WebAssembly) in node, and node in
 * a box of the process driver with an empty network (process.h). So there are two walls: what
 * gets out of the interpreter is in a process box, which has the workspace as every other has;
 * snapshots, diffs, rollbacks, forks and freezing are the process driver's own.
 *
 * It has no shell, no other program, no process, and no socket. It runs: python (python3, with
 * any directory before it) with -c CODE, -m MODULE, FILE, - or nothing (the code is the input;
 * on a terminal it is interactive), and pip install FILE.whl. A text for sh is taken apart if it
 * is one such command: literal words, variables before them, a here-document. All else ends with
 * 127 and one line that says this. Python sees /workspace, /home/agent and /tmp, there names in
 * UTF-8 only (the verbs of driver.h take all); an exit status is all that it can end with, but
 * for SIGINT, TERM and KILL from outside.
 *
 * Each command has an interpreter (a process of node) of its own; one that has been started
 * waits for the next command (pyodide_run.c). They begin from a memory image that is made once
 * for each version (about 3 s) and kept in the cache.
 *
 * Options (box_opts.driver): package: the directory of the npm package, else
 * $XDG_DATA_HOME/sandglass/pyodide/node_modules/ pyodide or that of a global npm; node: the
 * program, else that of PATH. */
#ifndef SANDBOX_PYODIDE_PYODIDE_H
#define SANDBOX_PYODIDE_PYODIDE_H

#include "sandbox/driver.h"

extern const struct driver driver_pyodide;

#endif
