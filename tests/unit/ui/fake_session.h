/* A session in memory, read from a text fixture. It offers the functions of record/read, so that
 * tests of screens know each event and time exactly. The linker takes it in place of
 * record/read's session and feed.
 *
 * Fixture (tests/screens/NAME.jsonl): one JSON object per line. An event has this format:
 * {"at":TIME, "kind":"...", "agent":, "box":, "action":, "cause":, "body":{}}. TIME is a string:
 * seconds since the start, with at most 3 decimals. An event's seq is its ordinal among events.
 * "out":"text" gives an output event its text. {"tree":"NAME","files":{"path":"text"}} makes git
 * objects; "@NAME" in a body is the tree's id. Each text may be {"b64":"..."}, which holds any
 * bytes. */
#ifndef FAKE_SESSION_H
#define FAKE_SESSION_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "record/read/session.h"
#include "record/read/verify.h"

enum { FAKE_START_S = 1795271160 }; /* 2026-11-21T14:26:00Z */

struct fake_output {
	uint64_t seq, action;
	int stream;
	char *text;
	size_t len;
};

struct fake_object {
	struct object_id id;
	enum object_type type;
	struct buf bytes;
};

struct session {
	struct event *event;
	size_t nr, cap;
	struct fake_output *output;
	size_t nr_outputs, cap_outputs;
	struct fake_object *object;
	size_t nr_objects, cap_objects;
	char *tree_name[32];
	struct object_id tree[32];
	size_t nr_trees;
	const atomic_bool *stop;
	uint64_t committed; /* events after it are not there yet; 0 = all are */
};

struct feed {
	struct session *s;
	uint64_t seq;
};

/* --- objects --- */

static void fake_object(struct session *s, enum object_type type, const void *bytes, size_t len,
			struct object_id *id)
{
	GROW(s->object, s->nr_objects, s->cap_objects);
	struct fake_object *o = &s->object[s->nr_objects++];
	*o = (struct fake_object){ .type = type };
	buf_append(&o->bytes, bytes, len);
	object_name(type, bytes, len, &o->id);
	*id = o->id;
}

static void fake_tree(struct session *s, const json_t *files, struct object_id *id)
{
	CLEANUP(buf_release) struct buf raw = BUF_INIT;
	CLEANUP(json_release) json_t *dirs = json_object();
	const char *path;
	json_t *text;
	json_object_foreach((json_t *)(uintptr_t)files, path, text)
	{
		const char *slash = strchr(path, '/');
		struct object_id blob;
		if (slash) {
			char *dir = mem_strndup(path, (size_t)(slash - path));
			if (!json_object_get(dirs, dir))
				json_put(dirs, dir, json_object());
			json_put(json_object_get(dirs, dir), slash + 1, json_incref(text));
			free(dir);
			continue;
		}
		if (json_is_integer(text)) { /* a blob that the file does not hold */
			memset(&blob, 7, sizeof(blob));
		} else {
			CLEANUP(buf_release) struct buf bytes = BUF_INIT;
			json_get_bytes(text, &bytes);
			fake_object(s, OBJECT_BLOB, buf_cstr(&bytes), bytes.len, &blob);
		}
		buf_printf(&raw, "100644 %s", path);
		buf_putc(&raw, 0);
		buf_append(&raw, blob.b, sizeof(blob.b));
	}
	json_object_foreach(dirs, path, text)
	{
		struct object_id sub;
		fake_tree(s, text, &sub);
		buf_printf(&raw, "40000 %s", path);
		buf_putc(&raw, 0);
		buf_append(&raw, sub.b, sizeof(sub.b));
	}
	fake_object(s, OBJECT_TREE, raw.data, raw.len, id);
}

/* --- reading the fixture --- */

static int64_t fake_time(const char *text)
{
	return (int64_t)FAKE_START_S * 1000000 + (int64_t)(strtod(text, NULL) * 1000 + 0.5) * 1000;
}

static void fake_names(struct session *s, json_t *body)
{
	const char *key;
	json_t *v;
	void *tmp;
	json_object_foreach_safe(body, tmp, key, v)
	{
		const char *text = json_string_value(v);
		for (size_t i = 0; text && text[0] == '@' && i < s->nr_trees; i++)
			if (strcmp(s->tree_name[i], text + 1) == 0) {
				char hex[41];
				object_hex(&s->tree[i], hex);
				json_object_set_new(body, key, json_string(hex));
				break;
			}
	}
}

