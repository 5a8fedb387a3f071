/* One page that plays the session in a browser, without network and without anything beside it.
 *
 * Recorded content is data: each item is JSON in a block that no browser runs, "<" in it is written
 * \u003c, and the player puts it on the page as text only. The policy of the page lets run and
 * style nothing but the two blocks whose SHA-256 it names, and lets it load nothing at all. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "phrase/describe.h"
#include "exchange/act.h"
#include "exchange/export.h"
#include "exchange/layer_patch.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text/sanitize.h"
#include "query/aim.h"
#include "sandbox/workspace/state.h"

/* Paths are relative to the top of the tree, where make runs. */
#define EMBED(symbol, path)                                                                        \
	__asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" path                              \
		"\"\n.byte 0\n.popsection\n");                                                     \
	extern const char symbol[] __attribute__((visibility("hidden")))

EMBED(player_script, "src/exchange/player.js");
EMBED(player_style, "src/exchange/player.css");

enum { OUTPUT_MAX = 64 << 10, PATCH_MAX = 1 << 20 };

struct page {
	struct export *x;
	struct agent_names names;
	size_t nr;
	int64_t begin_us;
};

static void export_html_put_hash(FILE *out, const char *what, const char *text)
{
	struct hash h;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	hash_of(text, strlen(text), &h);
	base64_append(&b, h.b, HASH_LEN);
	fprintf(out, "%s 'sha256-%s'", what, buf_cstr(&b));
}

/* Text of the page itself: a title. */
static void export_html_put_escaped(FILE *out, const char *text)
{
	CLEANUP(buf_release) struct buf vet = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &vet);
	for (const char *p = buf_cstr(&vet); *p; p++)
		if (*p == '<' || *p == '>' || *p == '&' || *p == '"')
			fprintf(out, "&#%d;", *p);
		else
			fputc(*p, out);
}

static void put_item(struct page *p, json_t *o)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_dump_buf(o, &text);
	json_decref(o);
	fputs(p->nr++ ? ",\n" : "\n", p->x->out);
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] == '<')
			fputs("\\u003c", p->x->out);
		else
			fputc(text.data[i], p->x->out);
}

static json_t *export_html_item(struct page *p, const struct event *ev, const char *type)
{
	json_t *o = json_object();
	const char *agent = agent_name(&p->names, p->x->s, ev->agent);
	json_put_str(o, "type", type);
	json_put_int(o, "id", (int64_t)ev->seq);
	json_put_int(o, "ms", (ev->ts_us - p->begin_us) / 1000);
	json_put(o, "agent", json_text(agent, strlen(agent)));
	return o;
}

static void put_vetted(json_t *o, const char *key, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf vet = BUF_INIT;
	sanitize_text(text, len, 0, &vet);
	json_put(o, key, json_text(buf_cstr(&vet), vet.len));
}

static void export_html_put_files(json_t *o, const struct act *a)
{
	json_t *files = json_array();
	for (size_t i = 0; i < a->snapshot.changes.nr; i++) {
		CLEANUP(buf_release) struct buf vet = BUF_INIT;
		const struct ev_change *change = &a->snapshot.changes.item[i];
		struct ev_text path = change->path;
		if (json_array_size(files) >= 50 || !path.s || ws_path_is_git(path.s, path.n))
			continue;
		buf_printf(&vet, "%s ", act_text(a, change->op, "?"));
		sanitize_line(path.s, path.n, 0, &vet);
		json_array_append_new(files, json_text(buf_cstr(&vet), vet.len));
	}
	json_put(o, "files", files);
}

static int export_html_put_action(struct page *p, const struct event *ev, struct err *err)
{
	struct act a;
	CLEANUP(buf_release)
	struct buf what = BUF_INIT, how = BUF_INIT, out = BUF_INIT, rules = BUF_INIT,
		   proposed = BUF_INIT;
	if (act_load(&a, p->x->s, ev->seq, err) < 0)
		return -1;
	if (!strcmp(act_kind(&a), "model")) { /* its answer is an item */
		act_release(&a);
		return 0;
	}
	json_t *o = export_html_item(p, ev, "action");
	act_what(&a, &what);
	act_rules(&a, &rules);
	json_put_str(o, "kind", act_kind(&a));
	put_vetted(o, "what", buf_cstr(&what), what.len);
	if (act_proposed(&a, &proposed))
		put_vetted(o, "proposed", buf_cstr(&proposed), proposed.len);
	act_how(&a, &how);
	json_put_str(o, "end", buf_cstr(&how));
	json_put_flag(o, "good", act_good(&a));
	const char *why = act_text(&a, a.ended.why, "");
	json_put_int(o, "took", a.ended.dur_us / 1000);
	json_put_str(o, "verdict", act_text(&a, a.judged.verdict, "unknown"));
	put_vetted(o, "rules", buf_cstr(&rules), rules.len);
	put_vetted(o, "why", why, strlen(why));
	if (a.has_decided) {
		const char *who = act_decider(&a, "nobody");
		json_put_str(o, "decision", act_text(&a, a.decided.decision, "decided"));
		put_vetted(o, "by", who, strlen(who));
	}
	act_output(&a, p->x->s, OUTPUT_MAX, &out);
	sanitize_drop_colours(&out);
	put_vetted(o, "output", buf_cstr(&out), out.len);
	export_html_put_files(o, &a);
	put_item(p, o);
	act_release(&a);
	return 0;
}

