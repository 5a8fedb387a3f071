#include "sandbox/effect_file.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"

enum { READ_CHUNK = 1 << 20, GLOB_MAX = 20000, GLOB_DEPTH = 64 };

/* One file action under way. Drivers answer once; an action that was cancelled meanwhile just ends
 * as cancelled. */
struct file_job {
	struct slot *slot;
	struct action *action;
	bool cancelled;
	/* edit */
	struct buf text;
	int added, removed, line;
	/* glob */
	struct strv todo, found;
	size_t next;
};

static void effect_file_finish(struct file_job *j, enum action_end end, json_t *body,
			       const struct err *err)
{
	struct action *a = j->action;
	action_set_tag(a, NULL);
	buf_release(&j->text);
	strv_release(&j->todo);
	strv_release(&j->found);
	bool cancelled = j->cancelled;
	struct slot *s = j->slot;
	struct err died = ERR_INIT;
	if (err && err->code == ERR_CLOSED && !s->closing) {
		CLEANUP(free_ptr) char *why = effect_died(s, err->text);
		s->lost = true;
		err_set(&died, ERR_CLOSED, "%s", why);
		err = &died;
	}
	free(j);
	boxes_hold_answer(s->boxes, s->id, false);
	if (cancelled) {
		json_decref(body);
		action_ended(a, END_CANCELLED, NULL);
	} else if (err) {
		action_fail(a, err);
	} else {
		action_ended(a, end, body);
	}
}

static json_t *size_and_hash(const void *bytes, size_t len)
{
	struct hash h;
	struct buf hex = BUF_INIT;
	json_t *body = json_object();
	hash_of(bytes, len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	json_put_int(body, "bytes", (int64_t)len);
	json_put_str(body, "hash", buf_cstr(&hex));
	buf_release(&hex);
	return body;
}

static void effect_file_closed(struct file_job *j)
{
	struct err why = ERR_INIT;
	err_set(&why, ERR_CLOSED, "sandbox '%s' is closed", j->slot->name);
	effect_file_finish(j, END_FAILED, NULL, &why);
}

/* --- read --- */

static void on_read(void *self, json_t *result, const struct err *err)
{
	struct file_job *j = self;
	if (err) {
		effect_file_finish(j, END_FAILED, NULL, err);
		return;
	}
	struct buf data = BUF_INIT;
	json_get_bytes(json_object_get(result, "data"), &data);
	for (size_t at = 0; at < data.len && !j->cancelled; at += READ_CHUNK)
		action_output(j->action, STREAM_OUT, data.data + at,
			      data.len - at < READ_CHUNK ? data.len - at : READ_CHUNK);
	json_t *body = size_and_hash(buf_cstr(&data), data.len);
	if (json_is_integer(json_object_get(result, "mode")))
		json_put_int(body, "mode", json_int(result, "mode", 0));
	if (json_int(result, "size", 0) > (int64_t)data.len)
		json_put_int(body, "size", json_int(result, "size", 0)); /* the rest was not read */
	buf_release(&data);
	effect_file_finish(j, END_OK, body, NULL);
}

/* --- write --- */

static void effect_file_on_written(void *self, json_t *result, const struct err *err)
{
	struct file_job *j = self;
	(void)result;
	if (err) {
		effect_file_finish(j, END_FAILED, NULL, err);
		return;
	}
	const struct action_spec *spec = action_spec(j->action);
	bool edit = spec->kind == ACT_EDIT;
	json_t *body = edit ? size_and_hash(buf_cstr(&j->text), j->text.len)
			    : size_and_hash(spec->data_len ? spec->data : "", spec->data_len);
	if (edit) {
		json_put_int(body, "line", j->line);
		json_put_int(body, "added", j->added);
		json_put_int(body, "removed", j->removed);
	}
	effect_file_finish(j, END_OK, body, NULL);
}

/* --- edit --- */

int file_whole(const json_t *result, const char *path, struct buf *out, struct err *err)
{
	json_get_bytes(json_object_get(result, "data"), out);
	if (json_int(result, "size", 0) > (int64_t)out->len)
		return err_set(err, ERR_FULL,
			       "'%s' is larger than %d MiB; use a command in the sandbox", path,
			       BOX_FILE_MAX >> 20);
	return 0;
}

static void effect_file_on_edit_read(void *self, json_t *result, const struct err *err)
{
	struct file_job *j = self;
	if (err || j->cancelled) {
		effect_file_finish(j, END_FAILED, NULL, err);
		return;
	}
	const struct action_spec *spec = action_spec(j->action);
	CLEANUP(buf_release) struct buf was = BUF_INIT;
	struct edit_made made = { .text = BUF_INIT };
	struct err why = ERR_INIT;
	if (j->slot->closing) {
		effect_file_closed(j);
		return;
	}
	if (file_whole(result, spec->path, &was, &why) < 0 ||
	    edit_make(spec->path, &was, spec->args, &made, &why) < 0) {
		effect_file_finish(j, END_FAILED, NULL, &why);
		return;
	}
	j->text = made.text;
	j->line = made.line;
	j->removed = made.removed;
	j->added = made.added;
	j->slot->driver->write(j->slot->box, spec->path, j->text.data, j->text.len,
			       (int)json_int(result, "mode", 0644) & 07777, effect_file_on_written,
			       j);
}

/* --- glob: directory by directory through the driver --- */

static void glob_step(struct file_job *j);

/* `**` crosses directories, `*` does not; a pattern without a slash matches names at any depth, as
 * in .gitignore. */
static bool effect_file_glob_match(const char *pattern, const char *path)
{
	if (!strchr(pattern, '/')) {
		const char *slash = strrchr(path, '/');
		return fnmatch(pattern, slash ? slash + 1 : path, FNM_PERIOD) == 0;
	}
	const char *two = strstr(pattern, "**");
	if (!two)
		return fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0;
	CLEANUP(free_ptr) char *head = mem_strndup(pattern, (size_t)(two - pattern));
	const char *tail = two + 2;
	if (*tail == '/')
		tail++;
	if (strncmp(path, head, strlen(head)) != 0 && !strpbrk(head, "*?["))
		return false;
	if (!*tail)
		return true;
	for (const char *p = path + (strncmp(path, head, strlen(head)) ? 0 : strlen(head)); p;
	     p = strchr(p, '/')) {
		if (*p == '/')
			p++;
		if (effect_file_glob_match(tail, p) ||
		    (!strchr(tail, '/') && fnmatch(tail, p, FNM_PATHNAME | FNM_PERIOD) == 0))
			return true;
	}
	return false;
}

static void on_list(void *self, json_t *result, const struct err *err)
{
	struct file_job *j = self;
	const char *dir = j->todo.item[j->next - 1];
	CLEANUP(buf_release) struct buf glob = BUF_INIT;
	const char *pattern =
		json_get_bytes(json_object_get(action_spec(j->action)->args, "glob"), &glob)
			? buf_cstr(&glob)
			: "*";
	if (err && j->next == 1) {
		effect_file_finish(j, END_FAILED, NULL, err);
		return;
	}
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(result, "entries"), i, e)
	{
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (!json_get_bytes(json_object_get(e, "name"), &name))
			continue;
		CLEANUP(free_ptr)
		char *path = *dir ? path_join(dir, buf_cstr(&name)) : mem_strdup(buf_cstr(&name));
		bool is_dir = !strcmp(json_str(e, "kind", ""), "dir");
		if (is_dir && strcmp(buf_cstr(&name), ".git") != 0 && j->todo.nr < GLOB_MAX)
			strv_push(&j->todo, path);
		if (!is_dir && effect_file_glob_match(pattern, path) && j->found.nr < GLOB_MAX)
			strv_push(&j->found, path);
	}
	glob_step(j);
}

