/* Part of approve.c: the bytes of an action, and its circumstances. */
#include <stdio.h>
#include <string.h>

#include "ui/views/approve_priv.h"
#include "ui/term/fmt.h"
#include "ui/views/merge_card.h"
#include "ui/rows/row.h"
#include "ui/model/wall.h"

/* --- the bytes -------------------------------------------------------------------------------- */

const char *byte_counts(const json_t *req, uint32_t hidden, uint32_t foreign, size_t lines,
			struct arena *a)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	size_t words = json_array_size(json_object_get(req, "argv"));
	if (hidden > 0)
		buf_printf(&b, "%s, ",
			   fmt_plural(a, hidden, "HIDDEN CHARACTER", "HIDDEN CHARACTERS"));
	buf_puts(&b, "exact bytes");
	if (!req)
		buf_puts(&b, ", edited by you");
	else if (json_object_get(req, "cmd"))
		buf_puts(&b, ", a shell command");
	else if (words > 0)
		buf_printf(&b, ", %s", fmt_plural(a, (int64_t)words, "argument", "arguments"));
	if (lines > 1)
		buf_printf(&b, ", %zu lines", lines);
	if (foreign > 0)
		buf_printf(&b, ", %s outside ASCII",
			   fmt_plural(a, foreign, "character", "characters"));
	else
		buf_puts(&b, ", ASCII only");
	if (hidden == 0)
		buf_puts(&b, ", no hidden characters");
	return arena_strdup(a, buf_cstr(&b));
}

/* Lines of the command, numbered in the gutter when there is more than one, so that a line break is
 * never mistaken. */
size_t exact_lines(struct text *t, enum role r, const char *bytes, size_t len, const char *first)
{
	size_t lines = 0;
	bool many = memchr(bytes, '\n', len) != NULL;
	do {
		const char *nl = len ? memchr(bytes, '\n', len) : NULL;
		size_t n = nl ? (size_t)(nl - bytes) : len;
		const char *gutter = many ? arena_printf(t->arena, "%zu", lines + 1) : first;
		text_add(t, r, gutter, bytes, n, SANITIZE_EXACT);
		lines++;
		len -= nl ? n + 1 : n;
		bytes += nl ? n + 1 : n;
	} while (len > 0);
	return lines;
}

static size_t exact_field(struct text *t, const json_t *o, const char *key, const char *gutter)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!json_get_bytes(json_object_get(o, key), &b))
		return 0;
	return exact_lines(t, ROLE_CMD, buf_cstr(&b), b.len, gutter);
}

bool approve_is_merge(const json_t *req)
{
	return strcmp(json_str(req, "kind", ""), "merge") == 0;
}

size_t exact_action(struct text *t, const json_t *req, const char *command, struct arena *a)
{
	const char *kind = json_str(req, "kind", "");
	if (command)
		return exact_lines(t, ROLE_CMD, command, strlen(command), "$");
	if (json_object_get(req, "path")) {
		/* 'put' copies from the host into the sandbox, everything else out of it */
		bool in = strcmp(kind, "put") == 0;
		size_t lines = exact_field(t, req, in ? "host_path" : "path", "");
		if (json_object_get(req, "host_path"))
			exact_field(t, req, in ? "path" : "host_path", "->");
		return lines;
	}
	const char *what = action_what(req, a);
	text_add(t, ROLE_DIM, NULL, kind, strlen(kind), 0);
	size_t lines = exact_lines(t, ROLE_CMD, what, strlen(what), NULL);
	if (approve_is_merge(req))
		merge_card_args(t, req);
	return lines;
}

