/* A console waits most of the time and must answer at once when a key comes, also while builds and
 * agents have every processor. It asks the scheduler for short turns (since Linux 6.12): who takes
 * little at a time is let in sooner, and gets no more of the machine than before. Elsewhere nothing
 * changes. */
#ifndef UI_SCHED_SLICE_H
#define UI_SCHED_SLICE_H

void sched_slice(void); /* this thread; programs that it starts have their own way */

#endif
