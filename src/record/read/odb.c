#include "record/read/odb.h"

#include <git2/sys/odb_backend.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct backend {
	git_odb_backend parent; /* first: libgit2 hands this back */
	struct session *s;
	struct buf bytes;
};

static int odb_fetch(git_odb_backend *parent, const git_oid *oid, enum object_type *type)
{
	struct backend *b = (struct backend *)parent;
	struct object_id id;
	struct err err;
	memcpy(id.b, oid->id, sizeof(id.b));
	if (session_object(b->s, &id, type, &b->bytes, &err) == 0)
		return GIT_OK;
	git_error_set_str(GIT_ERROR_ODB, err.text);
	return err.code == ERR_NOENT || err.code == ERR_CANCELLED ? GIT_ENOTFOUND : GIT_ERROR;
}

static git_object_t git_type(enum object_type type)
{
	return type == OBJECT_TREE ? GIT_OBJECT_TREE : GIT_OBJECT_BLOB;
}

static int odb_read(void **data, size_t *len, git_object_t *type, git_odb_backend *parent,
		    const git_oid *oid)
{
	struct backend *b = (struct backend *)parent;
	enum object_type t = OBJECT_BLOB;
	int rc = odb_fetch(parent, oid, &t);
	if (rc != GIT_OK)
		return rc;
	*data = git_odb_backend_data_alloc(parent, b->bytes.len + 1);
	if (!*data)
		return GIT_ERROR;
	if (b->bytes.len)
		memcpy(*data, b->bytes.data, b->bytes.len);
	((char *)*data)[b->bytes.len] = 0;
	*len = b->bytes.len;
	*type = git_type(t);
	return GIT_OK;
}

static int odb_header(size_t *len, git_object_t *type, git_odb_backend *parent, const git_oid *oid)
{
	enum object_type t = OBJECT_BLOB;
	int rc = odb_fetch(parent, oid, &t);
	*len = ((struct backend *)parent)->bytes.len;
	*type = git_type(t);
	return rc;
}

static int odb_exists(git_odb_backend *parent, const git_oid *oid)
{
	return odb_fetch(parent, oid, NULL) == GIT_OK;
}

static void odb_free(git_odb_backend *parent)
{
	struct backend *b = (struct backend *)parent;
	buf_release(&b->bytes);
	free(b);
}

int odb_open(git_odb **out, struct session *s, struct err *err)
{
	struct backend *b = NEW(struct backend);
	git_odb *odb = NULL;
	git_odb_init_backend(&b->parent, GIT_ODB_BACKEND_VERSION);
	b->parent.read = odb_read;
	b->parent.read_header = odb_header;
	b->parent.exists = odb_exists;
	b->parent.free = odb_free;
	b->s = s;
	if (git_odb_new(&odb) < 0 || git_odb_add_backend(odb, &b->parent, 1) < 0) {
		const git_error *why = git_error_last();
		git_odb_free(odb);
		free(b);
		return err_set(err, ERR_IO, "can't create an object database: %s",
			       why ? why->message : "unknown");
	}
	*out = odb;
	return 0;
}
