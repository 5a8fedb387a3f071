#include "proxy/speak.h"

#include <string.h>

#include "base/mem.h"

const char *speak_name(enum speak s)
{
	static const char *const name[] = { [SPEAK_NONE] = "",
					    [SPEAK_ANTHROPIC] = "anthropic",
					    [SPEAK_CHAT] = "openai_chat",
					    [SPEAK_RESPONSES] = "openai",
					    [SPEAK_GEMINI] = "gemini",
					    [SPEAK_CODE_ASSIST] = "gemini" };
	return name[s];
}

static bool speak_ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);
	return n >= m && !strcmp(s + n - m, with);
}

/* /v1internal:verb */
static const char *code_assist_verb(const char *path)
{
	const char *at = strstr(path, "/v1internal:");
	return at && !strchr(at + 1, '/') ? strchr(at, ':') + 1 : NULL;
}

/* /v1beta/models/NAME:verb */
static const char *gemini_verb(const char *path)
{
	const char *m = strstr(path, "/models/"), *colon = m ? strchr(m, ':') : NULL;
	return colon && !strchr(colon, '/') ? colon + 1 : NULL;
}

bool speak_path(const char *dialect, const char *method, const char *path, enum speak *out)
{
	bool post = !strcmp(method, "POST"), get = !strcmp(method, "GET");
	const char *verb = gemini_verb(path), *inner = verb ? NULL : code_assist_verb(path);
	*out = SPEAK_NONE;
	if (strstr(path, "..") || strchr(path, '%') || strstr(path, "//"))
		return false;
	if (get)
		return speak_ends(path, "/models") || (strstr(path, "/models/") && !verb);
	if (!post)
		return false;
	if (!strcmp(dialect, "anthropic")) {
		*out = speak_ends(path, "/messages") ? SPEAK_ANTHROPIC : SPEAK_NONE;
		return *out || speak_ends(path, "/messages/count_tokens");
	}
	if (!strcmp(dialect, "openai")) {
		*out = speak_ends(path, "/chat/completions") ? SPEAK_CHAT
		       : speak_ends(path, "/responses")	     ? SPEAK_RESPONSES
							     : SPEAK_NONE;
		return *out != SPEAK_NONE;
	}
	if (strcmp(dialect, "gemini") != 0 || (!verb && !inner))
		return false;
	enum speak form = verb ? SPEAK_GEMINI : SPEAK_CODE_ASSIST;
	verb = verb ? verb : inner;
	if (!strcmp(verb, "generateContent") || !strcmp(verb, "streamGenerateContent"))
		*out = form;
	return *out || !strcmp(verb, "countTokens");
}

bool speak_credential(const char *name)
{
	static const char *const known[] = {
		"authorization", "x-api-key",		"x-goog-api-key",      "api-key",
		"cookie",	 "proxy-authorization", "x-goog-user-project", "openai-organization"
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i], name))
			return true;
	return false;
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *list_key(enum speak s)
{
	return s == SPEAK_RESPONSES			     ? "input"
	       : s == SPEAK_GEMINI || s == SPEAK_CODE_ASSIST ? "contents"
							     : "messages";
}

/* What is in the envelope, if there is one. */
static json_t *speak_inner(enum speak s, const json_t *req)
{
	json_t *whole = (json_t *)(uintptr_t)req;
	return s == SPEAK_CODE_ASSIST ? json_object_get(whole, "request") : whole;
}

/* Walks JSON text that json_parse has accepted; says where the elements of one list of the
 * outermost object stand. */
struct walk {
	const char *p, *end;
};

static void speak_blanks(struct walk *w)
{
	while (w->p < w->end && strchr(" \t\r\n", *w->p) && *w->p)
		w->p++;
}

static void speak_skip_string(struct walk *w)
{
	for (w->p++; w->p < w->end && *w->p != '"'; w->p++)
		if (*w->p == '\\' && w->p + 1 < w->end)
			w->p++;
	if (w->p < w->end)
		w->p++;
}

static void skip_value(struct walk *w)
{
	int depth = 0;
	speak_blanks(w);
	while (w->p < w->end) {
		char c = *w->p;
		if (c == '"') {
			speak_skip_string(w);
		} else if (c == '{' || c == '[') {
			depth++;
			w->p++;
		} else if (c == '}' || c == ']') {
			if (!depth)
				return;
			depth--;
			w->p++;
		} else if (depth == 0 && c == ',') {
			return;
		} else {
			w->p++;
			continue;
		}
		if (!depth)
			return;
	}
}

