#include "exchange/import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exchange/export.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "record/record.h"

static const struct importer import_table[] = {
#define IMPORTER(fn, name, about) { name, about, sniff_##fn, import_##fn },
#include "exchange/importers.def"
#undef IMPORTER
};

enum { KEEP_MAX = 64 << 10, DRAIN_EVERY = 256 };

struct import {
	struct record *r; /* NULL: dry */
	struct loop *l;
	uint64_t agent;
	char *model;	/* of the agent */
	json_t *agents; /* name -> seq */
	json_t *said;	/* name -> what it said last: at the end it is what the agent claims */
	json_t *stop;	/* name -> how it ended, where it was not by itself */
	json_t *open;	/* id of a call -> seq of its action */
	bool failed;	/* an agent did not end by itself */
	/* agent -> names of the messages that no model.call of it has named yet */
	json_t *news;
	json_t *named; /* agent -> how many are */
	uint64_t dry_seq;
	size_t since_drain;
	struct import_sums *sums;
	const char *path;
	char *origin;
	struct strv also;
};

const struct importer *importer_at(size_t i)
{
	return i < ARRAY_LEN(import_table) ? &import_table[i] : NULL;
}

const struct importer *importer_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(import_table); i++)
		if (!strcmp(import_table[i].name, name))
			return &import_table[i];
	return NULL;
}

static const char UTF8_MARK[] = "\357\273\277"; /* some editors put it in front */

const struct importer *importer_sniff(const char *head, size_t len)
{
	const struct importer *best = NULL;
	int most = 0;
	if (len >= sizeof(UTF8_MARK) - 1 && !memcmp(head, UTF8_MARK, sizeof(UTF8_MARK) - 1)) {
		head += sizeof(UTF8_MARK) - 1;
		len -= sizeof(UTF8_MARK) - 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(import_table); i++) {
		int sure = import_table[i].sniff(head, len);
		if (sure > most) {
			most = sure;
			best = &import_table[i];
		}
	}
	return best;
}

/* --- time: the recorder asks for it --- */

static int64_t import_now_us, first_us;

static int64_t import_wall(void)
{
	return import_now_us;
}

void import_time_us(struct import *im, int64_t wall_us)
{
	(void)im;
	if (wall_us <= import_now_us || wall_us >= INT64_C(8000000000000000))
		return;
	import_now_us = wall_us;
	if (!first_us)
		first_us = wall_us;
}

void import_time(struct import *im, const char *s)
{
	struct tm tm = { 0 };
	int n = 0, sign = 1, h = 0, m = 0;
	double frac = 0;
	if (!s || sscanf(s, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			 &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) < 6)
		return;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	s += n;
	if (*s == '.') {
		double unit = 0.1;
		for (s++; *s >= '0' && *s <= '9'; s++, unit /= 10)
			frac += (*s - '0') * unit;
	}
	if (*s == '+' || *s == '-') {
		sign = *s == '-' ? -1 : 1;
		if (sscanf(s + 1, "%2d:%2d", &h, &m) < 1)
			h = m = 0;
	}
	import_time_us(im, ((int64_t)timegm(&tm) - sign * (h * 3600 + m * 60)) * 1000000 +
				   (int64_t)(frac * 1e6));
}

/* --- numbers --- */

int64_t import_tokens(const json_t *usage, const char *key)
{
	int64_t n = json_int(usage, key, 0);
	return n < 0 || n > INT64_C(1000000000000) ? 0 : n;
}

/* --- events --- */

static uint64_t import_put(struct import *im, uint16_t kind, uint64_t cause, uint64_t action,
			   json_t *body)
{
	if (!im->r) {
		json_decref(body);
		return ++im->dry_seq;
	}
	uint64_t seq = record_append_json(im->r, kind, cause,
					  kind == EV_AGENT_START ? 0 : im->agent, 0, action, body);
	if (++im->since_drain >= DRAIN_EVERY) {
		im->since_drain = 0;
		do
			loop_turn(im->l, 0);
		while (record_backlog(im->r) > RECORD_FLOOD / 2 && (usleep(1000), true));
	}
	return seq;
}

