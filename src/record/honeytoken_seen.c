/* Honeytokens: worthless values placed in a sandbox, so that a program that carries one away is
 * found. The secret scanner finds them; here each find becomes an event. */
#include <stdlib.h>
#include <string.h>

#include "record/record_priv.h"
#include "record/record_event.h"
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
	size_t begin = strlen("<secret:"), len = strlen(instead);
	CLEANUP(free_ptr) char *token = mem_strndup(instead + begin, len - begin - 1);
	CLEANUP(free_ptr)
	char *text = mem_printf("%s was seen in %s", token, honeytoken_seen_words(where));
	record_ev_honeytoken_seen(
		r, &(struct event){ .cause = at->seq, .agent = at->agent, .box = at->box },
		&(struct ev_honeytoken_seen){ .token = ev_text_of(token),
					      .where = ev_text_of(where),
					      .text = ev_text_of(text),
					      .oid = ev_text_of(oid),
					      .action = (int64_t)at->action });
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

/* Fills in its text. */
static void secret_seen_record(struct record *r, const struct event *at, const char *shape,
			       struct ev_secret_seen *body)
{
	bool file = ev_text_is(body->where, "file");
	CLEANUP(free_ptr)
	char *text =
		mem_printf("a live token (%s) was seen in %s%s", shape, file ? "a file" : "output",
			   body->redacted ? "; it was not recorded" : "");
	body->shape = ev_text_of(shape);
	body->text = ev_text_of(text);
	record_ev_secret_seen(r, at, body);
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
	secret_seen_record(r,
			   &(struct event){ .cause = at->seq, .agent = at->agent, .box = at->box },
			   f->shape,
			   &(struct ev_secret_seen){ .where = ev_text_of("file"),
						     .oid = ev_text_of(oid),
						     EV_SET(off, (int64_t)f->off),
						     EV_SET(len, (int64_t)f->len),
						     .has_action = at->action != 0,
						     .action = (int64_t)at->action,
						     .redacted = f->hidden });
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
	secret_seen_record(
		r, &(struct event){ .cause = ev->action, .agent = ev->agent, .box = ev->box },
		t->shape,
		&(struct ev_secret_seen){ .where = ev_text_of("output"),
					  .stream = at->stream,
					  EV_SET(off, (int64_t)at->off),
					  EV_SET(len, (int64_t)(at->shown ? at->shown : t->len)),
					  EV_SET(action, (int64_t)ev->action),
					  .redacted = at->shown > 0 });
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
