/* Asking users, notifying, the store, sleeping, modules. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/core/notify_command.h"
#include "luahost/luahost.h"
#include "supervisor/core/call.h"
#include "supervisor/core/parts.h"
#include "supervisor/people/ask.h"
#include "luahost/answer_cache.h"
#include "supervisor/core/resumed.h"
#include "luahost/library.h"
#include "ops/op.h"
#include "sessions/labels.h"
#include "ops/script_tree.h"
#include "base/clock.h"
#include "base/failpoint.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/paths.h"
#include "record/record_event.h"

/* --- modules --- */

enum { MODULE_MAX = 4 << 20, LABEL_WORDS_MOST = 64 };

/* "a.b" -> "a/b.lua" in the script's directory; a name can never leave it. */
static char *module_path(const char *dir, const char *name)
{
	struct buf b = BUF_INIT;
	for (const char *p = name; *p; p++)
		buf_putc(&b, *p == '.' ? '/' : *p);
	if (!b.len || b.data[0] == '/' || strstr(b.data, "//") || strchr(name, '/')) {
		buf_release(&b);
		return NULL;
	}
	buf_puts(&b, ".lua");
	char *path = path_join(dir, b.data);
	buf_release(&b);
	return path;
}

static void give_module(struct call *c, const char *name, const char *path, const char *text,
			size_t len)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct hash h;
	json_t *v = json_object();
	hash_of(text, len, &h);
	record_ev_host_module(c->super->record, &(struct event){ .cause = c->super->start_seq },
			      &(struct ev_host_module){ .name = ev_text_of(name),
							.hash = ev_hex_of(&mem, h.b, HASH_LEN) });
	json_put_bytes(v, "text", text, len);
	json_put_str(v, "path", path);
	call_answer(c, v);
}

/* Answers with the text of a file, if it can be read; refuses one that the script may not load. */
static bool give_file(struct call *c, const char *name, const char *path)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	if (!path || access(path, F_OK) < 0)
		return false;
	if (!script_tree_file(c, path)) {
		call_fail(c, "denied", NULL, NULL, 0,
			  "module '%s' is outside the directories that this file may load", name);
		return true;
	}
	if (file_read(path, &text, MODULE_MAX, &err) < 0)
		return false;
	give_module(c, name, path, buf_cstr(&text), text.len);
	return true;
}

void op_module(struct call *c)
{
	const char *name = json_str(c->args, "name", "");
	size_t len;
	const char *text = library_find(name, &len);
	if (text) {
		give_module(c, name, name, text, len);
		return;
	}
	/* plugins and policies see no files of the user */
	if (c->host != c->super->host && (*name == '/' || strstr(name, ".."))) {
		call_fail(c, "denied", NULL, NULL, 0,
			  "module '%s' is outside the directories that this file may load", name);
		return;
	}
	const char *dir = luahost_dir(c->host);
	size_t n = strlen(name);
	bool is_file = strchr(name, '/') || (n > 4 && !strcmp(name + n - 4, ".lua"));
	CLEANUP(free_ptr)
	char *path = *name == '/' && is_file ? mem_strdup(name)
		     : !dir		     ? NULL
		     : is_file		     ? path_join(dir, name)
					     : module_path(dir, name);
	if (give_file(c, name, path))
		return;
	/* "--model scripted:turns.lua" may have been said of a file in the directory that the
	 * user is in */
	CLEANUP(free_ptr)
	char *here = is_file && c->host == c->super->host ? realpath(name, NULL) : NULL;
	if (give_file(c, name, here))
		return;
	call_fail(c, "io", NULL, NULL, 0, "%s%s", path ? "no file " : "no module of that name",
		  path ? path : "");
}

/* --- users --- */

void op_ask(struct call *c)
{
	ask_begin(c);
}

void op_notify(struct call *c)
{
	super_notify(c->super, json_str(c->args, "title", "sandglass"),
		     json_str(c->args, "text", ""));
	call_answer(c, NULL);
}

/* --- labels --- */

