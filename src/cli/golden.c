#include "cli/golden.h"

#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd.h"
#include "phrase/describe.h"
#include "base/json.h"
#include "base/mem.h"

enum { TEXT_MAX = 160 };

struct line {
	uint64_t of; /* seq of the action, question or tool call that it tells of */
	struct buf text;
};

/* The actions of one agent, or of one task of the script. */
struct group {
	uint64_t agent;
	int64_t task; /* of the script; 0 of an agent */
	char *head;
	struct line *line;
	size_t nr, cap;
	struct buf text; /* all of it, once it is complete */
};

struct golden {
	struct group *group;
	size_t nr, cap;
	json_t *task_of; /* call -> task */
	json_t *box;	 /* seq of box.open -> {"name", "files":{path:{"op","oid"}}} */
	int64_t status;
};

static struct group *golden_group_of(struct golden *g, uint64_t agent, int64_t task)
{
	if (!agent && task <= 0)
		task = 1; /* the script itself */
	for (size_t i = 0; i < g->nr; i++)
		if (g->group[i].agent == agent && (agent || g->group[i].task == task))
			return &g->group[i];
	GROW(g->group, g->nr, g->cap);
	struct group *new = &g->group[g->nr++];
	*new = (struct group){ .agent = agent, .task = agent ? 0 : task, .text = BUF_INIT };
	new->head = mem_strdup(agent ? "agent" : task == 1 ? "script" : "task");
	return new;
}

static int64_t task_of(const struct golden *g, int64_t call)
{
	char key[24];
	snprintf(key, sizeof(key), "%lld", (long long)call);
	return json_int(g->task_of, key, 0);
}

static struct buf *golden_add(struct group *to, uint64_t of)
{
	GROW(to->line, to->nr, to->cap);
	to->line[to->nr] = (struct line){ .of = of, .text = BUF_INIT };
	return &to->line[to->nr++].text;
}

static struct buf *golden_line_of(struct golden *g, uint64_t of)
{
	for (size_t i = 0; of && i < g->nr; i++)
		for (size_t k = g->group[i].nr; k-- > 0;)
			if (g->group[i].line[k].of == of)
				return &g->group[i].line[k].text;
	return NULL;
}

/* The first line of a text, not too long, with nothing in it that a terminal would take for a
 * command. */