static void put_any(json_t *o, const char *key, const char *text)
{
	if (text)
		json_put(o, key, json_text(text, strlen(text)));
}

const char *import_path(const struct import *im)
{
	return im->path;
}

void import_also(struct import *im, const char *path)
{
	im->sums->files++;
	strv_push(&im->also, path);
}

void import_origin(struct import *im, const char *id)
{
	if (!im->origin && id && *id)
		im->origin = mem_strdup(id);
}

void import_agent(struct import *im, const char *name, const char *model)
{
	import_subagent(im, name, model, NULL);
}

void import_subagent(struct import *im, const char *name, const char *model, const char *parent)
{
	if (parent && !json_object_get(im->agents, name))
		import_agent(im, parent, NULL);
	json_t *had = json_object_get(im->agents, name);
	if (model && *model) {
		free(im->model);
		im->model = mem_strdup(model);
	}
	if (had) {
		im->agent = (uint64_t)json_integer_value(had);
		return;
	}
	json_t *b = json_object();
	put_any(b, "name", name);
	put_any(b, "model", model ? model : "unknown");
	if (parent)
		json_put_int(b, "parent", json_integer_value(json_object_get(im->agents, parent)));
	json_put_flag(b, "imported", true);
	im->agent = import_put(im, EV_AGENT_START, 1, 0, b);
	json_put_int(im->agents, name, (int64_t)im->agent);
}

/* Of the agent that speaks. */
static json_t *news_of(struct import *im)
{
	char key[24];
	snprintf(key, sizeof(key), "%llu", (unsigned long long)im->agent);
	json_t *list = json_object_get(im->news, key);
	if (!list) {
		list = json_array();
		json_put(im->news, key, list);
	}
	return list;
}

/* Its new messages go into @call. */
static void import_take_news(struct import *im, json_t *call)
{
	char key[24];
	snprintf(key, sizeof(key), "%llu", (unsigned long long)im->agent);
	json_t *list = json_incref(news_of(im));
	int64_t before = json_int(im->named, key, 0);
	json_put_int(call, "before", before);
	json_put_int(im->named, key, before + (int64_t)json_array_size(list));
	json_put(call, "messages", list);
	json_object_del(im->news, key);
}

/* A message that the next request will name. */
static void import_message(struct import *im, const char *role, const char *text, const char *call,
			   const char *name)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT, hex = BUF_INIT;
	struct hash id;
	json_t *m = json_object();
	json_put_str(m, "role", role);
	put_any(m, "call", call);
	put_any(m, "name", name);
	put_any(m, "text", text);
	json_dump_buf(m, &bytes);
	json_decref(m);
	if (im->r)
		record_message(im->r, bytes.data, bytes.len, &id);
	else
		hash_of(bytes.data, bytes.len, &id);
	hex_append(&hex, id.b, HASH_LEN);
	json_array_append_new(news_of(im), json_string(buf_cstr(&hex)));
}

void import_say(struct import *im, const char *role, const char *text, bool people)
{
	if (!im->agent)
		import_agent(im, "agent", NULL);
	import_message(im, role, text, NULL, NULL);
	if (!people)
		return;
	json_t *b = json_object(), *who = json_object();
	im->sums->people++;
	json_put_str(who, "name", "imported");
	put_any(b, "text", text);
	json_put(b, "who", who);
	json_put_flag(b, "imported", true);
	import_put(im, EV_AGENT_SAY, im->agent, 0, b);
}

/* The name of the agent that speaks. */
static const char *import_speaker(struct import *im)
{
	const char *name;
	json_t *seq;
	json_object_foreach(im->agents, name,
			    seq) if ((uint64_t)json_integer_value(seq) == im->agent) return name;
	return NULL;
}

void import_stop(struct import *im, const char *stop, const char *why)
{
	const char *name = import_speaker(im);
	json_t *b = json_object();
	json_put_str(b, "stop", stop);
	put_any(b, "why", why);
	if (name)
		json_put(im->stop, name, b);
	else
		json_decref(b);
}

static json_t *import_usage_json(const struct usage *u)
{
	json_t *o = json_object();
	json_put_int(o, "in", u->in);
	json_put_int(o, "out", u->out);
	json_put_int(o, "cached", u->cached);
	json_put_int(o, "written", u->written);
	if (u->written_1h)
		json_put_int(o, "written_1h", u->written_1h);
	return o;
}

