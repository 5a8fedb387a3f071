#include "cli/files_at.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "phrase/describe.h"
#include "exchange/act.h"
#include "exchange/export.h"
#include "record/read/back.h"
#include "sessions/sessions.h"
#include "base/mem.h"

int files_at_open(struct files_at *f, struct cmd_ctx *ctx, const char *ref, struct err *err)
{
	*f = (struct files_at){ 0 };
	if (session_open_ref(ctx, ref, &f->s, &f->seq, err) < 0)
		return -1;
	if (layers_at(&f->layers, f->s, f->seq, cmd_opt(ctx, "box"), err) < 0)
		return -1;
	if (!f->layers.nr)
		return err_set(err, ERR_NOENT, "session %s has no file snapshot%s",
			       session_id(f->s), f->seq ? " up to that event" : "");
	return 0;
}

void files_at_release(struct files_at *f)
{
	layers_at_release(&f->layers);
	session_close(&f->s);
}

bool files_wanted(const struct cmd_ctx *ctx, const char *path)
{
	const char *pattern;
	for (size_t i = 0; (pattern = command_opt_nth(ctx->line, "path", i)); i++) {
		size_t n = strlen(pattern);
		while (n && pattern[n - 1] == '/')
			n--;
		if (fnmatch(pattern, path, 0) == 0 ||
		    (!strncmp(path, pattern, n) && (path[n] == '/' || !path[n])))
			return true;
	}
	return !cmd_has(ctx, "path");
}

/* The path below the layer's repository, or NULL when it is another's. */
static const char *files_at_below(const struct layer_at *l, const char *path)
{
	size_t n = strlen(l->repo);
	if (!n)
		return path;
	return !strncmp(path, l->repo, n) && path[n] == '/' ? path + n + 1 : NULL;
}

static bool same_end(const struct file_versions *a, const struct file_versions *b)
{
	const struct file_version *x = &a->item[a->nr - 1], *y = &b->item[b->nr - 1];
	return x->snapshot == y->snapshot && !memcmp(&x->oid, &y->oid, sizeof(x->oid));
}

int files_at_path(struct files_at *f, const char *path, const struct layer_at **layer_out,
		  struct file_versions *versions, struct err *err)
{
	CLEANUP(buf_release) struct buf boxes = BUF_INIT;
	*layer_out = NULL;
	*versions = (struct file_versions){ 0 };
	bool several = false;
	uint64_t named = 0; /* the box that was named last; it may have several layers */
	for (size_t i = 0; i < f->layers.nr; i++) {
		const struct layer_at *l = &f->layers.item[i];
		struct file_versions v = { 0 };
		const char *p = files_at_below(l, path);
		if (!p)
			continue;
		if (file_versions(&v, f->s, l, p, err) < 0)
			return -1;
		if (!v.nr)
			continue;
		if (l->box != named)
			buf_printf(&boxes, "%s%s", boxes.len ? ", " : "", l->box_name);
		named = l->box;
		if (*layer_out)
			several |= !same_end(versions, &v);
		if (*layer_out)
			file_versions_release(&v);
		else {
			*layer_out = l;
			*versions = v;
		}
	}
	if (several) {
		file_versions_release(versions);
		return err_set(err, ERR_USAGE,
			       "'%s' differs between sandboxes: %s\nName one with --box.", path,
			       buf_cstr(&boxes));
	}
	if (!*layer_out)
		return err_set(
			err, ERR_NOENT,
			"'%s' not found in the snapshots of session %s: unchanged, or missing",
			path, session_id(f->s));
	return 0;
}

void files_who(struct session *s, const struct file_version *v, struct buf *out)
{
	struct act a;
	struct err none = ERR_INIT;
	struct agent_names names = { 0 };
	if (!v->snapshot) {
		buf_puts(out, "base");
	} else if (!v->action || act_load(&a, s, v->action, &none) < 0) {
		CLEANUP(buf_release) struct buf what = BUF_INIT, who = BUF_INIT;
		bool back = session_put_back(s, v->snapshot, &what, &who);
		buf_printf(out, "#%" PRIu64 " %s%s%s", v->snapshot, back ? buf_cstr(&what) : v->why,
			   who.len ? " by " : "", buf_cstr(&who));
	} else {
		const char *agent = agent_name(&names, s, a.agent);
		buf_printf(out, "#%" PRIu64 "%s %s%s%s ", v->action, v->shared ? "~" : "", agent,
			   *agent ? " " : "", act_kind(&a));
		act_what(&a, out);
		act_release(&a);
	}
	agent_names_release(&names);
}