static void golden_put(struct buf *to, const char *text)
{
	size_t len = strcspn(text, "\n"), cut = len > TEXT_MAX ? TEXT_MAX : len;
	while (cut < len && cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	cmd_safe(to, text, cut, false);
	if (text[cut] && text[cut + strspn(text + cut, "\n")])
		buf_puts(to, " ...");
}

static void golden_put_json(struct buf *to, const json_t *v)
{
	CLEANUP(free_ptr) char *text = v ? json_dump_str(v) : mem_strdup("null");
	golden_put(to, text);
}

/* --- events ----------------------------------------------------------------------------------- */

static void golden_see_requested(struct golden *g, const struct event *ev, const json_t *b)
{
	int64_t call = json_int(b, "call", 0);
	if (!call)
		return; /* not asked by the script: a user's, or our own */
	CLEANUP(buf_release) struct buf what = BUF_INIT;
	const char *kind = json_str(b, "kind", ""), *tool = json_str(b, "tool", "");
	struct buf *to = golden_add(golden_group_of(g, ev->agent, task_of(g, call)), ev->seq);
	describe_action(b, &what);
	buf_puts(to, kind);
	if (strcmp(tool, kind) != 0 && strcmp(kind, "model") != 0 && *tool)
		buf_printf(to, " %s", tool);
	if (strcmp(kind, "model") != 0 && what.len && strcmp(buf_cstr(&what), tool) != 0) {
		buf_putc(to, ' ');
		golden_put(to, buf_cstr(&what));
	}
}

static void see_ended(struct golden *g, const struct event *ev, const json_t *b)
{
	struct buf *to = golden_line_of(g, ev->action);
	const char *end = json_str(b, "end", ""), *rule = json_str(b, "rule", NULL);
	if (!to || strstr(buf_cstr(to), " -> "))
		return; /* a model's answer says it already */
	if (json_is_integer(json_object_get(b, "signal")))
		buf_printf(to, " -> signal %lld", (long long)json_int(b, "signal", 0));
	else if (!strcmp(end, "ok") && json_is_integer(json_object_get(b, "code")))
		buf_printf(to, " -> exit %lld", (long long)json_int(b, "code", 0));
	else
		buf_printf(to, " -> %s", end);
	if (rule)
		buf_printf(to, " by rule %s", rule);
}

static void see_reply(struct golden *g, const struct event *ev, const json_t *b)
{
	struct buf *to = golden_line_of(g, ev->action);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const json_t *calls = json_object_get(b, "calls");
	size_t i;
	json_t *c;
	if (!to)
		return;
	json_get_bytes(json_object_get(b, "text"), &text);
	buf_puts(to, " -> ");
	golden_put(to, buf_cstr(&text));
	json_array_foreach((json_t *)(uintptr_t)calls, i, c)
	{
		buf_puts(to, i ? ", " : text.len ? "; calls " : "calls ");
		golden_put(to, json_str(c, "name", "?"));
		buf_putc(to, ' ');
		golden_put_json(to, json_object_get(c, "args"));
	}
}

static void golden_see_agent(struct golden *g, const struct event *ev, const json_t *b)
{
	struct group *own = golden_group_of(g, ev->seq, 0);
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	buf_puts(&head, "agent ");
	golden_put(&head, json_str(b, "name", ""));
	buf_puts(&head, ": ");
	golden_put(&head, json_str(b, "task", ""));
	free(own->head);
	own->head = mem_strdup(buf_cstr(&head));
	struct buf *to = golden_add(golden_group_of(g, (uint64_t)json_int(b, "parent", 0),
						    task_of(g, json_int(b, "call", 0))),
				    ev->seq);
	buf_puts(to, "starts agent ");
	golden_put(to, json_str(b, "name", ""));
}

static void see_agent_end(struct golden *g, const struct event *ev, const json_t *b)
{
	struct buf *to = golden_add(golden_group_of(g, ev->agent, 0), ev->seq);
	buf_printf(to, "ends (%s) after %lld steps: ", json_str(b, "stop", ""),
		   (long long)json_int(b, "steps", 0));
	golden_put(to, json_str(b, "text", ""));
}

static void see_said(struct golden *g, const struct event *ev, const json_t *b)
{
	const char *level = json_str(b, "level", "note");
	if (!strcmp(level, "progress"))
		return;
	struct buf *to = golden_add(golden_group_of(g, ev->agent, json_int(b, "task", 0)), ev->seq);
	buf_printf(to, "%s: ", level);
	golden_put(to, json_str(b, "text", ""));
}

static void see_answered(struct golden *g, const struct event *ev, const json_t *b)
{
	struct buf *to = golden_line_of(g, ev->cause);
	const json_t *form = json_object_get(b, "form");
	if (!to)
		return;
	buf_puts(to, " -> ");
	if (form)
		golden_put_json(to, form);
	else
		golden_put(to, json_str(b, "choice",
					json_flag(b, "timeout", false) ? "nobody"
								       : json_str(b, "text", "")));
}

static void see_files(struct golden *g, const struct event *ev, const json_t *b)
{
	char key[24];
	snprintf(key, sizeof(key), "%llu", (unsigned long long)ev->box);
	json_t *files = json_object_get(json_object_get(g->box, key), "files"), *c;
	size_t i;
	json_array_foreach(json_object_get(b, "changes"), i, c)
	{
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		const char *repo = json_str(b, "repo", ""), *op = json_str(c, "op", "M");
		buf_puts(&path, repo);
		if (*repo)
			buf_putc(&path, '/');
		CLEANUP(buf_release) struct buf bytes = BUF_INIT;
		json_get_bytes(json_object_get(c, "path"), &bytes);
		cmd_safe(&path, bytes.data, bytes.len, false);
		const char *before = json_str(json_object_get(files, buf_cstr(&path)), "op", "");
		if (*before == 'A' && *op == 'D') {
			json_object_del(files, buf_cstr(&path));
			continue;
		}
		json_t *now = json_object();
		json_put_str(now, "op",
			     *before == 'A'		    ? "A"
			     : *before == 'D' && *op == 'A' ? "M"
							    : op);
		json_put_str(now, "oid", json_str(c, "oid", ""));
		json_put(files, buf_cstr(&path), now);
	}
}

static void see_box(struct golden *g, const struct event *ev, const json_t *b)
{
	char key[24];
	json_t *box = json_object();
	if (!json_int(b, "call", 0))
		return;
	snprintf(key, sizeof(key), "%llu", (unsigned long long)ev->seq);
	json_put_str(box, "name", json_str(b, "name", ""));
	json_put(box, "files", json_object());
	json_put(g->box, key, box);
	struct buf *to = golden_add(
		golden_group_of(g, ev->agent, task_of(g, json_int(b, "call", 0))), ev->seq);
	buf_printf(to, "box %s", json_str(b, "name", ""));
}

static void see_store(struct golden *g, const struct event *ev, const json_t *b)
{
	struct buf *to = golden_add(
		golden_group_of(g, ev->agent, task_of(g, json_int(b, "call", 0))), ev->seq);
	buf_puts(to, "store ");
	golden_put(to, json_str(b, "store", ""));
	buf_puts(to, ": ");
	golden_put(to, json_str(b, "key", ""));
	buf_puts(to, " = ");
	golden_put_json(to, json_object_get(b, "value"));
}

static void golden_see_call(struct golden *g, const json_t *b)
{
	char key[24];
	snprintf(key, sizeof(key), "%lld", (long long)json_int(b, "id", 0));
	json_put_int(g->task_of, key, json_int(b, "task", 0));
}

static void golden_see(struct golden *g, const struct event *ev)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *b = ev->body ? json_parse(ev->body, ev->len, "event", &none) : json_object();
	struct buf *to;
	switch (ev->kind) {
	case EV_HOST_CALL:
		golden_see_call(g, b);
		break;
	case EV_ACTION_REQUESTED:
		golden_see_requested(g, ev, b);
		break;
	case EV_ACTION_ENDED:
		see_ended(g, ev, b);
		break;
	case EV_MODEL_REPLY:
		see_reply(g, ev, b);
		break;
	case EV_AGENT_START:
		golden_see_agent(g, ev, b);
		break;
	case EV_AGENT_END:
		see_agent_end(g, ev, b);
		break;
	case EV_NOTE:
		see_said(g, ev, b);
		break;
	case EV_TOOL_CALL:
		to = golden_add(golden_group_of(g, ev->agent, task_of(g, json_int(b, "call", 0))),
				ev->seq);
		buf_printf(to, "tool %s ", json_str(b, "name", ""));
		golden_put_json(to, json_object_get(b, "args"));
		break;
	case EV_TOOL_END:
		if ((to = golden_line_of(g, ev->cause)))
			buf_puts(to, json_flag(b, "ok", false) ? " -> ok" : " -> failed");
		break;
	case EV_ASK:
		to = golden_add(golden_group_of(g, ev->agent, task_of(g, json_int(b, "call", 0))),
				ev->seq);
		buf_puts(to, "asks ");
		golden_put(to, json_str(b, "text", ""));
		break;
	case EV_ASK_ANSWERED:
		see_answered(g, ev, b);
		break;
	case EV_BUDGET_EMPTY:
		to = golden_add(golden_group_of(g, ev->agent, 0), ev->seq);
		buf_printf(to, "budget: %s used up", json_str(b, "what", ""));
		break;
	case EV_STORE_SET:
		see_store(g, ev, b);
		break;
	case EV_BOX_OPEN:
		see_box(g, ev, b);
		break;
	case EV_SNAPSHOT_TAKEN:
		see_files(g, ev, b);
		break;
	case EV_SESSION_END:
		g->status = json_int(b, "status", 0);
		break;
	default:
		break; /* does not describe an action */
	}
}