static void import_count(struct import *im, const struct usage *u)
{
	im->sums->tokens_in += u->in;
	im->sums->tokens_out += u->out;
}

static void import_put_ended(struct import *im, uint64_t action, const char *end, const char *why,
			     int code)
{
	json_t *b = json_object();
	json_put_str(b, "end", end);
	put_any(b, "why", why);
	if (code >= 0)
		json_put_int(b, "code", code);
	json_put_flag(b, "imported", true);
	import_put(im, EV_ACTION_ENDED, action, action, b);
}

static void put_cost(json_t *o, int64_t uusd)
{
	if (uusd < 0)
		json_put_flag(o, "cost_unknown", true);
	else
		json_put_int(o, "cost_uusd", uusd);
}

void import_reply(struct import *im, const char *model, const char *text, const json_t *calls,
		  const struct usage *u, const char *stop)
{
	if (!im->agent)
		import_agent(im, "agent", model);
	if (!model || !*model)
		model = im->model ? im->model : "unknown";
	json_t *turn = json_object(), *want = json_object(), *call = json_object(),
	       *reply = json_object();
	im->sums->turns++;
	import_count(im, u);
	json_put_int(turn, "n", (int64_t)im->sums->turns);
	uint64_t cause = import_put(im, EV_AGENT_TURN, im->agent, 0, turn);
	json_put_str(want, "kind", "model");
	put_any(want, "tool", model);
	json_put_flag(want, "imported", true);
	uint64_t action = import_put(im, EV_ACTION_REQUESTED, cause, 0, want);
	put_any(call, "model", model);
	import_take_news(im, call);
	import_put(im, EV_MODEL_CALL, action, action, call);
	put_any(reply, "model", model);
	put_any(reply, "text", text);
	json_put(reply, "calls", calls ? json_deep_copy(calls) : json_array());
	put_any(reply, "stop", stop && *stop ? stop : "end");
	json_put(reply, "usage", import_usage_json(u));
	put_cost(reply, u->cost_uusd);
	json_put_flag(reply, "cost_unknown", u->cost_uusd < 0);
	json_put_flag(reply, "imported", true);
	import_put(im, EV_MODEL_REPLY, action, action, reply);
	import_message(im, "assistant", text, NULL, NULL);
	json_t *over = json_object();
	json_put_str(over, "end", "ok");
	json_put_int(over, "tokens", u->in + u->out);
	put_cost(over, u->cost_uusd);
	json_put_flag(over, "imported", true);
	import_put(im, EV_ACTION_ENDED, action, action, over);
	const char *name = import_speaker(im);
	if (name && text && *text)
		put_any(im->said, name, text);
}

void import_spent(struct import *im, const struct usage *u)
{
	json_t *b = json_object(), *used = json_object();
	import_count(im, u);
	json_put_int(used, "tokens", u->in + u->out);
	if (u->cost_uusd >= 0)
		json_put_int(used, "uusd", u->cost_uusd);
	json_put(b, "used", used);
	json_put(b, "usage", import_usage_json(u));
	json_put_flag(b, "imported", true);
	import_put(im, EV_BUDGET_SPENT, im->agent, 0, b);
}

/* --- calls --- */

static bool import_is_one_of(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcasecmp(name, *list))
			return true;
	return false;
}

/* What kind of action a tool's name stands for in the agents that we know. */
static const char *import_kind_of(const char *name)
{
	static const char *const exec[] = { "bash",
					    "shell",
					    "exec_command",
					    "local_shell",
					    "execute_bash",
					    "container.exec",
					    "exec",
					    "terminal",
					    "shell_command",
					    "unified_exec",
					    NULL };
	static const char *const read[] = {
		"read", "read_file", "view", "cat", "notebookread", NULL
	};
	static const char *const write[] = { "write", "write_file", "create_file", "create", NULL };
	static const char *const edit[] = { "edit",
					    "multiedit",
					    "apply_patch",
					    "str_replace_editor",
					    "str_replace_based_edit_tool",
					    "notebookedit",
					    "edit_file",
					    "file_change",
					    NULL };
	if (!strncmp(name, "mcp__", 5) || !strncmp(name, "mcp:", 4))
		return "mcp";
	return import_is_one_of(name, exec)    ? "exec"
	       : import_is_one_of(name, read)  ? "read"
	       : import_is_one_of(name, write) ? "write"
	       : import_is_one_of(name, edit)  ? "edit"
					       : "host";
}

