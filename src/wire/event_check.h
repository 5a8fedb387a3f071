/* Tests compare every recorded body with its declaration, so that a field that no events.def
 * declares, or of another type, fails them. */
#ifndef WIRE_EVENT_CHECK_H
#define WIRE_EVENT_CHECK_H

#include "wire/event_body.h"

/* False: @why (reset first) names the first field that differs, such as
 * "action.ended: unknown field 'targets[].new'". An unknown kind is not compared. */
bool event_check(uint16_t kind, const char *body, size_t len, struct buf *why);

/* If the environment variable EVENT_CHECK names a file: appends a line to it for a body that
 * differs. "abort": prints the line and aborts. */
void event_check_recorded(uint16_t kind, const char *body, size_t len);

#endif
