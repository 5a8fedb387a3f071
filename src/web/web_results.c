/* Search endpoints of two shapes: "searxng" (GET .../search?q=..&format=json, results[] of title,
 * url, content) and "generic" (any JSON over HTTP: `url` and `body` with {query}, where the list
 * lies, what its fields are called). */
#include <stdlib.h>
#include <string.h>

#include "web/web_priv.h"
#include "base/text/html.h"

enum { TITLE_MAX = 300, SNIPPET_MAX = 1200, QUERY_MAX = 2000, PATH_MAX_DEPTH = 16 };

static bool web_results_searxng(const json_t *conf)
{
	return !strcmp(json_str(conf, "shape", "searxng"), "searxng");
}

/* @template with {query} and {page} put in. */
static void put_in(const char *template, const char *query, bool json, int64_t page,
		   struct buf *out)
{
	CLEANUP(json_release) json_t *s = json_string(query);
	CLEANUP(buf_release) struct buf quoted = BUF_INIT;
	json_t *list = json_array();
	json_array_append(list, s);
	json_dump_buf(list, &quoted); /* ["..."] */
	json_decref(list);
	for (const char *p = template; *p;) {
		if (!strncmp(p, "{query}", 7)) {
			if (json)
				buf_append(out, quoted.data + 2, quoted.len - 4);
			else
				url_escape(query, strlen(query), out);
			p += 7;
		} else if (!strncmp(p, "{page}", 6)) {
			buf_printf(out, "%lld", (long long)page);
			p += 6;
		} else {
			buf_putc(out, *p++);
		}
	}
}

static void searxng_url(const char *base, const char *query, int64_t page, struct buf *out)
{
	if (strstr(base, "{query}")) {
		put_in(base, query, false, page, out);
		return;
	}
	size_t n = strlen(base), path = strcspn(base, "?");
	bool whole = strstr(base, "/search") != NULL;
	buf_append(out, base, path);
	if (!whole)
		buf_puts(out, path && base[path - 1] == '/' ? "search" : "/search");
	if (path < n)
		buf_append(out, base + path, n - path);
	buf_puts(out, path < n ? "&format=json&q=" : "?format=json&q=");
	url_escape(query, strlen(query), out);
	if (page > 1)
		buf_printf(out, "&pageno=%lld", (long long)page);
}

/* {NAME: text | {secret, prefix}} as the request takes it. */
static json_t *web_results_headers_of(const json_t *conf)
{
	json_t *out = json_object(), *v;
	const char *key;
	json_object_foreach(json_object_get(conf, "headers"), key, v)
	{
		const char *secret = json_str(v, "secret", NULL);
		if (!secret) {
			json_object_set(out, key, v);
			continue;
		}
		json_t *o = json_object();
		json_put_str(o, "$secret", secret);
		json_put_str(o, "prefix", json_str(v, "prefix", NULL));
		json_put(out, key, o);
	}
	return out;
}

json_t *search_request(const json_t *conf, const char *query, int64_t page, struct err *err)
{
	const char *base = json_str(conf, "url", NULL), *body = json_str(conf, "body", NULL);
	const char *shape = json_str(conf, "shape", "searxng");
	CLEANUP(buf_release) struct buf url = BUF_INIT, text = BUF_INIT;
	struct url u = { 0 };
	if (!base) {
		err_set(err, ERR_INVALID,
			"no search service: set search = { url = \"https://...\" } in the configuration, or "
			"SANDGLASS_SEARCH");
		return NULL;
	}
	if (strcmp(shape, "searxng") != 0 && strcmp(shape, "generic") != 0) {
		err_set(err, ERR_INVALID,
			"search.shape: expected 'searxng' or 'generic', got '%.40s'", shape);
		return NULL;
	}
	if (!*query || strlen(query) > QUERY_MAX) {
		err_set(err, ERR_INVALID, "query: expected 1 to %d bytes", QUERY_MAX);
		return NULL;
	}
	if (!web_results_searxng(conf) && !strstr(base, "{query}") &&
	    !(body && strstr(body, "{query}"))) {
		err_set(err, ERR_INVALID, "search.url or search.body: missing placeholder {query}");
		return NULL;
	}
	if (web_results_searxng(conf))
		searxng_url(base, query, page, &url);
	else
		put_in(base, query, false, page, &url);
	if (url_parse(&u, NULL, buf_cstr(&url), err) < 0) {
		err_wrap(err, "search.url");
		return NULL;
	}
	json_t *o = json_object(), *headers = web_results_headers_of(conf);
	json_put_str(o, "url", u.text);
	json_put_str(o, "method", json_str(conf, "method", body ? "POST" : "GET"));
	if (body) {
		put_in(body, query, true, page, &text);
		json_put_str(o, "_body", buf_cstr(&text));
		if (!json_object_get(headers, "Content-Type"))
			json_put_str(headers, "Content-Type", "application/json");
	}
	if (json_object_size(headers))
		json_put(o, "headers", json_incref(headers));
	json_decref(headers);
	url_release(&u);
	return o;
}

