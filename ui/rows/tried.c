#include "ui/rows/tried.h"

#include <inttypes.h>
#include <string.h>

#include "phrase/describe.h"
#include "ui/term/fmt.h"

enum { FILES_MAX = 12, LINES_MAX = 8, HOSTS_MAX = 4, OUTPUT_MAX = 1 << 20, LIMIT_US = 30000000 };

static const char *tried_files_sum(const json_t *o, struct arena *a)
{
	int64_t nr = (int64_t)json_array_size(json_object_get(o, "files")) + json_int(o, "more", 0);
	if (nr == 0)
		return "no file changed";
	return arena_printf(a, "%s +%" PRId64 " -%" PRId64, fmt_plural(a, nr, "file", "files"),
			    json_int(o, "added", 0), json_int(o, "removed", 0));
}

const char *tried_sum(const json_t *o, struct arena *a)
{
	const char *end = json_str(o, "end", "");
	if (strcmp(end, "failed") == 0)
		return arena_printf(a, "failed: %s", json_str(o, "why", "?"));
	if (strcmp(end, "cancelled") == 0)
		return "cancelled: the action was decided during the dry run";
	const char *how =
		strcmp(end, "timeout") == 0 ? "stopped after 30 s"
		: json_object_get(o, "signal")
			? arena_printf(a, "ended by signal %" PRId64, json_int(o, "signal", 0))
			: arena_printf(a, "exit %" PRId64, json_int(o, "code", 0));
	return arena_printf(a, "%s in %s, %s", how, fmt_span(a, json_int(o, "dur_us", 0)),
			    tried_files_sum(o, a));
}

/* --- why it is incomplete --------------------------------------------------------------------- */

static const char *network_text(const json_t *o, struct arena *a)
{
	const json_t *net = json_object_get(o, "net"), *hosts = json_object_get(net, "hosts");
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int64_t refused = json_int(net, "refused", 0), names = json_int(net, "names", 0);
	buf_puts(&b, describe_preview_reason("network"));
	for (size_t i = 0; i < json_array_size(hosts) && i < HOSTS_MAX; i++)
		buf_printf(&b, "%s %s:%" PRId64, i ? "," : ":",
			   json_str(json_array_get(hosts, i), "host", "?"),
			   json_int(json_array_get(hosts, i), "port", 0));
	if (json_array_size(hosts) > HOSTS_MAX)
		buf_printf(&b, " and %zu more", json_array_size(hosts) - HOSTS_MAX);
	if (refused > 0)
		buf_printf(&b, "; %s refused", fmt_plural(a, refused, "connection", "connections"));
	if (names > 0)
		buf_printf(&b, "; %s failed", fmt_plural(a, names, "name lookup", "name lookups"));
	return arena_strdup(a, buf_cstr(&b));
}

static const char *reason_text(const char *word, const json_t *o, struct arena *a)
{
	return strcmp(word, "network") == 0 ? network_text(o, a)
					    : arena_strdup(a, describe_preview_reason(word));
}

static void tried_incomplete(struct text *t, const json_t *o)
{
	const json_t *list = json_object_get(o, "incomplete");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));
		if (word)
			text_putf(t, ROLE_WARN, "incomplete: %s", reason_text(word, o, t->arena));
	}
}

/* --- files and output ------------------------------------------------------------------------- */

static void tried_files(struct text *t, const json_t *o)
{
	const json_t *list = json_object_get(o, "files");
	size_t nr = json_array_size(list), shown = nr > FILES_MAX ? FILES_MAX - 1 : nr;
	for (size_t i = 0; i < shown; i++) {
		const json_t *f = json_array_get(list, i);
		CLEANUP(buf_release) struct buf path = BUF_INIT, line = BUF_INIT;
		const char *op = json_str(f, "op", "M"), *what = json_str(f, "what", ""),
			   *repo = json_str(f, "repo", "");
		int64_t added = json_int(f, "added", 0), removed = json_int(f, "removed", 0);
		json_get_bytes(json_object_get(f, "path"), &path);
		buf_printf(&line, "%s %s%s", op, strcmp(repo, ":home") == 0 ? "/home/agent" : repo,
			   *repo ? "/" : "");
		buf_append(&line, path.data, path.len);
		if (added || removed)
			buf_printf(&line, "  +%" PRId64 " -%" PRId64, added, removed);
		else if (strcmp(what, "text") != 0 && strcmp(what, "none") != 0)
			buf_printf(&line, "  %s", what);
		text_add(t,
			 *op == 'A'   ? ROLE_ADD
			 : *op == 'D' ? ROLE_DEL
				      : ROLE_HUNK,
			 NULL, line.data, line.len, 0);
	}
	int64_t more = (int64_t)(nr - shown) + json_int(o, "more", 0);
	if (more > 0)
		text_putf(t, ROLE_DIM, "and %s more", fmt_plural(t->arena, more, "file", "files"));
}

struct gather {
	struct buf bytes;
};

static bool tried_gather(void *self, int stream, int64_t ts_us, const void *bytes, size_t len)
{
	struct gather *g = self;
	(void)stream;
	(void)ts_us;
	buf_append(&g->bytes, bytes, len);
	return g->bytes.len < OUTPUT_MAX;
}

void tried_output(struct text *t, struct source *s, const struct model_action *act, size_t max)
{
	struct gather g = { .bytes = BUF_INIT };
	struct err err = ERR_INIT;
	if (session_output_each(s->session, act->preview, tried_gather, &g, &err) < 0 ||
	    !g.bytes.len)
		if (session_output(s->session, act->preview, 3, 0, OUTPUT_MAX, &g.bytes, &err) < 0)
			buf_reset(&g.bytes);
	const char *p = buf_cstr(&g.bytes), *end = p + g.bytes.len, *from = p;
	size_t lines = 0;
	for (const char *q = end; max && q > p; q--)
		if (q < end && q[-1] == '\n' && ++lines == max) {
			from = q;
			break;
		}
	while (from < end) {
		const char *nl = memchr(from, '\n', (size_t)(end - from));
		size_t n = (size_t)((nl ? nl : end) - from);
		text_add(t, ROLE_TEXT, "|", from, n, 0);
		from += n + (nl ? 1 : 0);
	}
	if (!g.bytes.len)
		text_puts(t, ROLE_DIM, "no output");
	buf_release(&g.bytes);
}

bool tried_text(struct text *t, struct source *s, const struct model_action *act, int64_t now_us,
		enum tried_how how)
{
	struct arena *a = t->arena;
	if (!act->preview)
		return false;
	if (!act->previewed) {
		int64_t us = now_us - act->preview_us;
		us = us < 0 ? 0 : us > LIMIT_US ? LIMIT_US : us;
		text_putf(t, ROLE_RUN, "dry run: %s of %s; the sandbox is frozen meanwhile",
			  fmt_age(a, us), fmt_age(a, LIMIT_US));
		return true;
	}
	CLEANUP(json_release) json_t *o = source_body(s, act->previewed);
	bool good = strcmp(json_str(o, "end", ""), "ok") == 0 && json_int(o, "code", -1) == 0;
	text_putf(t, good ? ROLE_OK : ROLE_WARN, "dry run: %s", tried_sum(o, a));
	tried_incomplete(t, o);
	if (how == TRIED_BRIEF)
		return true;
	tried_files(t, o);
	if (json_int(o, "out_bytes", 0) + json_int(o, "err_bytes", 0) > 0)
		tried_output(t, s, act, LINES_MAX);
	return true;
}