/* What people look for: the command line and the path, whatever the tool calls them. */
static void import_put_what(json_t *b, const json_t *args)
{
	static const char *const cmd[] = { "command", "cmd", "script", NULL }, *const path[] = {
		"file_path", "path", "notebook_path", "filename", NULL
	};
	for (size_t i = 0; cmd[i]; i++) {
		json_t *v = json_object_get(args, cmd[i]);
		if (json_is_string(v) && !json_object_get(b, "cmd"))
			json_put(b, "cmd", json_incref(v));
		else if (json_is_array(v) && json_array_size(v) && !json_object_get(b, "argv"))
			json_put(b, "argv", json_deep_copy(v));
	}
	for (size_t i = 0; path[i]; i++)
		if (json_is_string(json_object_get(args, path[i])) && !json_object_get(b, "path"))
			json_put(b, "path", json_incref(json_object_get(args, path[i])));
}

void import_call(struct import *im, const char *id, const char *name, const json_t *args)
{
	json_t *b = json_object();
	if (!im->agent)
		import_agent(im, "agent", NULL);
	im->sums->calls++;
	json_put_str(b, "kind", import_kind_of(name));
	put_any(b, "tool", name);
	import_put_what(b, args);
	json_put(b, "args", json_is_object(args) ? json_deep_copy(args) : json_object());
	if (args && !json_is_object(args))
		json_put(json_object_get(b, "args"), "value", json_deep_copy(args));
	put_any(b, "call_id", id);
	json_put_flag(b, "imported", true);
	/* the same id twice: the first one never got an answer */
	if (json_object_get(im->open, id))
		import_result(im, id, "", 0, true, -1);
	uint64_t action = import_put(im, EV_ACTION_REQUESTED, im->agent, 0, b);
	json_put_int(im->open, id, (int64_t)action);
}

json_t *import_call_of(const char *id, const char *name, const json_t *args)
{
	json_t *call = json_object();
	json_put(call, "id", json_string(id));
	json_put(call, "name", json_string(name));
	json_put(call, "args", json_is_object(args) ? json_deep_copy(args) : json_object());
	return call;
}

void import_calls(struct import *im, const json_t *calls)
{
	size_t i;
	json_t *call;
	json_array_foreach(calls, i, call)
		import_call(im, json_str(call, "id", ""), json_str(call, "name", "?"),
			    json_object_get(call, "args"));
}

int64_t import_uusd(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double usd = json_is_number(v) ? json_number_value(v) : -1;
	return usd >= 0 && usd < 1e9 ? (int64_t)(usd * 1e6 + 0.5) : -1;
}

void import_output(struct import *im, const char *id, int stream, const char *bytes, size_t len)
{
	uint64_t action = (uint64_t)json_integer_value(json_object_get(im->open, id));
	if (im->r && action && len)
		record_output(im->r, action, (enum record_stream)stream, bytes, len);
	if (im->r && ++im->since_drain >= DRAIN_EVERY) {
		im->since_drain = 0;
		do
			loop_turn(im->l, 0);
		while (record_backlog(im->r) > RECORD_FLOOD / 2 && (usleep(1000), true));
	}
}

void import_resize(struct import *im, const char *id, int cols, int rows)
{
	uint64_t action = (uint64_t)json_integer_value(json_object_get(im->open, id));
	json_t *b = json_object();
	json_put_int(b, "cols", cols);
	json_put_int(b, "rows", rows);
	import_put(im, EV_PROC_RESIZE, action, action, b);
}

void import_mark(struct import *im, const char *text)
{
	json_t *b = json_object();
	json_put_str(b, "level", "mark");
	put_any(b, "text", text);
	import_put(im, EV_NOTE, im->agent, 0, b);
}

