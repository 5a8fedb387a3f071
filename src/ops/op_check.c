/* sg.check: the session so far held against a check file, the same that `verify --with` runs later.
 * In a thread, over a reader's connection of its own, after all that the script has done is in the
 * file. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "luahost/luahost.h"
#include "supervisor/core/call.h"
#include "check/check.h"
#include "ops/op.h"
#include "ops/script_tree.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/paths.h"

enum { TEXT_MAX = 1 << 20 };

struct check_job {
	struct call *call; /* NULL: it has gone */
	struct super *super;
	char *session, *file;
	uint64_t head;
	json_t *results;
	struct err err;
	int rc;
};

static void op_check_job_free(struct check_job *j)
{
	free(j->session);
	free(j->file);
	json_decref(j->results);
	free(j);
}

static void op_check_work(void *self)
{
	struct check_job *j = self;
	struct session *s;
	j->rc = session_open(&s, j->session, &j->err);
	if (j->rc < 0)
		return;
	j->rc = check_file(s, j->file, &j->results, &j->err);
	session_close(&s);
}

static int64_t op_check_failures(const json_t *results)
{
	json_t *r;
	size_t i;
	int64_t n = 0;
	json_array_foreach(results, i, r)
	{
		const char *word = json_str(r, "result", "");
		n += !strcmp(word, "failed") || !strcmp(word, "error");
	}
	return n;
}

static json_t *op_check_body_of(const struct check_job *j)
{
	json_t *body = json_object();
	CLEANUP(buf_release) struct buf text = BUF_INIT, hex = BUF_INIT;
	struct err none = ERR_INIT;
	struct hash h;
	json_put_bytes(body, "file", j->file, strlen(j->file));
	if (file_read(j->file, &text, TEXT_MAX, &none) == 0) {
		hash_of(text.data, text.len, &h);
		hex_append(&hex, h.b, HASH_LEN);
		json_put_str(body, "hash", buf_cstr(&hex));
	}
	json_put_int(body, "head", (int64_t)j->head);
	json_put_int(body, "failed", op_check_failures(j->results));
	json_put_flag(body, "ok", !op_check_failures(j->results));
	json_put(body, "results", json_incref(j->results));
	return body;
}

static void op_check_answer(struct check_job *j)
{
	struct call *c = j->call;
	c->data = NULL;
	if (j->rc < 0) {
		call_fail_err(c, &j->err);
		return;
	}
	json_t *v = json_object(), *body = op_check_body_of(j);
	json_put_flag(v, "ok", json_flag(body, "ok", false));
	json_put_int(v, "failed", json_int(body, "failed", 0));
	json_put(v, "results", json_incref(j->results));
	json_put_int(body, "call", (int64_t)c->id);
	json_put_int(v, "event",
		     (int64_t)record_append_json(c->super->record, EV_CHECK_DONE,
						 c->agent ? c->agent : c->super->start_seq,
						 c->agent, 0, 0, body));
	call_answer(c, v);
}

static void op_check_done(void *self)
{
	struct check_job *j = self;
	j->super->background--;
	if (j->call)
		op_check_answer(j);
	op_check_job_free(j);
}

static void op_check_forget(void *data)
{
	struct check_job *j = data;
	j->call = NULL; /* its thread continues without a caller */
}

static void op_check_drop(void *data)
{
	op_check_job_free(data); /* before its thread began */
}

/* All that the script has done is in the file. */
static void op_check_begin(void *self)
{
	struct call *c = self;
	struct check_job *j = c->data;
	c->free_data = op_check_forget;
	j->super->background++;
	loop_job_run(j->super->loop, op_check_work, op_check_done, j);
}

void op_check(struct call *c)
{
	const char *name = json_str(c->args, "file", ""), *dir = luahost_dir(c->host);
	CLEANUP(free_ptr)
	char *file = *name == '/' || !dir ? mem_strdup(name) : path_join(dir, name);
	if (access(file, F_OK) == 0 && !script_tree_file(c, file)) {
		call_fail(c, "denied", NULL, NULL, 0,
			  "checks '%s' lie outside of what this file may load", name);
		return;
	}
	struct check_job *j = NEW(struct check_job);
	j->call = c;
	j->super = c->super;
	j->session = mem_strdup(record_path(c->super->record));
	j->file = take(&file);
	j->head = record_head(c->super->record);
	c->data = j;
	c->free_data = op_check_drop;
	record_barrier(c->super->record, j->head, op_check_begin, c);
}