void op_label(struct call *c)
{
	const json_t *list = json_object_get(c->args, "words");
	const char *words[LABEL_WORDS_MOST];
	struct err err = ERR_INIT;
	uint64_t seq;
	size_t nr = json_array_size(list);
	if (call_done_before(c, EV_SESSION_LABELED, &seq)) {
		call_answer(c, NULL);
		return;
	}
	if (!nr || nr > LABEL_WORDS_MOST) {
		call_fail(c, "script", NULL, NULL, 0, "label: expected 1 to %d labels, got %zu",
			  LABEL_WORDS_MOST, nr);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		words[i] = json_is_string(json_array_get(list, i))
				   ? json_string_value(json_array_get(list, i))
				   : "";
	json_t *body = labels_change(words, nr, true, &err);
	if (!body) {
		call_fail_as(c, "script", &err);
		return;
	}
	call_mark(c, body);
	record_append_json(c->super->record, EV_SESSION_LABELED,
			   c->agent ? c->agent : c->super->start_seq, c->agent, 0, 0, body);
	call_answer(c, NULL);
}

/* --- sleep --- */

static void op_misc_slept(void *self)
{
	struct call *c = self;
	call_answer(c, NULL);
}

static void free_timer(void *data)
{
	struct loop_timer *t = data;
	loop_timer_free(&t);
}

static void cancel_sleep(struct call *c)
{
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

void op_sleep(struct call *c)
{
	int64_t us = json_int(c->args, "us", 0);
	c->data = loop_timer_new(c->super->loop, op_misc_slept, c);
	c->free_data = free_timer;
	c->cancel = cancel_sleep;
	loop_timer_set(c->data, us > 0 ? (uint64_t)(us + 999) / 1000 : 0, 0);
}

/* --- store: kept in a file of the user's, changes also in the record --- */

static char *op_misc_store_path(const char *name)
{
	CLEANUP(free_ptr) char *plain = op_plain_name(name, "store");
	CLEANUP(free_ptr) char *file = mem_printf("store/%s.json", plain);
	return paths_data(file);
}

struct stores {
	json_t *all; /* {"name":{"key":value}}, also kept in the record; NULL: none was read */
};

static void stores_release(void *object)
{
	struct stores *t = object;
	json_decref(t->all);
}

static struct stores *stores_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct stores), stores_release };
	return super_part(s, &part);
}

static json_t *store_load(struct super *s, const char *name)
{
	struct stores *t = stores_of(s);
	json_t *have = json_object_get(t->all, name);
	if (have)
		return have;
	CLEANUP(free_ptr) char *path = op_misc_store_path(name);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	json_t *j = NULL;
	if (file_read(path, &text, 64 << 20, &err) == 0)
		j = json_parse(text.data, text.len, path, &err);
	if (!json_is_object(j)) {
		json_decref(j);
		j = json_object();
	}
	t->all = t->all ? t->all : json_object();
	json_put(t->all, name, j);
	return j;
}

/* Runs behind the barrier of its store.set. */
static void store_save(void *self)
{
	struct call *c = self;
	const char *name = json_str(c->args, "store", "default");
	CLEANUP(free_ptr) char *path = op_misc_store_path(name);
	CLEANUP(free_ptr) char *dir = paths_data("store");
	CLEANUP(free_ptr) char *text = json_dump_str(store_load(c->super, name));
	struct err err = ERR_INIT;
	json_t *v = json_object();
	json_put(v, "value",
		 json_incref(json_object_get(store_load(c->super, name),
					     json_str(c->args, "key", ""))));
	failpoint_hit("store.recorded");
	if (dir_make(dir, 0700, &err) < 0 ||
	    file_write_atomic(path, text, strlen(text), 0600, &err) < 0) {
		json_decref(v);
		call_fail_err(c, &err);
		return;
	}
	failpoint_hit("store.saved");
	call_answer(c, v);
}

static char *hash_of_value(const json_t *value)
{
	CLEANUP(free_ptr) char *text = value ? json_dump_str(value) : mem_strdup("");
	struct hash h;
	struct buf hex = BUF_INIT;
	hash_of(text, strlen(text), &h);
	hex_append(&hex, h.b, HASH_LEN);
	return buf_take(&hex);
}

/* The event is recorded, but the session was interrupted or forked before the answer. The file
 * shows whether the value reached it: it did not while the key has the earlier value. */
