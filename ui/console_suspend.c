#include "ui/console_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/frame/suspend_screen.h"

static void console_suspend_copy(struct console *c, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const char *program = clip_program(text, len);
	if (len <= CLIP_MAX && tty_modern()) {
		clip_sequence(text, len, &b);
		tty_put(b.data, b.len);
		tty_flush();
	} else if (!program) {
		ui_say(&c->ui, ROLE_WARN,
		       "%zu bytes are too many for the terminal's clipboard: w writes them to a file",
		       len);
		return;
	}
	ui_say(&c->ui, ROLE_DIM, "copied %zu byte%s%s%s", len, len == 1 ? "" : "s",
	       program ? " with " : " (OSC 52)", program ? program : "");
}

/* @where: "SESSION BOX" */
static void console_suspend_shell(struct console *c, const char *where)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *session = mem_strndup(where, strcspn(where, " "));
	const char *box = where + strlen(session) + 1;
	if (!c->o->shell) {
		ui_say(&c->ui, ROLE_DIM, "no shell from here: sandglass shell %s --in %s", box,
		       session);
		return;
	}
	suspend_begin();
	printf("This is your own shell in sandbox %s, and it is recorded. exit or Ctrl-D returns.\n",
	       box);
	fflush(stdout);
	uint64_t since = 0;
	for (size_t i = 0; i < c->nr; i++)
		since = strcmp(session_id(c->src[i]->session), session) == 0 ? c->src[i]->model.head
									     : since;
	int status = c->o->shell(c->o->self, session, box, &err);
	suspend_end();
	if (status < 0)
		ui_say(&c->ui, ROLE_ERROR, "%s", err.text);
	else
		ui_shell_ended(&c->ui, session, box, since, status);
}

/* @where: "SESSION AGENT" */
static void console_suspend_terminal(struct console *c, const char *where)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *session = mem_strndup(where, strcspn(where, " "));
	const char *agent = where + strlen(session) + 1;
	int key, status;
	if (!c->o->terminal) {
		ui_say(&c->ui, ROLE_DIM, "no terminal from here: sandglass attach %s", session);
		return;
	}
	suspend_begin();
	status = c->o->terminal(c->o->self, session, agent, &err);
	if (status > 0) {
		printf("-- exit %d; Enter comes back ", status);
		fflush(stdout);
		while ((key = getchar()) != EOF && key != '\n')
			;
		clearerr(stdin);
	}
	suspend_end();
	if (status == CONSOLE_BACK)
		c->ui.quit = true;
	else if (status < 0)
		ui_say(&c->ui, ROLE_ERROR, "%s", err.text);
}

/* @what: "SESSION COMMAND" */
static void console_suspend_host(struct console *c, const char *what)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *session = mem_strndup(what, strcspn(what, " "));
	const char *cmd = what + strlen(session) + 1;
	int key;
	suspend_begin();
	printf("$ %s\n", cmd);
	fflush(stdout);
	int status = c->o->host(c->o->self, session, cmd, &err);
	if (status >= 0)
		printf("-- exit %d; recorded as yours; Enter comes back ", status);
	fflush(stdout);
	while (status >= 0 && (key = getchar()) != EOF && key != '\n')
		;
	clearerr(stdin);
	suspend_end();
	if (status < 0 || err.code != ERR_NONE)
		ui_say(&c->ui, ROLE_ERROR, "%s", err.text);
	else
		ui_say(&c->ui, ROLE_DIM, "exit %d: %s", status, cmd);
}

/* @what: "SESSION" or "SESSION EVENT" */
static void console_suspend_session(struct console *c, const char *what)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *session = mem_strndup(what, strcspn(what, " "));
	const char *at = what + strlen(session);
	const struct browse *b = c->o->browse;
	if (!b)
		return;
	suspend_begin();
	int status = b->show(b->self, session, strtoull(at, NULL, 10), &err);
	suspend_end();
	if (status < 0)
		ui_say(&c->ui, ROLE_ERROR, "%s", err.text);
	else if (status)
		ui_say(&c->ui, ROLE_DIM, "%s: exit %d", session, status);
}

void console_suspend(struct console *c)
{
	CLEANUP(buf_release) struct buf text = c->ui.wish_text, back = BUF_INIT;
	enum ui_wish wish = c->ui.wish;
	bool edited;
	const char *s = buf_cstr(&text), *why = "";
	c->ui.wish = WISH_NONE;
	c->ui.wish_text = BUF_INIT;
	c->dirty = true;
	notify_away(&c->notify);
	switch (wish) {
	case WISH_NONE:
		break;
	case WISH_EDIT:
		edited = suspend_edit(c->ui.edit, &back);
		ui_edited(&c->ui, edited ? buf_cstr(&back) : NULL);
		if (!edited)
			ui_say(&c->ui, ROLE_WARN,
			       "the editor failed or left no text: nothing of it is taken");
		break;
	case WISH_LOOK:
		if (!suspend_edit(s, &back))
			ui_say(&c->ui, ROLE_ERROR, "can't run the editor ($VISUAL, $EDITOR)");
		break;
	case WISH_PAGE:
		if (!suspend_page(c->o->pager, s, text.len))
			ui_say(&c->ui, ROLE_ERROR, "can't run the pager ($PAGER)");
		break;
	case WISH_PLAIN:
		suspend_plain(s, text.len);
		break;
	case WISH_COMPARE:
		if (!suspend_compare(&text, &why))
			ui_say(&c->ui, ROLE_ERROR, "%s", why);
		break;
	case WISH_SHELL:
		console_suspend_shell(c, s);
		break;
	case WISH_TERMINAL:
		console_suspend_terminal(c, s);
		break;
	case WISH_HOST:
		console_suspend_host(c, s);
		break;
	case WISH_SESSION:
		console_suspend_session(c, s);
		break;
	case WISH_COPY:
		console_suspend_copy(c, s, text.len);
		break;
	}
}
