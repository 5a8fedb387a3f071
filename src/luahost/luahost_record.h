/* Frames to a Lua host as events: what makes a session run again from its record. */
#ifndef LUAHOST_LUAHOST_RECORD_H
#define LUAHOST_LUAHOST_RECORD_H

#include "record/read/session.h"
#include "record/record.h"

/* Appends host.frame. Output that the record holds already (RES.out and RES.err) is left out and
 * named {"$out":[action,stream]} instead; the text of a module of the library is {"$library":H}
 * (library_kept.h). luahost_rebuild_frame puts both back. @body is borrowed and
 * stays as it is. */
void luahost_record_frame(struct record *r, uint64_t cause, uint64_t ordinal, uint16_t type,
			  uint64_t id, const json_t *body);

/* The frame of a host.frame event exactly as it was sent: fills type and id, appends the body's
 * bytes to @out. */
NODISCARD int luahost_rebuild_frame(struct session *s, const struct event *ev, uint16_t *type_out,
				    uint64_t *id_out, struct buf *out, struct err *err);

#endif