/* @w stands at the value of @key of the object that begins at it when it is found. */
static bool find_value(struct walk *w, const char *key)
{
	size_t n = strlen(key);
	speak_blanks(w);
	if (w->p == w->end || *w->p != '{')
		return false;
	w->p++;
	for (;;) {
		speak_blanks(w);
		if (w->p >= w->end || *w->p != '"')
			return false;
		const char *name = w->p;
		speak_skip_string(w);
		bool it = (size_t)(w->p - name) == n + 2 && !memcmp(name + 1, key, n);
		speak_blanks(w);
		if (w->p >= w->end || *w->p != ':')
			return false;
		w->p++;
		speak_blanks(w);
		if (it)
			return true;
		skip_value(w);
		speak_blanks(w);
		if (w->p >= w->end || *w->p != ',')
			return false;
		w->p++;
	}
}

/* @w stands at the '[' of the list of messages when it is found. */
static bool find_list(enum speak s, struct walk *w)
{
	return (s != SPEAK_CODE_ASSIST || find_value(w, "request")) && find_value(w, list_key(s)) &&
	       w->p < w->end && *w->p == '[';
}

void speak_pieces(enum speak s, const char *body, size_t len, speak_piece_fn *piece, void *self)
{
	struct walk w = { body, body + len };
	const char *from = body;
	if (s != SPEAK_NONE && find_list(s, &w)) {
		w.p++;
		piece(self, from, (size_t)(w.p - from));
		from = w.p;
		for (;;) {
			speak_blanks(&w);
			if (w.p >= w.end || *w.p == ']')
				break;
			const char *was = w.p;
			skip_value(&w);
			piece(self, from, (size_t)(w.p - from));
			from = w.p;
			speak_blanks(&w);
			if (w.p < w.end && *w.p == ',')
				w.p++;
			else if (w.p == was)
				break;
			/* the comma is a piece of its own kind: it stands before the next one, so
			 * that a message's piece is its text */
			if (w.p > from)
				piece(self, from, (size_t)(w.p - from));
			from = w.p;
		}
	}
	if (from < body + len || !len)
		piece(self, from, (size_t)(body + len - from));
}

const char *speak_model(const json_t *req, const char *path)
{
	const char *m = strstr(path, "/models/"), *name = json_str(req, "model", NULL);
	return name ? name : m ? m + 8 : "";
}

bool speak_streams(enum speak s, const json_t *req, const char *path)
{
	return s == SPEAK_GEMINI || s == SPEAK_CODE_ASSIST
		       ? strstr(path, ":streamGenerateContent") != NULL
		       : json_flag(req, "stream", false);
}

json_t *speak_messages(enum speak s, const json_t *req)
{
	json_t *list = json_object_get(speak_inner(s, req), list_key(s));
	return json_is_array(list) ? list : NULL;
}

static const char *tool_name(const json_t *t)
{
	const char *name =
		json_str(t, "name", json_str(json_object_get(t, "function"), "name", NULL));
	return name ? name : json_str(t, "type", "?");
}

/* Also those in an envelope. */
static const json_t *tools_of(const json_t *req)
{
	const json_t *tools = json_object_get(req, "tools");
	return tools ? tools : json_object_get(json_object_get(req, "request"), "tools");
}

json_t *speak_tools(const json_t *req)
{
	json_t *names = json_array(), *t, *f;
	size_t i, k;
	json_array_foreach(tools_of(req), i, t)
	{
		json_t *inner = json_object_get(t, "functionDeclarations");
		json_array_foreach(inner, k, f)
			json_array_append_new(names, json_string(json_str(f, "name", "?")));
		if (!inner)
			json_array_append_new(names, json_string(tool_name(t)));
	}
	return names;
}

json_t *speak_provider_tools(const json_t *req)
{
	static const char *const begins[] = {
		"web_search", "web_fetch",   "code_interpreter", "code_execution",
		"mcp",	      "file_search", "computer_use",	 "image_generation"
	};
	static const char *const fields[] = { "googleSearch", "google_search", "codeExecution",
					      "urlContext", "url_context" };
	json_t *names = json_array(), *t;
	size_t i;
	json_array_foreach(tools_of(req), i, t)
	{
		const char *type = json_str(t, "type", "");
		for (size_t k = 0; k < ARRAY_LEN(begins); k++)
			if (!strncmp(type, begins[k], strlen(begins[k])))
				json_array_append_new(names, json_string(type));
		for (size_t k = 0; k < ARRAY_LEN(fields); k++)
			if (json_object_get(t, fields[k]))
				json_array_append_new(names, json_string(fields[k]));
	}
	return names;
}