void import_result(struct import *im, const char *id, const char *text, size_t len, bool failed,
		   int code)
{
	uint64_t action = (uint64_t)json_integer_value(json_object_get(im->open, id));
	if (!action) {
		import_gap(im, 0, len, "the result of a call that is not in the file");
		return;
	}
	import_output(im, id, STREAM_OUT, text, len);
	if (im->r)
		record_output_end(im->r, action);
	import_put_ended(im, action, failed && code < 0 ? "failed" : "ok",
			 failed && code < 0 ? "the tool said that it failed" : NULL, code);
	import_message(im, "tool", text, id, NULL);
	json_object_del(im->open, id);
}

/* --- what cannot be said otherwise --- */

void import_gap(struct import *im, size_t line, size_t bytes, const char *why)
{
	json_t *b = json_object();
	if (!im->sums->gaps++)
		im->sums->first_gap = line;
	json_put_int(b, "line", (int64_t)line);
	json_put_int(b, "bytes", (int64_t)bytes);
	put_any(b, "why", why);
	import_put(im, EV_IMPORT_GAP, 1, 0, b);
}

void import_keep(struct import *im, size_t line, const char *type, const char *data, size_t len)
{
	json_t *b = json_object();
	im->sums->kept++;
	json_put_int(b, "line", (int64_t)line);
	put_any(b, "type", type);
	json_put(b, "data", json_text(data, len > KEEP_MAX ? KEEP_MAX : len));
	json_put_int(b, "bytes", (int64_t)len);
	import_put(im, EV_IMPORT_LINE, 1, 0, b);
}

/* --- reading --- */

/* The next line of a source, read ahead. */
struct pending {
	char *line;
	size_t cap, len, nr;
	json_t *value; /* NULL: the source has ended */
};

static void read_ahead(struct import *im, struct pending *p, FILE *in)
{
	ssize_t n;
	json_decref(p->value);
	p->value = NULL;
	while (!p->value && (n = getline(&p->line, &p->cap, in)) >= 0) {
		struct err why = ERR_INIT;
		p->len = (size_t)n;
		p->nr++;
		while (p->len && (p->line[p->len - 1] == '\n' || p->line[p->len - 1] == '\r'))
			p->len--;
		if (!p->len)
			continue;
		im->sums->lines++;
		p->value =
			p->len > IMPORT_LINE_MAX ? NULL : json_parse(p->line, p->len, "line", &why);
		if (!p->value)
			import_gap(im, p->nr, p->len,
				   p->len > IMPORT_LINE_MAX ? "the line is too long" : why.text);
	}
}

/* What has no time belongs where it stands. */
static size_t import_earliest(const struct pending *p, size_t nr)
{
	size_t best = nr;
	const char *first = NULL;
	for (size_t i = 0; i < nr; i++) {
		const char *ts = json_str(p[i].value, "timestamp", "");
		if (p[i].value && (!first || strcmp(ts, first) < 0)) {
			first = ts;
			best = i;
		}
	}
	return best;
}

int import_sources(struct import *im, const struct import_source *source, size_t nr,
		   import_line_fn *fn, struct err *err)
{
	struct pending *p = mem_calloc(nr, sizeof(*p));
	size_t i;
	int rc = 0;
	for (i = 0; i < nr; i++)
		read_ahead(im, &p[i], source[i].in);
	while ((i = import_earliest(p, nr)) < nr) {
		fn(source[i].self, im, p[i].nr, p[i].value, p[i].line, p[i].len);
		read_ahead(im, &p[i], source[i].in);
	}
	for (i = 0; i < nr; i++) {
		free(p[i].line);
		if (rc == 0 && ferror(source[i].in))
			rc = err_sys(err, "cannot read the file");
	}
	free(p);
	return rc;
}

int import_lines(struct import *im, FILE *in, import_line_fn *fn, void *self, struct err *err)
{
	const struct import_source one = { in, self };
	return import_sources(im, &one, 1, fn, err);
}

/* The length of a number that JSON has not, at @s; 0 = there is none. */
static size_t no_number(const char *s, size_t left)
{
	static const char *const word[] = { "NaN", "Infinity", "-Infinity" };
	for (size_t i = 0; i < ARRAY_LEN(word); i++) {
		size_t n = strlen(word[i]);
		if (n <= left && !memcmp(s, word[i], n))
			return n;
	}
	return 0;
}

