/* A shard without a session that was redacted or removed. */
#include <unistd.h>

#include "catalog/catalog.h"

int catalog_without(const char *path, const char *file, const uint8_t *uuid, struct err *err)
{
	struct shard_maker *m = shard_maker_new();
	int rc = shard_maker_take(m, path, file, uuid, err);
	if (rc == 0 && shard_maker_count(m))
		rc = shard_maker_write(m, path, err);
	else if (rc == 0 && unlink(path) < 0)
		rc = err_sys(err, "can't remove '%s'", path);
	shard_maker_free(&m);
	return rc;
}