/* A script's own tool: its call with the arguments, or the result of that call. */
static void export_html_put_tool(struct page *p, const struct event *ev)
{
	struct err none = ERR_INIT;
	bool call = ev->kind == EV_TOOL_CALL;
	CLEANUP(json_release)
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL;
	json_t *o = export_html_item(p, ev, call ? "tool" : "result");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (call) {
		tool_call_words(body, &text);
		put_vetted(o, "what", buf_cstr(&text), text.len);
	} else {
		bool good = json_flag(body, "ok", false);
		json_put_flag(o, "good", good);
		json_put_str(o, "what", good ? "done" : "failed");
		(void)!json_get_bytes(json_object_get(body, "text"), &text);
		put_vetted(o, "output", buf_cstr(&text), text.len);
		json_put_int(o, "of", (int64_t)ev->cause);
	}
	put_item(p, o);
}

static void put_words(struct page *p, const struct event *ev, const char *type, const char *key)
{
	struct err none = ERR_INIT;
	json_t *body = ev->body ? json_parse(ev->body, ev->len, "event", &none) : NULL,
	       *o = export_html_item(p, ev, type);
	const char *text = json_str(body, key, "");
	if (ev->kind == EV_AGENT_START) {
		const char *name = json_str(body, "name", "");
		json_put(o, "agent", json_text(name, strlen(name)));
	}
	put_vetted(o, "what", text, strlen(text));
	if (*text)
		put_item(p, o);
	else
		json_decref(o);
	json_decref(body);
}

/* In its place among what was done; the player names all of them at the top. */
static void put_leak(struct page *p, const struct event *ev)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	struct ev_honeytoken_seen seen;
	event_decode(&desc_ev_honeytoken_seen, ev, &mem, &seen);
	json_t *o = export_html_item(p, ev, "leak");
	const char *text = exchange_text(&mem, seen.text, "one was seen (redacted)");
	uint64_t of = ev->action ? ev->action : ev->cause;
	put_vetted(o, "what", text, strlen(text));
	if (of)
		json_put_int(o, "of", (int64_t)of);
	put_item(p, o);
}

/* --- what the report states of the whole session --- */

static json_t *export_html_fact(const char *type, const char *what, size_t len)
{
	json_t *o = json_object();
	json_put_flag(o, "report", true);
	json_put_str(o, "type", type);
	put_vetted(o, "what", what, len);
	return o;
}

static void export_html_put_claim(struct page *p, const json_t *c)
{
	const char *text = json_str(c, "text", ""), *why = json_str(c, "why", ""),
		   *verdict = json_str(c, "verdict", "unknown");
	json_t *o = export_html_fact("claim", text, strlen(text)), *seq;
	size_t i;
	CLEANUP(buf_release) struct buf evidence = BUF_INIT;
	json_array_foreach(json_object_get(c, "evidence"), i, seq)
		buf_printf(&evidence, "%s#%lld", i ? " " : "", (long long)json_integer_value(seq));
	json_put_int(o, "id", json_int(c, "event", 0));
	put_vetted(o, "agent", json_str(c, "agent", ""), strlen(json_str(c, "agent", "")));
	json_put_str(o, "end", verdict);
	json_put_flag(o, "good", !strcmp(verdict, "supported"));
	put_vetted(o, "why", why, strlen(why));
	json_put_str(o, "evidence", buf_cstr(&evidence));
	put_item(p, o);
}