/* --- results of tools --- */

static void text_into(const json_t *v, struct buf *out)
{
	size_t i;
	json_t *e;
	if (json_is_string(v))
		buf_append(out, json_string_value(v), json_string_length(v));
	else if (json_is_array(v))
		json_array_foreach(v, i, e) text_into(json_object_get(e, "text"), out);
	else if (json_is_object(v))
		json_dump_buf(v, out);
}

static void speak_tell(const json_t *content, const char *id, bool error, speak_result_fn *fn,
		       void *self)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	text_into(content, &text);
	fn(self, id, buf_cstr(&text), error);
}

/* true: this message holds nothing but what came after the model spoke. */
static bool results_of(enum speak s, const json_t *m, speak_result_fn *fn, void *self)
{
	const char *role = json_str(m, "role", ""), *type = json_str(m, "type", "");
	size_t i;
	json_t *b;
	if (s == SPEAK_ANTHROPIC) {
		json_array_foreach(json_object_get(m, "content"), i,
				   b) if (!strcmp(json_str(b, "type", ""), "tool_result"))
			speak_tell(json_object_get(b, "content"), json_str(b, "tool_use_id", ""),
				   json_flag(b, "is_error", false), fn, self);
		return strcmp(role, "assistant") != 0;
	}
	if (s == SPEAK_CHAT) {
		if (!strcmp(role, "tool"))
			speak_tell(json_object_get(m, "content"), json_str(m, "tool_call_id", ""),
				   false, fn, self);
		return strcmp(role, "assistant") != 0;
	}
	if (s == SPEAK_RESPONSES) {
		size_t n = strlen(type);
		if (n > 7 && !strcmp(type + n - 7, "_output"))
			speak_tell(json_object_get(m, "output"), json_str(m, "call_id", ""), false,
				   fn, self);
		else if (!strcmp(role, "assistant") || (n > 5 && !strcmp(type + n - 5, "_call")))
			return false;
		return true;
	}
	json_array_foreach(json_object_get(m, "parts"), i, b)
	{
		const json_t *r = json_object_get(b, "functionResponse");
		if (r)
			speak_tell(json_object_get(r, "response"),
				   json_str(r, "id", json_str(r, "name", "")), false, fn, self);
	}
	return strcmp(role, "model") != 0;
}

void speak_results(enum speak s, const json_t *req, speak_result_fn *fn, void *self)
{
	const json_t *list = speak_messages(s, req);
	size_t at = json_array_size(list);
	while (at-- > 0)
		if (!results_of(s, json_array_get(list, at), fn, self))
			break;
}

/* --- the prompt from outside --- */

static json_t *text_part(const char *type, const char *text)
{
	json_t *b = json_object();
	if (type)
		json_put_str(b, "type", type);
	json_put_str(b, "text", text);
	return b;
}

static void before_text(json_t *o, const char *field, const char *prompt)
{
	const char *was = json_str(o, field, "");
	CLEANUP(free_ptr) char *all = mem_printf("%s%s%s", prompt, *was ? "\n\n" : "", was);
	json_object_set_new(o, field, json_string(all));
}

void speak_prompt(enum speak s, json_t *whole, const char *prompt)
{
	json_t *list, *req = speak_inner(s, whole);
	if (s == SPEAK_ANTHROPIC && json_is_array(list = json_object_get(req, "system"))) {
		json_array_insert_new(list, 0, text_part("text", prompt));
	} else if (s == SPEAK_ANTHROPIC) {
		before_text(req, "system", prompt);
	} else if (s == SPEAK_RESPONSES) {
		before_text(req, "instructions", prompt);
	} else if (s == SPEAK_CHAT && (list = speak_messages(s, req))) {
		json_t *m = json_object();
		json_put_str(m, "role", "system");
		json_put_str(m, "content", prompt);
		json_array_insert_new(list, 0, m);
	} else if ((s == SPEAK_GEMINI || s == SPEAK_CODE_ASSIST) && json_is_object(req)) {
		json_t *si = json_object_get(req, "systemInstruction");
		if (!json_is_object(si))
			json_put(req, "systemInstruction", si = json_object());
		if (!json_is_array(list = json_object_get(si, "parts")))
			json_put(si, "parts", list = json_array());
		json_array_insert_new(list, 0, text_part(NULL, prompt));
	}
}
