#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/hosted/hosted_priv.h"

enum { MOST_TRIES = 6, FIRST_WAIT_MS = 150, NOISE_MAX = 300 };

struct script {
	struct script *next;
	struct remote *remote; /* NULL: nobody waits for it */
	const struct script_how *how;
	void *self;
	struct remote_op *op;
	struct wrap_reader reader;
	struct loop_timer *again;
	struct buf noise; /* what the shell said that is not ours */
	struct err failed;
	unsigned tries;
	bool complete, told, moved, paused;
	bool rests; /* keeps nobody awake */
	/* its box was dead when it began: a call that is on its way ends and frees it */
	bool deferred;
};

static void hosted_script_leave(struct script *s)
{
	struct remote *r = s->remote;
	if (!r)
		return;
	for (struct script **p = &r->scripts; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	s->remote = NULL;
	if (!s->rests && --r->busy == 0)
		hosted_quiet(r);
}

static void script_free(struct script *s)
{
	hosted_script_leave(s);
	loop_timer_free(&s->again);
	shell_protocol_reader_release(&s->reader);
	buf_release(&s->noise);
	free(s);
}

/* Tells the end. Only the op's own end frees it, if there is one. */
static void hosted_script_tell(struct script *s, const struct err *err)
{
	struct remote *r = s->remote;
	if (s->told)
		return;
	s->told = true;
	struct err copy = err ? *err : ERR_INIT;
	hosted_script_leave(s);
	if (r)
		s->how->end(s->self, err ? &copy : NULL);
}

static void hosted_script_on_line(void *self, char kind, const char *text, size_t len)
{
	struct script *s = self;
	if (s->told || !s->remote)
		return;
	if (!kind) {
		if (s->noise.len + len < NOISE_MAX) {
			buf_puts(&s->noise, s->noise.len ? "; " : "");
			buf_append(&s->noise, text, len);
		}
		return;
	}
	s->moved = true;
	s->complete |= s->how->line(s->self, kind, text, len);
	if (s->complete)
		hosted_script_tell(s, NULL);
}

static void on_out(void *self, const void *bytes, size_t len)
{
	struct script *s = self;
	shell_protocol_feed(&s->reader, bytes, len);
}

static void hosted_script_send(struct script *s);

static void hosted_script_send_again(void *self)
{
	hosted_script_send(self);
}

/* Again after a while; progress gives new patience. */
static bool hosted_script_retry(struct script *s, enum err_code code)
{
	bool may = code == ERR_IO || code == ERR_CANCELLED || code == ERR_BUSY || code == ERR_FULL;
	if (s->moved)
		s->tries = 0;
	s->moved = false;
	if (!may || s->how->once || ++s->tries > MOST_TRIES)
		return false;
	if (!s->again)
		s->again = loop_timer_new(s->remote->loop, hosted_script_send_again, s);
	loop_timer_set(s->again, (uint64_t)FIRST_WAIT_MS << (s->tries - 1), 0);
	return true;
}

static void set_dead(struct remote *r, const struct err *err)
{
	if (!r->dead) {
		r->dead = true;
		r->why = *err;
	}
}

static void hosted_script_on_done(void *self, const json_t *value, const struct err *err)
{
	struct script *s = self;
	(void)value;
	s->op = NULL;
	if (s->told || !s->remote) {
		script_free(s);
		return;
	}
	struct err why = ERR_INIT;
	if (err)
		why = *err;
	else
		err_set(&why, ERR_IO, "the shell of the sandbox ended%s%s",
			s->noise.len ? ": " : "", buf_cstr(&s->noise));
	if (why.code == ERR_CLOSED) {
		struct remote *r = s->remote;
		set_dead(r, &why);
		hosted_script_tell(s, &why);
		script_free(s);
		hosted_died(r, &why); /* the others */
		return;
	}
	if (hosted_script_retry(s, why.code))
		return;
	hosted_script_tell(s, &why);
	script_free(s);
}

/* Providers take a text as JSON, which knows no bytes that are not UTF-8: such a text is put
 * together by the shell there. */
void script_as_utf8(struct buf *text)
{
	if (utf8_valid(text->data, text->len))
		return;
	struct buf all = BUF_INIT;
	buf_puts(&all, "eval \"$(printf '%b' '");
	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->data[i];
		if (c >= 0x80 || c == '\'' || c == '\\')
			buf_printf(&all, "\\0%03o", (unsigned)c);
		else
			buf_append(&all, &c, 1);
	}
	buf_puts(&all, "')\"\n");
	buf_release(text);
	*text = all;
}

static void hosted_script_send(struct script *s)
{
	static const struct remote_heard heard = { .out = on_out, .done = hosted_script_on_done };
	struct buf text = BUF_INIT;
	json_t *args;
	buf_reset(&s->reader.line);
	buf_reset(&s->noise);
	s->how->make(s->self, &text);
	script_as_utf8(&text);
	args = hosted_args(s->remote);
	json_array_append_new(args, json_bytes(text.data, text.len));
	s->op = hosted_ask(s->remote, "exec", args, &heard, s);
	if (s->paused)
		s->remote->of->port.pause(s->op, true);
	buf_release(&text);
}

static void hosted_script_dead(void *self)
{
	struct script *s = self;
	if (s->remote)
		hosted_script_tell(s, &s->remote->why);
	script_free(s);
}

struct script *script_go_on(struct remote *r, const struct script_how *how, void *self, bool rests)
{
	struct script *s = NEW(struct script);
	*s = (struct script){ .next = r->scripts,
			      .remote = r,
			      .how = how,
			      .self = self,
			      .rests = rests,
			      .reader = { .on_line = hosted_script_on_line, .self = s } };
	r->scripts = s;
	r->busy += !rests;
	s->deferred = r->dead;
	if (r->dead)
		loop_defer(r->loop, hosted_script_dead, s);
	else if (rests ? r->state == AWAKE : hosted_awake(r))
		hosted_script_send(s);
	return s;
}

struct script *script_begin(struct remote *r, const struct script_how *how, void *self)
{
	return script_go_on(r, how, self, false);
}

void script_rest(struct script *s, bool rests)
{
	struct remote *r = s->remote;
	if (!r || s->told || s->rests == rests)
		return;
	s->rests = rests;
	if (!rests) {
		r->busy++;
		hosted_awake(r);
	} else if (--r->busy == 0) {
		hosted_quiet(r);
	}
}

void scripts_park(struct remote *r)
{
	for (struct script *s = r->scripts; s; s = s->next) {
		if (!s->rests)
			continue;
		loop_timer_free(&s->again);
		s->tries = 0;
		if (s->op)
			r->of->port.cancel(&s->op);
	}
}

void scripts_go(struct remote *r)
{
	for (struct script *s = r->scripts, *next; s; s = next) {
		next = s->next;
		if (!s->op && !s->again)
			hosted_script_send(s);
	}
}

void script_cancel(struct script **sp)
{
	struct script *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	struct remote *r = s->remote;
	s->told = true;
	if (r && r->dead && !s->op) { /* its deferred end frees it */
		hosted_script_leave(s);
		return;
	}
	if (s->op && r)
		r->of->port.cancel(&s->op);
	script_free(s);
}

void script_pause(struct script *s, bool paused)
{
	s->paused = paused;
	if (s->op && s->remote)
		s->remote->of->port.pause(s->op, paused);
}

void hosted_died(struct remote *r, const struct err *err)
{
	set_dead(r, err);
	while (r->scripts) {
		struct script *s = r->scripts;
		bool idle = !s->op && !s->deferred;
		hosted_script_tell(s, err);
		if (idle)
			script_free(s);
	}
}