static void export_html_put_verified(struct page *p, const json_t *v)
{
	const char *verdict = json_str(v, "verdict", "unknown"), *why = json_str(v, "why", "");
	json_t *o = export_html_fact("verification", verdict, strlen(verdict)), *check;
	size_t i;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_array_foreach(json_object_get(v, "checks"), i, check)
		buf_printf(&text, "%s: %s: %s\n", json_str(check, "result", ""),
			   json_str(check, "name", ""), json_str(check, "text", ""));
	json_put_flag(o, "good", !strcmp(verdict, "verified"));
	put_vetted(o, "why", why, strlen(why));
	put_vetted(o, "output", buf_cstr(&text), text.len);
	put_item(p, o);
}

static void export_html_put_patch(void *self, const char *title, const char *patch, size_t len,
				  size_t left_out, const char *why)
{
	json_t *o = export_html_fact("diff", title, strlen(title));
	put_vetted(o, "output", patch, len);
	if (why)
		put_vetted(o, "why", why, strlen(why));
	json_put_int(o, "left_out", (int64_t)left_out);
	put_item(self, o);
}

static int export_html_put_facts(struct page *p, struct err *err)
{
	const json_t *e = p->x->evidence;
	json_t *claim;
	size_t i;
	CLEANUP(buf_release) struct buf cost = BUF_INIT;
	if (!e)
		return 0;
	export_cost(e, &cost);
	put_item(p, export_html_fact("cost", buf_cstr(&cost), cost.len));
	export_html_put_verified(p, json_object_get(e, "verification"));
	json_array_foreach(json_object_get(e, "claims"), i, claim) export_html_put_claim(p, claim);
	if (*json_str(e, "claims_why", "")) {
		json_t *o = export_html_fact("claim", "unknown", strlen("unknown"));
		json_put_str(o, "why", json_str(e, "claims_why", ""));
		put_item(p, o);
	}
	return layer_patches(p->x, PATCH_MAX, export_html_put_patch, p, err);
}

static int export_html_on_event(struct page *p, const struct event *ev, struct err *err)
{
	/* kinds are numbers of a file: most are seen in the actions that they belong to */
	switch (ev->kind) {
	case EV_ACTION_REQUESTED:
		return export_html_put_action(p, ev, err);
	case EV_MODEL_REPLY:
		put_words(p, ev, "says", "text");
		break;
	case EV_AGENT_START:
		put_words(p, ev, "task", "task");
		break;
	case EV_AGENT_SAY:
		put_words(p, ev, "person", "text");
		break;
	case EV_AGENT_END:
		put_words(p, ev, "ends", "text");
		break;
	case EV_HONEYTOKEN_SEEN:
		put_leak(p, ev);
		break;
	case EV_NOTE:
		put_words(p, ev, "note", "text");
		break;
	case EV_TOOL_CALL:
	case EV_TOOL_END:
		export_html_put_tool(p, ev);
		break;
	default:
		break;
	}
	return 0;
}

static void export_html_put_head(struct page *p)
{
	FILE *out = p->x->out;
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\""
	      "default-src 'none'; ",
	      out);
	export_html_put_hash(out, "script-src", player_script);
	export_html_put_hash(out, "; style-src", player_style);
	fputs("; base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
	      out);
	export_html_put_escaped(out, session_name(p->x->s));
	fprintf(out, " %s</title>\n<style>%s</style>\n</head>\n<body>\n<header><h1>",
		session_id(p->x->s), player_style);
	export_html_put_escaped(out, session_name(p->x->s));
	fprintf(out,
		" <small>%s</small></h1>\n<div id=\"bar\"></div></header>\n<main id=\"items\"></main>\n"
		"<noscript>This page needs its own script to play the session.</noscript>\n"
		"<script type=\"application/json\" id=\"data\">[",
		session_id(p->x->s));
}

int export_html(struct export *x, struct err *err)
{
	struct page p = { .x = x };
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	uint64_t head = session_head(x->s);
	int rc = session_event(x->s, 1, &ev, &arena, err);
	p.begin_us = rc == 0 ? ev.ts_us : 0;
	export_html_put_head(&p);
	if (rc == 0)
		rc = feed_new(&feed, x->s, FEED_ALL, 0, err);
	while (rc == 0 && (rc = feed_next(feed, &ev, &arena, head, err)) > 0) {
		rc = export_wanted(x, &ev) ? export_html_on_event(&p, &ev, err) : 0;
		arena_reset(&arena);
	}
	if (rc == 0)
		rc = export_html_put_facts(&p, err);
	fprintf(x->out, "\n]</script>\n<script>%s</script>\n</body>\n</html>\n", player_script);
	feed_free(&feed);
	arena_release(&arena);
	agent_names_release(&p.names);
	return rc;
}