static void fake_event(struct session *s, json_t *o)
{
	struct event ev = { .seq = s->nr + 1,
			    .cause = (uint64_t)json_int(o, "cause", 0),
			    .agent = (uint64_t)json_int(o, "agent", 0),
			    .box = (uint64_t)json_int(o, "box", 0),
			    .action = (uint64_t)json_int(o, "action", 0),
			    .ts_us = fake_time(json_str(o, "at", "0")) };
	json_t *body = json_object_get(o, "body");
	const char *kind = json_str(o, "kind", "");
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (!event_kind_find(kind, &ev.kind)) {
		fprintf(stderr, "fixture: unknown kind '%s'\n", kind);
		exit(99);
	}
	CLEANUP(json_release) json_t *own = body ? json_incref(body) : json_object();
	if (json_get_bytes(json_object_get(o, "out"), &out)) {
		GROW(s->output, s->nr_outputs, s->cap_outputs);
		s->output[s->nr_outputs++] =
			(struct fake_output){ ev.seq, ev.action, (int)json_int(own, "stream", 1),
					      mem_strndup(buf_cstr(&out), out.len), out.len };
		json_put_int(own, "len", (int64_t)out.len);
	}
	fake_names(s, own);
	char *text = json_dump_str(own);
	ev.body = text;
	ev.len = strlen(text);
	if (strcmp(kind, "action.requested") == 0)
		ev.action = ev.seq;
	GROW(s->event, s->nr, s->cap);
	s->event[s->nr++] = ev;
}

static int fake_load(struct session *s, const char *path, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read(path, &text, 16 << 20, err) < 0)
		return -1;
	for (char *p = text.data, *nl; *p; p = nl + 1) {
		nl = strchr(p, '\n');
		if (!nl)
			break;
		if (nl == p || *p == '#')
			continue;
		CLEANUP(json_release) json_t *o = json_parse(p, (size_t)(nl - p), path, err);
		if (!o)
			return -1;
		if (json_object_get(o, "tree")) {
			s->tree_name[s->nr_trees] = mem_strdup(json_str(o, "tree", ""));
			fake_tree(s, json_object_get(o, "files"), &s->tree[s->nr_trees]);
			s->nr_trees++;
		} else {
			fake_event(s, o);
		}
	}
	return 0;
}

/* --- what record/read offers --- */

/* The newest session, so that a test can delay its events. The verifying thread reads it, too. */
static struct session *fake_last;
static atomic_bool fake_endless; /* true: verifying runs until a test stops it */
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

void session_interrupt(struct session *s)
{
	(void)s;
}

int session_open(struct session **out, const char *path, struct err *err)
{
	return session_open_until(out, path, NULL, err);
}

int session_open_until(struct session **out, const char *path, const atomic_bool *stop,
		       struct err *err)
{
	struct session *s = NEW(struct session);
	s->stop = stop;
	if (!*path) {
		pthread_mutex_lock(&fake_lock);
		s->committed = fake_last ? session_head(fake_last) : 0;
		pthread_mutex_unlock(&fake_lock);
		*out = s;
		return 0;
	}
	if (fake_load(s, path, err) < 0) {
		fprintf(stderr, "fixture: %s\n", err->text);
		exit(99);
	}
	*out = fake_last = s;
	return 0;
}

void session_close(struct session **sp)
{
	struct session *s = *sp;
	pthread_mutex_lock(&fake_lock);
	if (fake_last == s)
		fake_last = NULL;
	pthread_mutex_unlock(&fake_lock);
	for (size_t i = 0; i < s->nr; i++)
		free((void *)(uintptr_t)s->event[i].body);
	for (size_t i = 0; i < s->nr_outputs; i++)
		free(s->output[i].text);
	for (size_t i = 0; i < s->nr_objects; i++)
		buf_release(&s->object[i].bytes);
	for (size_t i = 0; i < s->nr_trees; i++)
		free(s->tree_name[i]);
	free(s->event);
	free(s->output);
	free(s->object);
	free(s);
	*sp = NULL;
}

uint64_t session_head(struct session *s)
{
	return s->committed ? s->committed : s->nr;
}

