/* A program that has the terminal while we wait for it: an editor, a pager, the user's own shell or
 * command.
 *
 * It is in our process group, as is our caller: a script, make. A stop stops the whole group (a
 * shell notices a stopped job only by its leader), and the group continues together. If no shell
 * could continue us, the program continues at once. After its end the terminal is ours again,
 * even if it belonged to a group that is gone. A process that sets up a foreign terminal is
 * stopped by it (SIGTTOU). */
#ifndef UI_FOREGROUND_H
#define UI_FOREGROUND_H

#include <sys/types.h>

/* Until our child @pid has ended: its status as waitpid gives it, -1 there is none to wait for. */
int foreground_wait(pid_t pid);
/* Stops our process group as Ctrl-Z does. Returns when it continues; at once if no shell could
 * continue it. */
void foreground_stop(void);

#endif
