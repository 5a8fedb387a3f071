/* Claude Code's own files (its vendor calls the form internal, so: leniently). Each line is one
 * object: type user, assistant, or something that is kept as it is; "message" has the shape of the
 * Messages API. One answer of the model may stand on several lines with the same message.id, each
 * with one block and the usage so far, also apart and in two files: it is one turn, and its last
 * usage counts, once. A subagent has a file of its own, SESSION/subagents/agent-ID.jsonl (before:
 * agent-ID.jsonl beside the session's): they are read together, in the order of their times. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/import.h"
#include "base/mem.h"

/* Shared by the files of one session. */
struct answers {
	json_t *usage; /* id of an answer -> its last usage */
	json_t *cost;  /* id -> what the file says that it cost */
	json_t *given; /* ids of answers that were given out */
	json_t *calls; /* ids of calls that were */
};

/* One file. */
struct claude {
	struct answers *all;
	char *name; /* of the subagent; NULL: it is the session's */
	char *id;   /* of the answer under way; NULL = none */
	bool side;  /* it is a subagent's */
	char *model, *stop;
	struct buf text;
	json_t *calls;
};

static struct usage import_claude_usage_of(const struct answers *all, const char *id)
{
	const json_t *u = json_object_get(all->usage, id), *cost = json_object_get(all->cost, id);
	int64_t read = import_tokens(u, "cache_read_input_tokens"),
		made = import_tokens(u, "cache_creation_input_tokens");
	return (struct usage){
		.in = import_tokens(u, "input_tokens") + read + made,
		.out = import_tokens(u, "output_tokens"),
		.cached = read,
		.written = made,
		.written_1h = import_tokens(json_object_get(u, "cache_creation"),
					    "ephemeral_1h_input_tokens"),
		.cost_uusd = cost ? (int64_t)json_integer_value(cost) : -1,
	};
}

static void speak_as(struct claude *c, struct import *im, bool side, const char *model)
{
	c->side = side;
	if (c->name)
		import_subagent(im, c->name, model, "claude");
	else if (side)
		import_subagent(im, "sidechain", model, "claude");
	else
		import_agent(im, "claude", model);
}

static void import_claude_give(struct claude *c, struct import *im)
{
	size_t i;
	json_t *call;
	if (!c->id)
		return;
	speak_as(c, im, c->side, c->model);
	if (!json_object_get(c->all->given, c->id)) {
		struct usage usage = import_claude_usage_of(c->all, c->id);
		import_reply(im, c->model, buf_cstr(&c->text), c->calls, &usage, c->stop);
	}
	json_put(c->all->given, c->id, json_true());
	json_array_foreach(c->calls, i, call)
	{
		const char *id = json_str(call, "id", "");
		if (!*id || !json_object_get(c->all->calls, id))
			import_call(im, id, json_str(call, "name", "?"),
				    json_object_get(call, "args"));
		json_put(c->all->calls, id, json_true());
	}
	json_decref(c->calls);
	c->calls = NULL;
	free(c->id);
	free(c->model);
	free(c->stop);
	c->id = c->model = c->stop = NULL;
	buf_reset(&c->text);
}

static void on_assistant(struct claude *c, struct import *im, const json_t *m, size_t line)
{
	const char *id = json_str(m, "id", NULL), *model = json_str(m, "model", "unknown");
	const json_t *content = json_object_get(m, "content");
	CLEANUP(free_ptr) char *own = id ? NULL : mem_printf("line-%zu", line);
	size_t i;
	json_t *block;
	if (!id)
		id = own;
	if (c->id && strcmp(c->id, id) != 0)
		import_claude_give(c, im);
	if (!c->id) {
		c->id = mem_strdup(id);
		c->model = mem_strdup(model);
		c->calls = json_array();
	}
	if (json_str(m, "stop_reason", NULL)) {
		free(c->stop);
		c->stop = mem_strdup(json_str(m, "stop_reason", ""));
	}
	if (json_is_string(content))
		buf_puts(&c->text, json_string_value(content));
	json_array_foreach(content, i, block)
	{
		const char *type = json_str(block, "type", "");
		if (!strcmp(type, "text")) {
			buf_printf(&c->text, "%s%s", c->text.len ? "\n" : "",
				   json_str(block, "text", ""));
		} else if (!strcmp(type, "tool_use")) {
			json_t *call = json_object();
			json_put(call, "id", json_string(json_str(block, "id", "")));
			json_put(call, "name", json_string(json_str(block, "name", "?")));
			json_put(call, "args", json_incref(json_object_get(block, "input")));
			json_array_append_new(c->calls, call);
		}
	}
}

