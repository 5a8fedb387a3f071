/* Places where a crash test kills us: FAILPOINT=name[:n] in the environment raises SIGKILL at the
 * n-th pass (1 if not given) of failpoint("name"). Compiled in always (one comparison of a NULL
 * pointer), listed by tests/crash/. */
#ifndef BASE_FAILPOINT_H
#define BASE_FAILPOINT_H

void failpoint_hit(const char *name);

#endif
