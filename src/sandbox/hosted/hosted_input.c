/* Part of hosted_run.c: input of a run, text typed into its terminal, and the size of that. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/hosted/hosted_run_priv.h"
#include "base/mem.h"
#include "sandbox/hosted/hosted_priv.h"

enum { DEAF_MS = 1500 };

/* --- input --- */

static void make_input(void *self, struct buf *text)
{
	struct run *r = self;
	struct wrap_run w = wrap_of(r);
	shell_protocol_input(text, &w, r->in_nr, &r->asked, r->in.data, r->in_sent, r->eof_sent);
}

static void input_sent(void *self, const struct err *err)
{
	struct run *r = self;
	r->input = NULL;
	/* the bytes it has read are unknown, and it would wait for the others */
	if (err && !r->ended) {
		CLEANUP(free_ptr)
		char *line = mem_printf("sandglass: killed, since its input can't be sent: %s\n",
					err->text);
		r->unfed = true;
		if (!r->freed)
			r->ops->on_output(r->self, stream_of(r, true), line, strlen(line));
		hosted_run_signal(r, SIGKILL);
		return;
	}
	buf_drop(&r->in, r->in_sent);
	r->in_sent = 0;
	send_input(r);
}

static const struct script_how input_how = { .make = make_input,
					     .line = any_end,
					     .end = input_sent };

void send_input(struct run *r)
{
	bool more = r->in.len || (r->in_eof && !r->eof_sent);
	if (!r->going || !r->streams || r->input || r->ended || !more)
		return;
	r->in_sent = r->in.len < WRAP_TEXT_MAX / 2 ? r->in.len : WRAP_TEXT_MAX / 2;
	r->eof_sent = r->in_eof && r->in_sent == r->in.len;
	r->in_nr++;
	buf_release(&r->asked);
	r->asked = r->ask;
	r->ask = BUF_INIT;
	r->input = script_begin(r->remote, &input_how, r);
}

void hosted_run_stdin(struct run *r, const void *bytes, size_t len, bool eof)
{
	if (r->ended || r->in_eof)
		return;
	hosted_run_rest(r, false);
	buf_append(&r->in, bytes, len);
	r->in_eof |= eof;
	send_input(r);
}

size_t hosted_run_stdin_queued(const struct run *r)
{
	return r->ended ? 0 : r->in.len;
}

/* --- what is typed into a terminal --- */

static void on_deaf(void *self)
{
	no_news(self);
}

/* Our tool holds the terminal, and sees the mark when it comes out, as we do. */
static void ask_with_input(struct run *r, const char *mark)
{
	char number[16];
	strv_release(&r->news_words);
	buf_reset(&r->ask);
	if (r->deaf)
		loop_timer_stop(r->deaf);
	r->news = mirror_news(r->remote->mirror, &r->news_words);
	if (!r->news)
		return;
	snprintf(number, sizeof number, "%u", r->news);
	buf_append(&r->ask, mark, strlen(mark) + 1);
	buf_append(&r->ask, number, strlen(number) + 1);
	for (size_t i = 0; i < r->news_words.nr; i++)
		buf_append(&r->ask, r->news_words.item[i], strlen(r->news_words.item[i]) + 1);
}

/* The tool's answer comes right after the mark, if at all. The connection may have been cut
 * between, or the mark may have come before the tool was asked. */
void hosted_run_turn(struct run *r, enum run_turn turn, const char *mark)
{
	hosted_run_rest(r, turn != TURN_BEGINS);
	if (turn == TURN_READY)
		return;
	if (turn == TURN_BEGINS) {
		ask_with_input(r, mark);
		return;
	}
	__atomic_add_fetch(&r->remote->changes, 1, __ATOMIC_RELEASE);
	mirror_stirred(r->remote->mirror, turn == TURN_AT_MARK ? r->news : 0);
	if (turn != TURN_AT_MARK || !r->news)
		return;
	if (!r->deaf)
		r->deaf = loop_timer_new(r->remote->loop, on_deaf, r);
	loop_timer_set(r->deaf, DEAF_MS, 0);
}

void hosted_run_quiet(struct run *r)
{
	r->quiet = true;
}

/* --- the size of a terminal --- */

static void make_size(void *self, struct buf *text)
{
	struct run *r = self;
	struct wrap_run w = wrap_of(r);
	shell_protocol_resize(text, &w, r->cols, r->rows);
	r->cols = r->rows = 0;
}

static void hosted_run_send_size(struct run *r);

static void hosted_run_sized(void *self, const struct err *err)
{
	struct run *r = self;
	(void)err;
	r->sizer = NULL;
	hosted_run_send_size(r);
}

static const struct script_how size_how = {
	.make = make_size, .line = any_end, .end = hosted_run_sized, .once = true
};

static void hosted_run_send_size(struct run *r)
{
	if (r->going && r->cols && !r->sizer && !r->ended)
		r->sizer = script_begin(r->remote, &size_how, r);
}

void hosted_run_resize(struct run *r, const struct winsize *size)
{
	uint16_t cols = size->ws_col, rows = size->ws_row; /* pixels have no way there */
	if (!r->o.pty || !cols || !rows)
		return;
	r->cols = cols;
	r->rows = rows;
	if (!r->going) { /* it begins so */
		r->o.cols = cols;
		r->o.rows = rows;
		r->cols = r->rows = 0;
	}
	hosted_run_send_size(r);
}
