/* What sandglass-replay can't find out, since it has nothing that could run a check: claims and
 * unmerged files of the recording. */
#ifndef CLI_REPLAY_NOTES_H
#define CLI_REPLAY_NOTES_H

/* Returns a descriptor for a program that we become, from which they come as JSON lines
 * (ui/frame/claimed.h); -1: it can't be had. */
int replay_notes_open(const char *path);

#endif