/* --- the list --------------------------------------------------------------------------------- */

static int golden_by_name(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	bool script[2] = { !x->agent && x->task == 1, !y->agent && y->task == 1 };
	if (script[0] != script[1])
		return script[0] ? -1 : 1;
	if (!x->agent != !y->agent)
		return x->agent ? 1 : -1;
	int by = strcmp(x->head, y->head);
	return by ? by : strcmp(buf_cstr(&x->text), buf_cstr(&y->text));
}

static int golden_by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void golden_put_files(const struct golden *g, struct buf *out)
{
	const char *key, *path;
	json_t *box, *f;
	json_object_foreach(g->box, key, box)
	{
		json_t *files = json_object_get(box, "files");
		if (!json_object_size(files))
			continue;
		buf_printf(out, "files of %s\n", json_str(box, "name", ""));
		size_t nr = 0;
		struct strv names = STRV_INIT;
		json_object_foreach(files, path, f) strv_push(&names, path);
		qsort(names.item, names.nr, sizeof(*names.item), golden_by_text);
		for (; nr < names.nr; nr++) {
			f = json_object_get(files, names.item[nr]);
			buf_printf(out, "  %s %s %.8s\n", json_str(f, "op", ""), names.item[nr],
				   json_str(f, "oid", ""));
		}
		strv_release(&names);
	}
}

