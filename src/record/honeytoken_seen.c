/* Honeytokens: worthless values placed in a sandbox, so that a program that carries one away is
 * found. The secret scanner finds them; here each find becomes an event. */
#include <stdlib.h>
#include <string.h>

#include "record/record_priv.h"
#include "record/read/object.h"

enum { FOUND = 16, RECENT = 256 };

struct found {
	const char *item[FOUND]; /* "<secret:NAME>", of r->secrets */
	size_t nr;
	struct hash recent[RECENT]; /* token, place and action of the last that were noted */
	size_t next;
};

static void on_found(void *self, const char *instead)
{
	struct record *r = self;
	struct found *f = r->found;
	for (size_t i = 0; i < f->nr; i++)
		if (!strcmp(f->item[i], instead))
			return;
	if (f->nr < FOUND)
		f->item[f->nr++] = instead;
}

void honeytoken_seen_begin(struct record *r)
{
	r->found = NEW(struct found);
	secrets_watch(r->secrets, on_found, r);
}

void honeytoken_seen_end(struct record *r)
{
	free(take(&r->found));
}

size_t honeytoken_seen_mark(const struct record *r)
{
	return r->found->nr;
}

void honeytoken_seen_forget(struct record *r, size_t mark)
{
	r->found->nr = mark;
}

static bool noted_before(struct found *f, const char *instead, const char *where,
			 const struct event *at)
{
	struct hash_ctx c;
	struct hash h;
	hash_begin(&c);
	hash_add(&c, instead, strlen(instead) + 1);
	hash_add(&c, where, strlen(where) + 1);
	hash_add(&c, &at->action, sizeof(at->action));
	hash_end(&c, &h);
	for (size_t i = 0; i < RECENT; i++)
		if (hash_eq(&f->recent[i], &h))
			return true;
	f->recent[f->next++ % RECENT] = h;
	return false;
}

static const char *honeytoken_seen_words(const char *where)
{
	static const struct {
		const char *where, *words;
	} known[] = { { "output", "an output" },
		      { "request", "a request of a sandbox" },
		      { "file", "a file of a workspace" },
		      { "action.requested", "a requested action" },
		      { "host.call", "a call of a script" },
		      { "model.sent", "a request to a model" },
		      { "model.call", "a request to a model" },
		      { "model.reply", "an answer of a model" } };
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].where, where))
			return known[i].words;
	return where;
}

static void honeytoken_seen_record(struct record *r, const char *instead, const char *where,
				   const char *oid, const struct event *at)
{
	if (noted_before(r->found, instead, where, at))
		return;
	json_t *body = json_object();
	size_t begin = strlen("<secret:"), len = strlen(instead);
	CLEANUP(free_ptr) char *token = mem_strndup(instead + begin, len - begin - 1);
	CLEANUP(free_ptr)
	char *text = mem_printf("%s was seen in %s", token, honeytoken_seen_words(where));
	json_put_str(body, "token", token);
	json_put_str(body, "where", where);
	json_put_str(body, "text", text);
	if (oid)
		json_put_str(body, "oid", oid);
	if (at->action)
		json_put_int(body, "action", (int64_t)at->action);
	record_append_json(r, EV_HONEYTOKEN_SEEN, at->seq, at->agent, at->box, 0, body);
}

void honeytoken_seen_note(struct record *r, const char *where, const struct event *at)
{
	const char *item[FOUND];
	size_t nr = r->found->nr;
	if (!nr)
		return;
	memcpy(item, r->found->item, sizeof(item));
	r->found->nr = 0; /* what is appended now is looked at as well */
	for (size_t i = 0; i < nr; i++)
		honeytoken_seen_record(r, item[i], where ? where : event_kind_name(at->kind), NULL,
				       at);
}

static bool token_noted(struct record *r, const char *value, size_t len, const char *where,
			const struct event *at)
{
	CLEANUP(free_ptr) char *token = mem_strndup(value, len);
	bool before = noted_before(r->found, token, where, at);
	explicit_bzero(token, len);
	return before;
}