/* A command without a failure ended with 0; one that continues in the background has not ended. */
static int import_claude_code_of(const json_t *result)
{
	return json_object_get(result, "stdout") && !json_flag(result, "interrupted", false) &&
			       !json_object_get(result, "backgroundTaskId")
		       ? 0
		       : -1;
}

static void on_user(struct claude *c, struct import *im, const json_t *j, const json_t *m,
		    bool meta)
{
	const json_t *content = json_object_get(m, "content");
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	size_t i;
	json_t *block;
	import_claude_give(c, im);
	if (json_is_string(content)) {
		import_say(im, "user", json_string_value(content), !meta);
		return;
	}
	json_array_foreach(content, i, block)
	{
		if (!strcmp(json_str(block, "type", ""), "tool_result")) {
			CLEANUP(free_ptr)
			char *text = import_text(json_object_get(block, "content"));
			bool failed = json_flag(block, "is_error", false);
			int code = failed ? -1
					  : import_claude_code_of(
						    json_object_get(j, "toolUseResult")),
			    head = 0;
			if (failed && sscanf(text, "Exit code %d%n", &code, &head) == 1)
				head += text[head] == '\n';
			import_result(im, json_str(block, "tool_use_id", ""), text + head,
				      strlen(text + head), failed, code);
		} else {
			CLEANUP(free_ptr) char *text = import_text(block);
			buf_printf(&said, "%s%s", said.len ? "\n" : "", text);
		}
	}
	if (said.len)
		import_say(im, "user", buf_cstr(&said), !meta);
}

static void import_claude_on_line(void *self, struct import *im, size_t line, const json_t *j,
				  const char *text, size_t len)
{
	struct claude *c = self;
	const char *type = json_str(j, "type", "");
	const json_t *m = json_object_get(j, "message");
	bool answer = !strcmp(type, "assistant") && json_is_object(m),
	     person = !strcmp(type, "user") && json_is_object(m);
	/* the answer before is over: it is written with its own time */
	if (c->id && (person || (answer && strcmp(json_str(m, "id", ""), c->id) != 0)))
		import_claude_give(c, im);
	import_time(im, json_str(j, "timestamp", NULL));
	import_origin(im, json_str(j, "sessionId", NULL));
	if (answer || person)
		speak_as(c, im, json_flag(j, "isSidechain", false),
			 answer ? json_str(m, "model", NULL) : NULL);
	if (answer)
		on_assistant(c, im, m, line);
	else if (person)
		on_user(c, im, j, m,
			c->name || c->side || json_flag(j, "isMeta", false) ||
				json_flag(j, "isCompactSummary", false));
	else
		import_keep(im, line, *type ? type : "unknown", text, len);
}

int sniff_claude(const char *head, size_t len)
{
	(void)len;
	return head[0] == '{' && strstr(head, "\"sessionId\"") && strstr(head, "\"uuid\"") &&
			       strstr(head, "\"type\"")
		       ? 90
		       : 0;
}

/* --- the files of a session --- */

/* The last usage of each answer of @in, which is then where it was. Output grows from line to line
 * of one answer, so the most counts. */
static void read_usages(struct answers *all, FILE *in)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	long at = ftell(in);
	while ((n = getline(&line, &cap, in)) >= 0) {
		struct err none = ERR_INIT;
		if (n > IMPORT_LINE_MAX || !strstr(line, "\"usage\""))
			continue;
		CLEANUP(json_release) json_t *j = json_parse(line, (size_t)n, "line", &none);
		const json_t *m = json_object_get(j, "message"), *u = json_object_get(m, "usage");
		const char *id = json_str(m, "id", NULL);
		if (!json_is_object(u) || !id)
			continue;
		if (import_tokens(u, "output_tokens") >=
		    import_tokens(json_object_get(all->usage, id), "output_tokens"))
			json_put(all->usage, id, json_deep_copy(u));
		if (import_uusd(j, "costUSD") >= 0)
			json_put_int(all->cost, id, import_uusd(j, "costUSD"));
	}
	free(line);
	if (at >= 0)
		fseek(in, at, SEEK_SET);
}