static void golden_put_all(struct golden *g, struct buf *out)
{
	for (size_t i = 0; i < g->nr; i++)
		for (size_t k = 0; k < g->group[i].nr; k++)
			buf_printf(&g->group[i].text, "  %s\n",
				   buf_cstr(&g->group[i].line[k].text));
	if (g->nr)
		qsort(g->group, g->nr, sizeof(*g->group), golden_by_name);
	for (size_t i = 0; i < g->nr; i++)
		if (g->group[i].text.len)
			buf_printf(out, "%s\n%s", g->group[i].head, buf_cstr(&g->group[i].text));
	golden_put_files(g, out);
	buf_printf(out, "exit %lld\n", (long long)g->status);
}

static void golden_release(struct golden *g)
{
	for (size_t i = 0; i < g->nr; i++) {
		for (size_t k = 0; k < g->group[i].nr; k++)
			buf_release(&g->group[i].line[k].text);
		free(g->group[i].line);
		free(g->group[i].head);
		buf_release(&g->group[i].text);
	}
	free(g->group);
	json_decref(g->task_of);
	json_decref(g->box);
}

int golden_list(struct session *s, struct buf *out, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct golden g = { .task_of = json_object(), .box = json_object() };
	struct feed *f;
	struct event ev;
	int rc = feed_new(&f, s, FEED_ALL, 0, err);
	if (rc == 0) {
		while ((rc = feed_next(f, &ev, &a, 0, err)) == 1) {
			golden_see(&g, &ev);
			arena_reset(&a);
		}
		feed_free(&f);
	}
	if (rc == 0)
		golden_put_all(&g, out);
	golden_release(&g);
	return rc;
}

char *golden_line(const char *text, size_t nr)
{
	for (size_t i = 1; i < nr && text; i++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text && *text ? mem_strndup(text, strcspn(text, "\n")) : NULL;
}

size_t golden_differ(const char *a, const char *b)
{
	size_t nr = 1;
	if (!strcmp(a, b))
		return 0;
	for (; *a && *a == *b; a++, b++)
		nr += *a == '\n';
	return nr;
}