static bool put_before(struct call *c)
{
	const char *name = json_str(c->args, "store", "default"),
		   *key = json_str(c->args, "key", "");
	uint64_t seq;
	const json_t *was = call_done_before(c, EV_STORE_SET, &seq);
	if (!was)
		return false;
	json_t *st = store_load(c->super, name), *value = json_object_get(was, "value");
	CLEANUP(free_ptr) char *now = hash_of_value(json_object_get(st, key));
	if (strcmp(now, json_str(was, "was", "")) != 0) {
		json_t *v = json_object();
		json_put(v, "value", json_incref(value));
		call_answer(c, v);
		return true;
	}
	if (value && !json_is_null(value))
		json_put(st, key, json_incref(value));
	else
		json_object_del(st, key);
	record_barrier(c->super->record, record_head(c->super->record), store_save, c);
	return true;
}

static void store_put(struct call *c, json_t *value)
{
	const char *name = json_str(c->args, "store", "default"),
		   *key = json_str(c->args, "key", "");
	json_t *st = store_load(c->super, name), *body = json_object();
	CLEANUP(free_ptr) char *was = hash_of_value(json_object_get(st, key));
	json_put_str(body, "store", name);
	json_put_str(body, "key", key);
	json_put_str(body, "was", was);
	call_mark(c, body);
	json_put(body, "value", value ? json_incref(value) : json_null());
	if (value && !json_is_null(value)) {
		json_put(st, key, value);
	} else {
		json_decref(value);
		json_object_del(st, key);
	}
	uint64_t seq = record_append_json(c->super->record, EV_STORE_SET, c->super->start_seq,
					  c->agent, 0, 0, body);
	record_barrier(c->super->record, seq, store_save, c);
}

void op_store_get(struct call *c)
{
	json_t *st = store_load(c->super, json_str(c->args, "store", "default"));
	json_t *v = json_object();
	json_put(v, "value", json_incref(json_object_get(st, json_str(c->args, "key", ""))));
	call_answer(c, v);
}

void op_store_set(struct call *c)
{
	if (!put_before(c))
		store_put(c, json_incref(json_object_get(c->args, "value")));
}

void op_store_add(struct call *c)
{
	if (put_before(c))
		return;
	json_t *st = store_load(c->super, json_str(c->args, "store", "default"));
	json_t *old = json_object_get(st, json_str(c->args, "key", "")),
	       *value = json_object_get(c->args, "value");
	json_t *sum;
	if (json_is_integer(value) && (!old || json_is_integer(old))) {
		int64_t total;
		if (__builtin_add_overflow((int64_t)json_integer_value(old),
					   (int64_t)json_integer_value(value), &total)) {
			call_fail(c, "limit", NULL, NULL, 0,
				  "the sum is beyond what a number holds");
			return;
		}
		sum = json_integer(total);
	} else if (json_is_number(value) && (!old || json_is_number(old))) {
		sum = json_real(json_number_value(old) + json_number_value(value));
		if (!sum) {
			call_fail(c, "limit", NULL, NULL, 0,
				  "the sum is beyond what a number holds");
			return;
		}
	} else {
		sum = json_is_array(old) ? json_copy(old) : json_array();
		json_array_append(sum, value);
	}
	store_put(c, sum);
}

void op_store_find(struct call *c)
{
	json_t *st = store_load(c->super, json_str(c->args, "store", "default"));
	const char *want = json_str(c->args, "text", "");
	json_t *v = json_object(), *items = json_array(), *value;
	const char *key;
	json_object_foreach(st, key, value)
	{
		CLEANUP(free_ptr) char *text = json_dump_str(value);
		if (!strcasestr(key, want) && !strcasestr(text, want))
			continue;
		json_t *item = json_object();
		json_put_str(item, "key", key);
		json_put(item, "value", json_incref(value));
		json_array_append_new(items, item);
	}
	json_put(v, "items", items);
	call_answer(c, v);
}

static int op_misc_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void op_store_keys(struct call *c)
{
	json_t *st = store_load(c->super, json_str(c->args, "store", "default")), *value;
	size_t nr = 0;
	const char **keys = mem_calloc(json_object_size(st) + 1, sizeof(*keys)), *key;
	json_object_foreach(st, key, value) keys[nr++] = key;
	if (nr)
		qsort(keys, nr, sizeof(*keys), op_misc_by_text);
	json_t *v = json_object(), *list = json_array();
	for (size_t i = 0; i < nr; i++)
		json_array_append_new(list, json_string(keys[i]));
	free(keys);
	json_put(v, "keys", list);
	call_answer(c, v);
}