int session_event(struct session *s, uint64_t seq, struct event *ev, struct arena *arena,
		  struct err *err)
{
	if (seq == 0 || seq > session_head(s))
		return err_set(err, ERR_NOENT, "no event %lu", (unsigned long)seq);
	*ev = s->event[seq - 1];
	ev->body = arena_strndup(arena, ev->body, ev->len);
	return 0;
}

int feed_new(struct feed **out, struct session *s, enum feed_where where, uint64_t id,
	     struct err *err)
{
	(void)where;
	(void)id;
	(void)err;
	*out = NEW(struct feed);
	(*out)->s = s;
	return 0;
}

void feed_free(struct feed **f)
{
	free(*f);
	*f = NULL;
}

void feed_seek(struct feed *f, uint64_t seq)
{
	f->seq = seq;
}

int feed_next(struct feed *f, struct event *ev, struct arena *arena, uint64_t limit_seq,
	      struct err *err)
{
	if (f->seq >= session_head(f->s) || (limit_seq && f->seq >= limit_seq))
		return 0;
	return session_event(f->s, ++f->seq, ev, arena, err) < 0 ? -1 : 1;
}

/* Of everything, whatever it was made for. */
int feed_prev(struct feed *f, struct event *ev, struct arena *arena, struct err *err)
{
	if (f->seq <= 1)
		return 0;
	return session_event(f->s, --f->seq, ev, arena, err) < 0 ? -1 : 1;
}

const char *session_path(const struct session *s)
{
	(void)s;
	return ""; /* opened once more, for verify_session below: nothing is read then */
}

const char *session_id(const struct session *s)
{
	(void)s;
	return "s-fake";
}

bool session_live(struct session *s)
{
	return s->committed != 0;
}

bool session_left(struct session *s)
{
	(void)s;
	return false;
}

int session_rejoin(struct session *s, struct err *err)
{
	(void)s;
	return err_set(err, ERR_UNSUPPORTED, "a fixture has no file");
}

void session_hold(struct session *s)
{
	(void)s;
}

void session_let_go(struct session *s)
{
	(void)s;
}

int session_headers(struct session *s, uint64_t after_seq, struct event *ev, size_t max,
		    size_t *nr_out, struct err *err)
{
	(void)err;
	for (*nr_out = 0; *nr_out < max && after_seq + *nr_out < session_head(s); ++*nr_out) {
		ev[*nr_out] = s->event[after_seq + *nr_out];
		ev[*nr_out].body = NULL;
	}
	return 0;
}

int session_outline(struct session *s, uint64_t upto, size_t max, uint64_t **seq_out,
		    size_t *nr_out, struct err *err)
{
	(void)s;
	(void)err;
	*seq_out = mem_calloc(max, sizeof(uint64_t));
	*nr_out = 0;
	for (uint64_t i = upto > max ? upto - max + 1 : 1; i <= upto; i++)
		(*seq_out)[(*nr_out)++] = i;
	return 0;
}

int session_output(struct session *s, uint64_t action, int stream, uint64_t off, size_t max,
		   struct buf *out, struct err *err)
{
	(void)err;
	for (size_t i = 0; i < s->nr_outputs && max > 0; i++) {
		const struct fake_output *o = &s->output[i];
		size_t len = o->len;
		if (o->seq > session_head(s) || o->action != action || o->stream != stream)
			continue;
		if (off >= len) {
			off -= len;
			continue;
		}
		size_t n = len - (size_t)off < max ? len - (size_t)off : max;
		buf_append(out, o->text + off, n);
		max -= n;
		off = 0;
	}
	return 0;
}

uint64_t session_output_size(struct session *s, uint64_t action, int stream)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s->nr_outputs; i++)
		n += s->output[i].seq <= session_head(s) && s->output[i].action == action &&
				     s->output[i].stream == stream
			     ? s->output[i].len
			     : 0;
	return n;
}

int session_output_each(struct session *s, uint64_t action, session_output_fn *fn, void *self,
			struct err *err)
{
	(void)err;
	for (size_t i = 0; i < s->nr_outputs; i++)
		if (s->output[i].seq <= session_head(s) && s->output[i].action == action &&
		    s->output[i].stream < 4 &&
		    !fn(self, s->output[i].stream, 0, s->output[i].text, s->output[i].len))
			break;
	return 0;
}

