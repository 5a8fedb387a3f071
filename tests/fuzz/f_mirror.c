/* Messages between the two sides of a mirror, and orders to the keeper: refused at the first broken rule, or read to
 * the end and written again byte for byte. A plan starts with its own head; everything else is a list of files. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/manifest.h"
#include "wire/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool inside(const char *path, size_t len)
{
	return len && path[0] != '/' && path[len - 1] != '/' && !memchr(path, 0, len) && !memmem(path, len, "//", 2) &&
	       !(len >= 2 && memcmp(path, "..", 2) == 0 && (len == 2 || path[2] == '/')) && !memmem(path, len, "/../", 4) &&
	       !(len >= 3 && memcmp(path + len - 3, "/..", 3) == 0);
}

static void as_plan(const char *bytes, size_t len)
{
	struct err err = ERR_INIT;
	struct plan_op op;
	size_t pos = 0;
	int rc;
	CLEANUP(buf_release) struct buf again = BUF_INIT;
	plan_begin(&again);
	while ((rc = plan_next(bytes, len, &pos, 3, &op, &err)) > 0) {
		if (!inside(op.path, op.path_len) || (op.kind == PLAN_FILE && op.fd >= 3) || op.mode & 06000 || op.mode > 07777 ||
		    (op.kind == PLAN_LINK && !inside(op.target, op.target_len)))
			abort();
		plan_add(&again, &op);
	}
	if (rc < 0 ? !err.text[0] : again.len != len || memcmp(again.data, bytes, len) != 0)
		abort();
}

static void as_manifest(const char *bytes, size_t len)
{
	struct err err = ERR_INIT;
	struct manifest_entry e;
	struct manifest_at at = { 0 };
	int rc;
	CLEANUP(buf_release) struct buf again = BUF_INIT;
	CLEANUP(free_ptr) char *last = NULL;
	while ((rc = manifest_next(bytes, len, &at, &e, &err)) > 0) {
		if (!inside(e.path, strlen(e.path)) || (last && manifest_cmp(last, e.path) >= 0) || e.mode > 07777)
			abort();
		free(last);
		last = mem_strdup(e.path);
		manifest_put(&again, &e);
	}
	if (rc < 0 ? !err.text[0] : again.len != len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 4 && memcmp(data, "SGPL", 4) == 0)
		as_plan((const char *)data, size);
	else
		as_manifest((const char *)data, size);
	return 0;
}