static int is_jsonl(const struct dirent *e)
{
	size_t len = strlen(e->d_name);
	return e->d_name[0] != '.' && len > 6 && !strcmp(e->d_name + len - 6, ".jsonl");
}

static int is_subagent(const struct dirent *e)
{
	return is_jsonl(e) && !strncmp(e->d_name, "agent-", 6);
}

/* Does the first line of @path name the session @id? */
static bool import_claude_of_session(const char *path, const char *id)
{
	CLEANUP(free_ptr) char *line = NULL, *want = mem_printf("\"sessionId\":\"%s\"", id);
	size_t cap = 0;
	FILE *f = fopen(path, "re");
	bool found = f && getline(&line, &cap, f) > 0 && strstr(line, want);
	if (f)
		fclose(f);
	return found;
}

/* Adds the files of @dir that @pick takes; @id: only those that name this session. */
static void import_claude_add_files(struct strv *out, const char *dir,
				    int (*pick)(const struct dirent *e), const char *id)
{
	struct dirent **e = NULL;
	int nr = scandir(dir, &e, pick, alphasort);
	for (int i = 0; i < nr; i++) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%s", dir, e[i]->d_name);
		if (!id || import_claude_of_session(path, id))
			strv_push(out, path);
		free(e[i]);
	}
	free(e);
}

/* The files of the subagents of the session at @path. */
static void subagents_of(const char *path, struct strv *out)
{
	const char *base = path && strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	size_t len = base ? strlen(base) : 0;
	if (len < 7 || strcmp(base + len - 6, ".jsonl") != 0 || !strncmp(base, "agent-", 6))
		return;
	CLEANUP(free_ptr) char *stem = mem_strndup(path, strlen(path) - 6);
	CLEANUP(free_ptr) char *id = mem_strndup(base, len - 6);
	CLEANUP(free_ptr) char *below = mem_printf("%s/subagents", stem);
	CLEANUP(free_ptr)
	char *beside = base == path ? mem_strdup(".") : mem_strndup(path, (size_t)(base - path));
	import_claude_add_files(out, below, is_jsonl, NULL);
	import_claude_add_files(out, beside, is_subagent, id);
}

static char *stem_of(const char *path)
{
	const char *base = strrchr(path, '/') + 1;
	return mem_strndup(base, strlen(base) - 6);
}

static void claude_release(struct claude *c)
{
	json_decref(c->calls);
	free(c->id);
	free(c->model);
	free(c->stop);
	free(c->name);
	buf_release(&c->text);
}

/* Opens the files of subagents behind @source[0]. */
static int open_files(struct answers *all, const struct strv *path, struct import_source *source,
		      struct claude *c, struct err *err)
{
	for (size_t i = 0; i < path->nr; i++) {
		source[i + 1] = (struct import_source){ fopen(path->item[i], "re"), &c[i + 1] };
		if (!source[i + 1].in)
			return err_sys(err, "can't read '%s'", path->item[i]);
		c[i + 1] = (struct claude){ .all = all, .name = stem_of(path->item[i]) };
		read_usages(all, source[i + 1].in);
	}
	return 0;
}

int import_claude(struct import *im, FILE *in, struct err *err)
{
	CLEANUP(strv_release) struct strv path = STRV_INIT;
	struct answers all = { json_object(), json_object(), json_object(), json_object() };
	subagents_of(import_path(im), &path);
	struct import_source *source = mem_calloc(path.nr + 1, sizeof(*source));
	struct claude *c = mem_calloc(path.nr + 1, sizeof(*c));
	c[0] = (struct claude){ .all = &all };
	source[0] = (struct import_source){ in, &c[0] };
	read_usages(&all, in);
	for (size_t i = 0; i < path.nr; i++)
		import_also(im, path.item[i]);
	int rc = open_files(&all, &path, source, c, err);
	if (rc == 0)
		rc = import_sources(im, source, path.nr + 1, import_claude_on_line, err);
	for (size_t i = path.nr + 1; i-- > 0;) {
		if (rc == 0)
			import_claude_give(&c[i], im);
		claude_release(&c[i]);
		if (i && source[i].in)
			fclose(source[i].in);
	}
	free(source);
	free(c);
	json_decref(all.usage);
	json_decref(all.cost);
	json_decref(all.given);
	json_decref(all.calls);
	return rc;
}
