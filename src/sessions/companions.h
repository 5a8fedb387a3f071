/* The files beside a session file that belong to it: its log, lease, reserve, anchors. */
#ifndef SESSIONS_COMPANIONS_H
#define SESSIONS_COMPANIONS_H

#include <stdint.h>

int64_t session_companions_usage(const char *path); /* bytes on disk */
void session_companions_remove(const char *path);

#endif
