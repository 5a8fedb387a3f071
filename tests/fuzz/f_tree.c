/* Raw git trees and attrs blobs, as in a damaged or foreign session file: refused, or read to the end. A tree that
 * was read is written again byte for byte. */
#include <stdlib.h>
#include <string.h>

#include "sandbox/workspace/memstore.h"
#include "sandbox/workspace/tree.h"
#include "sandbox/workspace/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool on_entry(void *self, const char *path, size_t len, unsigned mode, const struct object_id *oid, struct err *err)
{
	(void)mode, (void)oid, (void)err;
	if (!len || path[0] == '/' || ++*(int *)self > 1000)
		return false;
	return true;
}

static void as_tree(const char *bytes, size_t len)
{
	struct err err = ERR_INIT;
	struct buf again = BUF_INIT;
	struct tree_entry e;
	size_t pos = 0;
	int rc, nr = 0;
	while ((rc = tree_next(bytes, len, &pos, &e, &err)) > 0)
		tree_append(&again, e.mode, e.name, e.name_len, &e.oid);
	if (rc == 0 && len < 1 << 16) {
		struct memstore *m = memstore_new(NULL);
		struct ws_store st = memstore_store(m);
		struct object_id id, out;
		st.add(st.self, OBJECT_TREE, bytes, len, &id);
		struct tree_edit edit[2] = { { .path = "new", .len = 3, .mode = 0100644, .oid = id },
					     { .path = "a/b", .len = 3, .mode = 0100644, .oid = id } };
		(void)!tree_each(&st, &id, true, on_entry, &nr, &err);
		if (tree_edit(&st, &id, edit, 2, &out, &err) == 0) {
			unsigned mode;
			struct object_id found;
			if (tree_find(&st, &out, "new", 3, &mode, &found, &err) != 1 || memcmp(&found, &id, sizeof(id)) != 0)
				abort();
		}
		memstore_free(&m);
	}
	if (rc < 0 && !err.text[0])
		abort();
	buf_release(&again);
}

static void as_attrs(const char *bytes, size_t len)
{
	struct err err = ERR_INIT;
	struct attrs_line l;
	size_t pos = 0;
	int rc;
	while ((rc = attrs_next(bytes, len, &pos, &l, &err)) > 0)
		if (!l.len || l.state.kind == WS_NONE || l.state.kind > WS_BLK || l.state.mode > 07777)
			abort();
	if (rc < 0 && !err.text[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	if (size < 1)
		return 0;
	if (bytes[0] == 'n' || bytes[0] == 'b')
		as_attrs(bytes, size);
	else
		as_tree(bytes, size);
	return 0;
}