json_t *import_json(const char *text, size_t len, const char *what, struct err *err)
{
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	bool quoted = false, found = false;
	json_t *j = json_parse(text, len, what, err);
	if (j || (!memmem(text, len, "NaN", 3) && !memmem(text, len, "Infinity", 8)))
		return j;
	for (size_t i = 0; i < len; i++) {
		size_t n = quoted ? 0 : no_number(text + i, len - i);
		if (n) {
			buf_puts(&plain, "null");
			i += n - 1;
			found = true;
			continue;
		}
		buf_putc(&plain, text[i]);
		if (text[i] == '"')
			quoted = !quoted;
		else if (quoted && text[i] == '\\' && i + 1 < len)
			buf_putc(&plain, text[++i]);
	}
	if (!found)
		return NULL;
	*err = ERR_INIT;
	return json_parse(buf_cstr(&plain), plain.len, what, err);
}

json_t *import_document(FILE *in, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	char bytes[65536];
	size_t n;
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0 && text.len < IMPORT_FILE_MAX)
		buf_append(&text, bytes, n);
	if (text.len >= IMPORT_FILE_MAX) {
		err_set(err, ERR_FULL, "the file is larger than %d MB", IMPORT_FILE_MAX >> 20);
		return NULL;
	}
	return import_json(buf_cstr(&text), text.len, "the file", err);
}

char *import_text(const json_t *content)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	size_t i;
	json_t *part;
	if (json_is_string(content))
		return mem_strdup(json_string_value(content));
	json_array_foreach(content, i, part)
	{
		const char *text = json_is_string(part) ? json_string_value(part)
							: json_str(part, "text", NULL);
		if (out.len)
			buf_putc(&out, '\n');
		if (text)
			buf_puts(&out, text);
		else
			buf_printf(&out, "[%.40s]", json_str(part, "type", "?"));
	}
	if (json_is_object(content)) {
		if (json_str(content, "text", NULL))
			buf_puts(&out, json_str(content, "text", ""));
		else
			json_dump_buf(content, &out);
	}
	return buf_take(&out);
}

/* --- the whole of it --- */

static void close_calls(struct import *im)
{
	const char *id;
	void *next;
	json_t *seq;
	json_object_foreach_safe(im->open, next, id, seq)
	{
		uint64_t action = (uint64_t)json_integer_value(seq);
		if (im->r)
			record_output_end(im->r, action);
		import_put_ended(im, action, "interrupted", "the file ends without its result", -1);
	}
	const char *name;
	json_object_foreach(im->agents, name, seq)
	{
		json_t *b = json_object();
		im->agent = (uint64_t)json_integer_value(seq);
		const json_t *stop = json_object_get(im->stop, name);
		json_put_str(b, "stop", json_str(stop, "stop", "end"));
		json_put_flag(b, "ok", !stop);
		im->failed |= stop != NULL;
		put_any(b, "why", json_str(stop, "why", NULL));
		if (json_object_get(im->said, name))
			json_put(b, "text", json_incref(json_object_get(im->said, name)));
		json_put_flag(b, "imported", true);
		import_put(im, EV_AGENT_END, im->agent, 0, b);
	}
}

static int import_read_all(struct import *im, const struct importer *e, FILE *in, struct err *err)
{
	char mark[sizeof(UTF8_MARK) - 1];
	if (fread(mark, 1, sizeof(mark), in) != sizeof(mark) ||
	    memcmp(mark, UTF8_MARK, sizeof(mark)) != 0)
		rewind(in);
	im->agents = json_object();
	im->said = json_object();
	im->stop = json_object();
	im->open = json_object();
	im->news = json_object();
	im->named = json_object();
	im->sums->files = 1;
	int rc = e->run(im, in, err);
	if (rc == 0 && !im->sums->turns && !im->sums->calls && !im->sums->people)
		rc = err_set(err, ERR_PARSE, "nothing in it could be read as %s%s", e->name,
			     im->sums->gaps ? ": no line is whole" : "");
	if (rc == 0)
		close_calls(im);
	json_decref(im->agents);
	json_decref(im->said);
	json_decref(im->stop);
	json_decref(im->open);
	json_decref(im->news);
	json_decref(im->named);
	free(im->model);
	return rc;
}