/* The model's text about an action: the one with the action, or its newest answer before it. */
static char *files_at_said_before(struct session *s, const struct act *a)
{
	struct arena arena = ARENA_INIT;
	struct feed *feed = NULL;
	struct event ev;
	struct err none = ERR_INIT;
	char *said = json_str(a->wanted, "said", NULL) ? mem_strdup(json_str(a->wanted, "said", ""))
						       : NULL;
	if (said || !a->agent || feed_new(&feed, s, FEED_AGENT, a->agent, &none) < 0)
		return said;
	feed_seek(feed, a->seq);
	for (int looked = 0; !said && looked < 1000 && feed_prev(feed, &ev, &arena, &none) > 0;
	     looked++) {
		if (ev.kind == EV_MODEL_REPLY && ev.body) {
			json_t *body = json_parse(ev.body, ev.len, "model.reply", &none);
			said = mem_strdup(json_str(body, "text", ""));
			json_decref(body);
		}
		arena_reset(&arena);
	}
	feed_free(&feed);
	arena_release(&arena);
	return said;
}

/* A user's command: his name stands where an action has its decider. */
static void put_back_json(struct session *s, const struct file_version *v, json_t *o)
{
	CLEANUP(buf_release) struct buf what = BUF_INIT, who = BUF_INIT;
	if (!v->snapshot || !session_put_back(s, v->snapshot, &what, &who))
		return;
	json_put_str(o, "kind", "rollback");
	json_put(o, "what", json_text(buf_cstr(&what), what.len));
	if (who.len)
		json_put(o, "by", json_text(buf_cstr(&who), who.len));
}

json_t *files_who_json(struct session *s, const struct file_version *v)
{
	struct act a;
	struct err none = ERR_INIT;
	struct agent_names names = { 0 };
	json_t *o = json_object();
	if (v->snapshot)
		json_put_int(o, "snapshot", (int64_t)v->snapshot);
	else
		json_put_flag(o, "base", true);
	if (!v->action || act_load(&a, s, v->action, &none) < 0) {
		put_back_json(s, v, o);
		return o;
	}
	CLEANUP(buf_release) struct buf what = BUF_INIT, rules = BUF_INIT, proposed = BUF_INIT;
	CLEANUP(free_ptr) char *said = files_at_said_before(s, &a);
	const char *agent = agent_name(&names, s, a.agent);
	act_what(&a, &what);
	act_rules(&a, &rules);
	json_put_int(o, "action", (int64_t)v->action);
	json_put_flag(o, "shared", v->shared);
	json_put(o, "agent", json_text(agent, strlen(agent)));
	json_put_str(o, "kind", act_kind(&a));
	json_put(o, "what", json_text(buf_cstr(&what), what.len));
	if (act_proposed(&a, &proposed))
		json_put(o, "proposed", json_text(buf_cstr(&proposed), proposed.len));
	json_put(o, "time", json_time(a.ts_us));
	json_put_str(o, "verdict", act_text(&a, a.judged.verdict, "unknown"));
	if (rules.len)
		json_put(o, "rules", json_text(buf_cstr(&rules), rules.len));
	if (a.has_decided) {
		json_put_str(o, "decision", act_text(&a, a.decided.decision, "unknown"));
		json_put_str(o, "by", act_decider(&a, "unknown"));
		const char *message =
			act_text(&a, a.decided.message, act_text(&a, a.decided.note, ""));
		if (*message)
			json_put_str(o, "message", message);
	}
	if (said && *said)
		json_put(o, "said", json_text(said, strlen(said)));
	act_release(&a);
	agent_names_release(&names);
	return o;
}