/* The content of a web request besides its address: names of headers, harmless values, the body. */
static void approve_carried(struct text *t, const json_t *req)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	const char *key;
	json_t *v;
	json_object_foreach(json_object_get(json_object_get(req, "args"), "headers"), key, v)
	{
		const char *secret = json_str(v, "$secret", NULL);
		const char *line =
			arena_printf(t->arena, "%s: %s%s%s", key, secret ? "<secret:" : "",
				     secret		 ? secret
				     : json_is_string(v) ? json_string_value(v)
							 : "",
				     secret ? ">" : "");
		text_add(t, ROLE_TEXT, "", line, strlen(line), SANITIZE_EXACT | TEXT_SOFT);
	}
	if (!json_get_bytes(json_object_get(req, "data"), &body) || !body.len)
		return;
	text_putf(t, ROLE_DIM,
		  "with %s bytes:", fmt_count(t->arena, json_int(req, "data_bytes", 0)));
	exact_lines(t, ROLE_CMD, arena_strndup(t->arena, body.data, body.len), body.len, "");
}

void approve_head(struct text *t, const char *title)
{
	text_head(t, ROLE_TITLE, "%s", title);
}

/* @input goes to a row of its own where the space before it would begin the next row. */
static void approve_with_input(struct text *t, struct buf *line, const char *input)
{
	int room = t->width - t->gutter, cells = text_cells(buf_cstr(line), t->ascii);
	bool apart = cells <= room && cells + 6 + (int)strlen(input) > room;
	if (!apart)
		buf_printf(line, "      %s", input);
	text_add(t, ROLE_DIM, "", line->data, line->len, SANITIZE_EXACT | TEXT_SOFT);
	if (apart)
		text_add(t, ROLE_DIM, "", input, strlen(input), SANITIZE_EXACT);
}

void approve_circumstances(struct text *t, struct source *s, const json_t *req,
			   const struct model_action *act)
{
	CLEANUP(buf_release) struct buf cwd = BUF_INIT, line = BUF_INIT;
	const struct model_box *b = model_box(&s->model, act->box);
	int64_t in = json_int(req, "stdin_bytes", 0), limit = json_int(req, "timeout_us", 0);
	const json_t *env = json_object_get(req, "env");
	struct arena *a = t->arena;
	if (!strcmp(json_str(req, "kind", ""), "fetch")) {
		approve_carried(t, req);
		return;
	}
	if (approve_is_merge(req)) { /* runs no command: no directory, limit, or input */
		if (json_array_size(json_object_get(req, "boxes")))
			return; /* the card names them */
		if (b)
			text_putf(t, ROLE_DIM, "from sandbox %s:%s %s", b->driver, b->name,
				  *b->profile ? wall_words(b->profile) : "");
		return;
	}
	if (!json_get_bytes(json_object_get(req, "cwd"), &cwd) || cwd.len == 0)
		buf_puts(&cwd, "/workspace");
	buf_printf(&line, "cwd  %s", cwd.data);
	if (b)
		buf_printf(&line, "      sandbox %s:%s%s%s", b->driver, b->name,
			   *b->profile ? " " : "", wall_words(b->profile));
	if (limit > 0)
		buf_printf(&line, "      limit %s", fmt_span(a, limit));
	const char *input =
		arena_printf(a, "stdin %s",
			     in > 0 ? arena_printf(a, "%s bytes", fmt_count(a, in))
			     : json_flag(json_object_get(req, "args"), "stdin", false) ? "open"
										       : "closed");
	approve_with_input(t, &line, input);
	buf_reset(&line);
	for (size_t i = 0; i < json_array_size(env); i++) {
		CLEANUP(buf_release) struct buf name = BUF_INIT;
		if (json_get_bytes(json_array_get(env, i), &name))
			buf_printf(&line, " +%s", buf_cstr(&name));
	}
	if (line.len > 0) {
		buf_printf(&cwd, " ");
		CLEANUP(buf_release) struct buf all = BUF_INIT;
		buf_printf(&all, "env %s", line.data);
		text_add(t, ROLE_DIM, "", all.data, all.len, SANITIZE_EXACT | TEXT_SOFT);
	}
}
