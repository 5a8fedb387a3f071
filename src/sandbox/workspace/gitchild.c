#include "sandbox/workspace/gitchild.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/workspace/merge.h"
#include "wire/frame.h"

enum { HISTORY_CPU_S = 10, HISTORY_WINDOW = 32 << 20 };
#define HISTORY_BYTES (2ULL << 30)

/* --- questions to the parent --- */

static int gitchild_ask(struct target *t, unsigned type, const void *body, size_t len,
			struct buf *out, struct err *err)
{
	struct frame f;
	size_t none = 0;
	if (frame_send(t->sock, (uint16_t)type, 0, body, len, NULL, 0, err) < 0 ||
	    frame_recv(t->sock, CHILD_MAX_BODY, &f, out, NULL, &none, err) < 0)
		return -1;
	if (f.type == CHILD_NONE)
		return 1;
	if (f.type == CHILD_ERR)
		return err_set(err, ERR_IO, "%.*s", (int)(f.len < 400 ? f.len : 400), f.body);
	return f.type == CHILD_BLOB || f.type == CHILD_OK
		       ? 0
		       : err_set(err, ERR_PARSE, "merge: unexpected answer");
}

int child_get(struct target *t, const struct object_id *id, struct buf *out, struct err *err)
{
	return gitchild_ask(t, CHILD_GET, id->b, sizeof(id->b), out, err);
}

int child_load(struct target *t, const char *name, struct buf *out, struct err *err)
{
	return gitchild_ask(t, CHILD_LOAD, name, strlen(name), out, err);
}

int child_save(struct target *t, const char *name, const void *bytes, size_t len, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(buf_release) struct buf answer = BUF_INIT;
	buf_append(&b, name, strlen(name) + 1);
	buf_append(&b, bytes, len);
	int rc = gitchild_ask(t, CHILD_SAVE, buf_cstr(&b), b.len, &answer, err);
	return rc > 0 ? err_set(err, ERR_IO, "can't keep the record of the merge") : rc;
}

/* --- requests --- */

static git_name_rule *child_suspect; /* of git_child_main */

/* A history may be made to be read without end. */
static void gitchild_limit(void)
{
	const struct rlimit cpu = { .rlim_cur = HISTORY_CPU_S, .rlim_max = HISTORY_CPU_S };
	(void)setrlimit(RLIMIT_CPU, &cpu);
#ifndef __SANITIZE_ADDRESS__ /* its shadow alone takes more */
	const struct rlimit mem = { .rlim_cur = HISTORY_BYTES, .rlim_max = HISTORY_BYTES };
	(void)setrlimit(RLIMIT_AS, &mem);
	/* packs larger than that are read through smaller windows */
	(void)git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, (size_t)HISTORY_WINDOW);
	(void)git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, (size_t)HISTORY_BYTES / 4);
#endif
}

static int gitchild_serve(struct target *t, unsigned type, json_t *request, json_t **out,
			  struct err *err)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	const char *dir =
		json_get_bytes(json_object_get(request, "dir"), &name) ? buf_cstr(&name) : NULL;
	switch (type) {
	case CHILD_LOOK:
	case CHILD_PREPARE:
	case CHILD_UNDO:
	case CHILD_SETTLE:
	case CHILD_FORGET:
	case CHILD_HISTORY:
		if (!dir)
			return err_set(err, ERR_PARSE, "merge: no directory");
		if (type == CHILD_HISTORY)
			gitchild_limit();
		target_close(t);
		t->request = json_incref(request);
		if (target_open(t, dir, err) < 0)
			return err_wrap(err, "'%s'", dir);
		if (type == CHILD_LOOK) {
			*out = target_look(t);
			if (json_object_get(request, "paths"))
				json_put(*out, "nested",
					 target_nested(t, json_object_get(request, "paths")));
			return 0;
		}
		if (type == CHILD_HISTORY)
			return history_look(t, child_suspect, out, err);
		if (type == CHILD_FORGET)
			return forget_refs(t, out, err);
		if (type == CHILD_SETTLE)
			return settle_run(t, out, err);
		return type == CHILD_UNDO ? undo_run(t, out, err) : plan_prepare(t, out, err);
	case CHILD_COMMIT:
		return plan_commit(t, out, err);
	case CHILD_ABORT:
		*out = json_object();
		return plan_abort(t, err);
	default:
		return err_set(err, ERR_PARSE, "merge: unknown request");
	}
}

static int gitchild_answer(struct target *t, const struct frame *f, struct err *err)
{
	json_t *request = json_parse(f->body, f->len, "a merge request", err), *out = NULL;
	struct err why = ERR_INIT;
	if (!request)
		return -1;
	int rc = gitchild_serve(t, f->type, request, &out, &why);
	json_decref(request);
	if (rc < 0) {
		json_decref(out);
		out = json_object();
		json_put_int(out, "code", why.code);
		json_put_str(out, "text", why.text);
	}
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_dump_buf(out, &b);
	json_decref(out);
	return frame_send(t->sock, rc < 0 ? CHILD_ERR : CHILD_OK, f->id, buf_cstr(&b), b.len, NULL,
			  0, err);
}

int git_child_main(int sock, git_name_rule *suspect)
{
	struct target t = { .sock = sock, .root = -1, .config = -1 };
	struct err err = ERR_INIT;
	struct buf body = BUF_INIT;
	struct frame f;
	size_t none = 0;
	child_suspect = suspect;
	while (frame_recv(sock, CHILD_MAX_BODY, &f, &body, NULL, &none, &err) == 0)
		if (gitchild_answer(&t, &f, &err) < 0)
			break;
	target_close(&t);
	buf_release(&body);
	return err.code == ERR_CLOSED ? 0 : 1;
}
