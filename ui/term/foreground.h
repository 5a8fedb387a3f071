/* A program that has the terminal while we wait for it: an editor, a pager, a person's own shell or
 * command.
 *
 * It is of our process group, and so is whoever called us: a script, make. When it is stopped, all
 * of the group are (a shell sees a job stop only when its leader does), and they go on together;
 * where nobody could let us go on, it goes on at once. When it has ended the terminal is ours
 * again, also if it had given it to a group that is no more: whoever sets a terminal up that is not
 * his is stopped by it (SIGTTOU). */
#ifndef UI_FOREGROUND_H
#define UI_FOREGROUND_H

#include <sys/types.h>

/* Until our child @pid has ended: its status as waitpid gives it, -1 there is none to wait for. */
int foreground_wait(pid_t pid);
/* Stops our process group as Ctrl-Z does. Returns when it goes on; at once where no shell could let
 * it. */
void foreground_stop(void);

#endif