static void import_release(struct import *im)
{
	free(im->origin);
	strv_release(&im->also);
}

int import_dry(const struct importer *e, FILE *in, struct import_sums *sums, struct err *err)
{
	struct import im = { .sums = sums };
	*sums = (struct import_sums){ 0 };
	import_now_us = first_us = 0;
	int rc = import_read_all(&im, e, in, err);
	import_release(&im);
	return rc;
}

static void remove_session(const char *path)
{
	static const char *const tail[] = { "", "-wal", "-shm", "-lease", "-reserve" };
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		CLEANUP(free_ptr) char *one = mem_printf("%s%s", path, tail[i]);
		unlink(one);
	}
}

static int into_record(struct import *im, const struct importer *e, FILE *in, const json_t *from,
		       const char *dir, const char *name, char **path_out, struct err *err)
{
	json_t *start = json_object(), *end = json_object();
	json_put(start, "imported", json_incref((json_t *)(uintptr_t)from));
	json_put_str(start, "script", "(imported)");
	json_put_flag(end, "imported", true);
	int rc = record_create(&im->r, im->l, dir, name, start, NULL, NULL, err);
	char *file = rc == 0 ? mem_strdup(record_path(im->r)) : NULL;
	json_decref(start);
	if (rc == 0)
		rc = import_read_all(im, e, in, err);
	json_put_flag(end, "ok", !im->failed);
	if (rc == 0)
		rc = record_close(&im->r, json_incref(end), err);
	else if (im->r)
		record_abandon(&im->r);
	json_decref(end);
	if (rc < 0 && file)
		remove_session(file);
	if (rc < 0)
		free(file);
	else
		*path_out = file;
	return rc;
}

static void hash_file(struct hash_ctx *c, FILE *in)
{
	char bytes[65536];
	size_t n;
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		hash_add(c, bytes, n);
}

/* hash: of all bytes of all its files. */
static json_t *from_of(const struct importer *e, const char *path, FILE *in,
		       const struct import *look)
{
	json_t *from = json_object();
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	struct hash_ctx c;
	struct hash h;
	hash_begin(&c);
	hash_file(&c, in);
	rewind(in);
	for (size_t i = 0; i < look->also.nr; i++) {
		FILE *f = fopen(look->also.item[i], "re");
		if (f) {
			hash_file(&c, f);
			fclose(f);
		}
	}
	hash_end(&c, &h);
	hex_append(&hex, h.b, HASH_LEN);
	json_put_str(from, "format", e->name);
	json_put_bytes(from, "file", path, strlen(path));
	json_put_str(from, "hash", buf_cstr(&hex));
	json_put_str(from, "origin", look->origin);
	return from;
}

int import_run(const struct importer *e, const char *path, const char *dir, const char *name,
	       import_check_fn *check, void *self, char **path_out, struct import_sums *sums,
	       struct err *err)
{
	static const struct record_fixed file_time = { .wall_us = import_wall,
						       .mono_us = import_wall };
	struct import look = { .sums = sums, .path = path }, im = { .sums = sums, .path = path };
	CLEANUP(json_release) json_t *from = NULL;
	int fd = file_open(path, err);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	if (!in)
		return -1;
	/* first without writing: is it that form, and when did it begin? */
	*sums = (struct import_sums){ 0 };
	import_now_us = first_us = 0;
	int rc = import_read_all(&look, e, in, err);
	rewind(in);
	from = from_of(e, path, in, &look);
	import_release(&look);
	if (rc == 0 && check)
		rc = check(self, from, err);
	*sums = (struct import_sums){ 0 };
	import_now_us = first_us ? first_us : clock_wall_us();
	record_fix(&file_time);
	if (rc == 0)
		rc = loop_new(&im.l, err);
	if (rc == 0)
		rc = into_record(&im, e, in, from, dir, name, path_out, err);
	record_fix(NULL);
	fclose(in);
	import_release(&im);
	if (im.l)
		loop_free(im.l);
	return rc;
}
