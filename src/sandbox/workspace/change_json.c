#include "sandbox/workspace/change_json.h"

#include <stdio.h>
#include <sys/stat.h>

static void change_json_put_state(json_t *o, const struct ws_state *s, bool sizes)
{
	static const unsigned type[] = { 0,	  S_IFREG,  S_IFLNK, S_IFDIR,
					 S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK };
	char mode[16], hex[41];
	snprintf(mode, sizeof(mode), "%06o", type[s->kind] | s->mode);
	json_put_str(o, "mode", mode);
	if (sizes && ws_has_content(s))
		json_put_int(o, "size", (int64_t)s->size);
	if (!object_is_null(&s->oid)) {
		object_hex(&s->oid, hex);
		json_put_str(o, "oid", hex);
	}
	if (s->flags & WS_HASH_ONLY)
		json_put_flag(o, "hash_only", true);
	if (s->flags & WS_UNREADABLE)
		json_put_flag(o, "unreadable", true);
	if (s->flags & WS_TORN)
		json_put_flag(o, "torn", true);
}

json_t *ws_change_json(const char *path, size_t len, const struct ws_state *was,
		       const struct ws_state *now, bool sizes)
{
	json_t *o = json_object();
	const char op[] = { ws_state_op(was, now), 0 };
	json_put_str(o, "op", op);
	json_put_bytes(o, "path", path, len);
	json_put_str(o, "kind", ws_kind_name((enum ws_kind)(now->kind ? now->kind : was->kind)));
	if (now->kind != WS_NONE)
		change_json_put_state(o, now, sizes);
	if (was->kind != WS_NONE) {
		json_t *before = json_object();
		change_json_put_state(before, was, sizes);
		json_put(o, "was", before);
	}
	return o;
}
