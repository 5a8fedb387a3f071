/* The program's own diary, for its developers: SANDGLASS_LOG=debug|info|warn|error (default warn),
 * to stderr. What users must know is an event or an error line, never a log line. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/compat.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_open(const char *program); /* reads SANDGLASS_LOG */
void log_line(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