static json_t *token_seen_body(const char *shape, const char *where, bool redacted)
{
	json_t *body = json_object();
	CLEANUP(free_ptr)
	char *text = mem_printf("a live token (%s) was seen in %s%s", shape,
				!strcmp(where, "file") ? "a file" : where,
				redacted ? "; it was not recorded" : "");
	json_put_str(body, "shape", shape);
	json_put_str(body, "where", where);
	json_put_str(body, "text", text);
	if (redacted)
		json_put_flag(body, "redacted", true);
	return body;
}

/* Once for each token of a box: each version of a file has it again. */
static void honeytoken_seen_note_live(struct record *r, const struct object_found *f,
				      const char *oid, const struct event *at)
{
	struct event any = { .action = at->box };
	if (f->hidden)
		token_hide_learn(r, f->shape, f->value, f->len);
	if (token_noted(r, f->value, f->len, "file", &any))
		return;
	json_t *body = token_seen_body(f->shape, "file", f->hidden);
	json_put_str(body, "oid", oid);
	json_put_int(body, "off", (int64_t)f->off);
	json_put_int(body, "len", (int64_t)f->len);
	if (at->action)
		json_put_int(body, "action", (int64_t)at->action);
	record_append_json(r, EV_SECRET_SEEN, at->seq, at->agent, at->box, 0, body);
}

void honeytoken_seen_note_file(struct record *r, const struct object_found *f,
			       const struct event *at)
{
	char oid[41];
	object_hex(&f->oid, oid);
	if (f->instead)
		honeytoken_seen_record(r, f->instead, "file", oid, at);
	else
		honeytoken_seen_note_live(r, f, oid, at);
}

void honeytoken_seen_note_token(struct record *r, const char *value, const struct live_token *t,
				const struct token_place *at)
{
	const struct event *ev = &at->event;
	if (token_noted(r, value, t->len, "token", ev))
		return;
	json_t *body = token_seen_body(t->shape, "output", at->shown > 0);
	json_put_int(body, "stream", at->stream);
	json_put_int(body, "off", (int64_t)at->off);
	json_put_int(body, "len", (int64_t)(at->shown ? at->shown : t->len));
	json_put_int(body, "action", (int64_t)ev->action);
	record_append_json(r, EV_SECRET_SEEN, ev->action, ev->agent, ev->box, 0, body);
}

enum { TOKENS_MAX = 16 }; /* in one segment */

void honeytoken_seen_look_tokens(struct record *r, int stream, uint64_t off, const struct buf *text,
				 size_t until, struct token_look *look, const struct event *at)
{
	struct live_token t;
	while (look->found < TOKENS_MAX &&
	       live_token_find_before(text->data, text->len, look->from, until, &t)) {
		honeytoken_seen_note_token(r, text->data + t.off, &t,
					   &(struct token_place){ .stream = stream,
								  .off = off + t.off,
								  .event = *at });
		look->from = t.off + t.len;
		look->found++;
	}
	if (look->from < until)
		look->from = until;
}

int record_honeytoken(struct record *r, const char *name, const char *value, size_t len,
		      struct err *err)
{
	return secrets_add_bait(r->secrets, name, value, len, err);
}

struct secrets *record_honeytokens(const struct record *r)
{
	return secrets_any_bait(r->secrets) ? secrets_part(r->secrets, true) : NULL;
}

void record_look(struct record *r, uint64_t action, struct buf *held, const void *bytes, size_t len)
{
	CLEANUP(buf_release) struct buf unused = BUF_INIT;
	const struct open_action *open = record_open_action(r, action);
	struct event at = { .seq = action,
			    .action = action,
			    .agent = open ? open->agent : 0,
			    .box = open ? open->box : 0 };
	if (!secrets_any_bait(r->secrets))
		return;
	secrets_stream(r->secrets, held, bytes, len, false, &unused);
	honeytoken_seen_note(r, "request", &at);
}