static int effect_file_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void glob_step(struct file_job *j)
{
	if (j->slot->closing) {
		effect_file_closed(j);
		return;
	}
	if (!j->cancelled && j->next < j->todo.nr) {
		const char *dir = j->todo.item[j->next++];
		j->slot->driver->list(j->slot->box, *dir ? dir : ".", on_list, j);
		return;
	}
	if (j->found.nr)
		qsort(j->found.item, j->found.nr, sizeof(*j->found.item), effect_file_by_name);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = 0; i < j->found.nr; i++)
		buf_printf(&text, "%s\n", j->found.item[i]);
	if (text.len && !j->cancelled)
		action_output(j->action, STREAM_OUT, text.data, text.len);
	json_t *body = json_object();
	json_put_int(body, "files", (int64_t)j->found.nr);
	json_put_flag(body, "cut", j->found.nr == GLOB_MAX || j->todo.nr == GLOB_MAX);
	json_put(body, "paths", json_argv(j->found.item, j->found.nr < 1000 ? j->found.nr : 1000));
	effect_file_finish(j, END_OK, body, NULL);
}

/* --- */

void file_start(struct slot *s, struct action *a)
{
	const struct action_spec *spec = action_spec(a);
	struct file_job *j = NEW(struct file_job);
	struct err err = ERR_INIT;
	j->slot = s;
	j->action = a;
	boxes_hold_answer(s->boxes, s->id, true);
	action_set_tag(a, j);
	if (spec->kind == ACT_READ && json_object_get(spec->args, "glob")) {
		strv_push(&j->todo, "");
		glob_step(j);
	} else if (spec->kind == ACT_READ && spec->path) {
		s->driver->read(s->box, spec->path, BOX_FILE_MAX, on_read, j);
	} else if (spec->kind == ACT_WRITE && spec->path) {
		s->driver->write(s->box, spec->path, spec->data_len ? spec->data : "",
				 spec->data_len, (int)json_int(spec->args, "mode", -1),
				 effect_file_on_written, j);
	} else if (spec->kind == ACT_EDIT && spec->path) {
		s->driver->read(s->box, spec->path, BOX_FILE_MAX, effect_file_on_edit_read, j);
	} else {
		err_set(&err, ERR_UNSUPPORTED, "%s: missing path", action_kind_name(spec->kind));
		effect_file_finish(j, END_FAILED, NULL, &err);
	}
}

void file_cancel(struct slot *s, struct action *a)
{
	struct file_job *j = action_tag(a);
	(void)s;
	if (j)
		j->cancelled = true; /* the driver's answer is on its way and ends it */
}