/* "web.results" below @j; "" is @j itself. Borrowed. */
static const json_t *web_results_below(const json_t *j, const char *path)
{
	for (unsigned depth = 0; *path && j && depth < PATH_MAX_DEPTH; depth++) {
		size_t n = strcspn(path, ".");
		CLEANUP(free_ptr) char *name = mem_strndup(path, n);
		j = json_is_array(j) ? json_array_get(j, strtoul(name, NULL, 10))
				     : json_object_get(j, name);
		path += n + (path[n] == '.');
	}
	return *path ? NULL : j;
}

/* One line without markup and what cannot be seen. Returns owned. */
static char *web_results_plain(const json_t *v, size_t max)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	const struct html_opts o = { .max = max };
	if (json_is_string(v))
		html_to_text(json_string_value(v), json_string_length(v), &o, &b, NULL);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\n')
			b.data[i] = ' ';
	while (b.len && b.data[b.len - 1] == ' ')
		b.data[--b.len] = 0;
	return mem_strdup(buf_cstr(&b));
}

static json_t *one_result(const json_t *conf, const json_t *item)
{
	const json_t *link = web_results_below(item, json_str(conf, "link", "url"));
	struct url u = { 0 };
	struct err none = ERR_INIT;
	if (!json_is_string(link) || url_parse(&u, NULL, json_string_value(link), &none) < 0)
		return NULL;
	CLEANUP(free_ptr)
	char *title = web_results_plain(web_results_below(item, json_str(conf, "title", "title")),
					TITLE_MAX);
	CLEANUP(free_ptr)
	char *text = web_results_plain(web_results_below(item, json_str(conf, "text", "content")),
				       SNIPPET_MAX);
	json_t *o = json_object();
	json_put_str(o, "title", title);
	json_put_str(o, "url", u.text);
	json_put_str(o, "text", text);
	url_release(&u);
	return o;
}

json_t *search_results(const json_t *conf, const char *bytes, size_t len, size_t most,
		       struct err *err)
{
	const char *path = json_str(conf, "results", "results");
	struct err wrong = ERR_INIT;
	CLEANUP(json_release) json_t *j = json_parse(bytes, len, "the answer", &wrong);
	if (!j) {
		err_set(err, ERR_PARSE, "its answer is not JSON%s",
			web_results_searxng(conf) ? " (does the server allow format=json?)" : "");
		return NULL;
	}
	const json_t *list = web_results_below(j, path);
	if (!json_is_array(list)) {
		err_set(err, ERR_PARSE, "its answer has no list '%.60s' (search.results)", path);
		return NULL;
	}
	json_t *out = json_array();
	size_t i;
	const json_t *item;
	json_array_foreach(list, i, item)
	{
		json_t *o = json_array_size(out) < most ? one_result(conf, item) : NULL;
		if (o)
			json_array_append_new(out, o);
	}
	return out;
}

void search_text(const json_t *results, struct buf *out)
{
	size_t i;
	const json_t *r;
	json_array_foreach(results, i, r)
	{
		buf_printf(out, "%zu. %s\n   %s\n", i + 1, json_str(r, "title", ""),
			   json_str(r, "url", ""));
		if (*json_str(r, "text", ""))
			buf_printf(out, "   %s\n", json_str(r, "text", ""));
	}
}