int session_object(struct session *s, const struct object_id *id, enum object_type *type_out,
		   struct buf *out, struct err *err)
{
	buf_reset(out);
	for (size_t i = 0; i < s->nr_objects; i++)
		if (memcmp(s->object[i].id.b, id->b, sizeof(id->b)) == 0) {
			*type_out = s->object[i].type;
			buf_append(out, s->object[i].bytes.data, s->object[i].bytes.len);
			return 0;
		}
	return err_set(err, ERR_NOENT, "no such object");
}

int64_t session_object_size(struct session *s, const struct object_id *id)
{
	for (size_t i = 0; i < s->nr_objects; i++)
		if (memcmp(s->object[i].id.b, id->b, sizeof(id->b)) == 0)
			return (int64_t)s->object[i].bytes.len;
	return -1;
}

/* No test has SQL: filters run as predicates. A test can open its own database for ":sql". */
static void *fake_handle;

void *session_handle(struct session *s)
{
	(void)s;
	return fake_handle;
}

void session_bound(struct session *s)
{
	(void)s;
}

int session_search(struct session *s, const char *match, uint64_t after_seq, size_t max,
		   uint64_t *seqs, size_t *nr_out, struct err *err)
{
	size_t nr = 0;
	CLEANUP(free_ptr) char *word = mem_strdup(match + (*match == '"'));
	word[strcspn(word, "\"")] = 0;
	(void)err;
	for (size_t i = (size_t)after_seq; i < session_head(s) && nr < max; i++)
		if (s->event[i].body && strcasestr(s->event[i].body, word))
			seqs[nr++] = s->event[i].seq;
	*nr_out = nr;
	return 0;
}

struct look *look_new(struct session *s, const char *match)
{
	(void)s, (void)match;
	return NULL;
}

struct look *look_new_text(struct session *s, const char *text)
{
	(void)s, (void)text;
	return NULL;
}

void look_free(struct look **l)
{
	*l = NULL;
}

int look_failed(const struct look *l, struct err *err)
{
	(void)l, (void)err;
	return 0;
}

bool look_holds(struct look *l, uint64_t seq)
{
	(void)l, (void)seq;
	return false;
}

int look_range(struct look *l, uint64_t after, uint64_t upto, struct err *err)
{
	(void)l, (void)after, (void)upto, (void)err;
	return 0;
}

void look_coarsely(struct look *l, bool on)
{
	(void)l, (void)on;
}

bool look_sampled(const struct look *l)
{
	(void)l;
	return false;
}

uint64_t look_next(const struct look *l, uint64_t seq)
{
	(void)l, (void)seq;
	return 0;
}

uint64_t session_indexed(struct session *s)
{
	return session_head(s);
}

int session_next(struct session *s, uint64_t after, uint64_t *seq_out, struct err *err)
{
	(void)err;
	*seq_out = after < session_head(s) ? after + 1 : 0;
	return 0;
}

void session_reading(struct session *s, uint64_t at)
{
	(void)s, (void)at;
}

/* A record in which something was started before it was allowed. */
int verify_session(struct session *s, const struct verify_opts *opts, verify_report_fn *report,
		   void *self, struct verify_totals *totals, struct err *err)
{
	static const char *const names[] = { "bytes",	 "pages",   "chain",   "signatures",
					     "segments", "objects", "messages" };
	(void)opts;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		report(self, names[i], VERIFY_OK,
		       i == 2 ? "770 events, chain unbroken" : "as they were written", 0);
	while (atomic_load(&fake_endless) && !atomic_load(s->stop))
		sched_yield();
	if (atomic_load(s->stop))
		return err_set(err, ERR_CANCELLED, "it was stopped");
	report(self, "anchor", VERIFY_SKIP, "no anchor log has this session", 0);
	report(self, "order", VERIFY_FAIL,
	       "action #743 was started (#744) before it was judged (#746); "
	       "1 of 63 actions is out of order",
	       744);
	report(self, "closed", VERIFY_OK, "63 actions have ended", 0);
	*totals = (struct verify_totals){
		.events = 770, .ok = 8, .failed = 1, .skipped = 1, .first_bad = 744
	};
	return 0;
}

#endif
