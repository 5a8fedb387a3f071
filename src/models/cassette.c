#include "models/cassette.h"

#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

enum { CASSETTE_MAX = 512 << 20, NEAR = 60 };

struct entry {
	char *key;
	char *canonical;
	json_t *body; /* the whole line */
	size_t given; /* how often it was handed out */
};

struct cassette {
	char *path;
	bool add;
	int fd; /* for adding, -1 */
	struct entry *item;
	size_t nr, cap;
};

/* --- canonical form --------------------------------------------------------------------------- */

static const struct rule {
	const char *pattern, *instead;
} cassette_rules[] = {
	{ "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<uuid>" },
	{ "[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-5][0-9](:[0-6][0-9]([.,][0-9]+)?)?(Z|[+-][0-2][0-9]:?[0-9]{2})?)?",
	  "<time>" },
	{ "/tmp/[A-Za-z0-9._-]+", "/tmp/<name>" },
	{ "(toolu|call|fc|msg|rs|resp|chatcmpl)_[A-Za-z0-9_]{4,}", "<id>" },
	{ "[0-9]+[.][0-9]+ ?s", "<seconds>" },
};

static char *cassette_replace_all(char *text, const struct rule *r)
{
	regex_t re;
	regmatch_t m;
	struct buf out = BUF_INIT;
	if (regcomp(&re, r->pattern, REG_EXTENDED) != 0)
		return text;
	const char *at = text;
	int flags = 0;
	while (regexec(&re, at, 1, &m, flags) == 0 && m.rm_eo > m.rm_so) {
		buf_append(&out, at, (size_t)m.rm_so);
		buf_puts(&out, r->instead);
		at += m.rm_eo;
		flags = REG_NOTBOL;
	}
	regfree(&re);
	buf_puts(&out, at);
	free(text);
	return buf_take(&out);
}

static bool cassette_left_out(const char *key)
{
	static const char *const names[] = { "metadata",     "stream_options", "prompt_cache_key",
					     "service_tier", "cache_control",  "diagnostics" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], key))
			return true;
	return false;
}

static int cassette_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void cassette_put(const json_t *v, struct buf *out);

static void put_object(const json_t *o, struct buf *out)
{
	const char *key;
	json_t *item;
	size_t nr = 0;
	const char **name = mem_calloc(json_object_size(o) + 1, sizeof(*name));
	json_object_foreach((json_t *)(uintptr_t)o, key, item) if (!cassette_left_out(key))
		name[nr++] = key;
	if (nr)
		qsort(name, nr, sizeof(*name), cassette_by_name);
	buf_putc(out, '{');
	for (size_t i = 0; i < nr; i++) {
		buf_printf(out, "%s\"%s\":", i ? "," : "", name[i]);
		cassette_put(json_object_get(o, name[i]), out);
	}
	buf_putc(out, '}');
	free(name);
}

static void cassette_put(const json_t *v, struct buf *out)
{
	size_t i;
	json_t *item;
	if (json_is_object(v)) {
		put_object(v, out);
	} else if (json_is_array(v)) {
		buf_putc(out, '[');
		json_array_foreach((json_t *)(uintptr_t)v, i, item)
		{
			if (i)
				buf_putc(out, ',');
			cassette_put(item, out);
		}
		buf_putc(out, ']');
	} else {
		json_dump_buf(v, out);
	}
}

void cassette_canonical(const char *path, const char *body, size_t len, struct buf *out)
{
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *j = json_parse(body, len, "request", &none);
	struct buf b = BUF_INIT;
	buf_printf(&b, "%s ", path);
	if (j)
		cassette_put(j, &b);
	else
		buf_append(&b, body, len);
	char *text = buf_take(&b);
	for (size_t i = 0; i < ARRAY_LEN(cassette_rules); i++)
		text = cassette_replace_all(text, &cassette_rules[i]);
	buf_puts(out, text);
	free(text);
}

static char *cassette_key_of(const char *canonical)
{
	struct hash h;
	struct buf hex = BUF_INIT;
	hash_of(canonical, strlen(canonical), &h);
	hex_append(&hex, h.b, HASH_LEN);
	return buf_take(&hex);
}

/* --- the file --------------------------------------------------------------------------------- */

static void cassette_keep(struct cassette *c, json_t *line)
{
	struct buf canonical = BUF_INIT;
	CLEANUP(free_ptr) char *body = json_dump_str(json_object_get(line, "request"));
	cassette_canonical(json_str(line, "path", ""), body, strlen(body), &canonical);
	GROW(c->item, c->nr, c->cap);
	char *text = buf_take(&canonical);
	c->item[c->nr++] =
		(struct entry){ .key = cassette_key_of(text), .canonical = text, .body = line };
}

static bool is_chunk(const json_t *chunk)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	return json_array_size(chunk) == 2 && json_is_integer(json_array_get(chunk, 0)) &&
	       (json_is_string(json_array_get(chunk, 1)) ||
		json_get_bytes(json_array_get(chunk, 1), &bytes));
}

/* An answer of which everything is there that playing it needs. */
static bool is_answer(const json_t *line)
{
	const json_t *chunks = json_object_get(line, "chunks"), *chunk;
	size_t i;
	if (!json_object_get(line, "request") || !json_is_array(chunks))
		return false;
	json_array_foreach(chunks, i, chunk) if (!is_chunk(chunk)) return false;
	return true;
}

/* One line; takes @line. */
static int cassette_take_line(struct cassette *c, size_t nr, json_t *line, struct err *err)
{
	bool good = nr == 1 ? json_int(line, "cassette", 0) == 1 : is_answer(line);
	if (good && nr > 1) {
		cassette_keep(c, line);
		return 0;
	}
	json_decref(line);
	if (good)
		return 0;
	return nr == 1 ? err_set(err, ERR_PARSE, "'%s' is not a cassette of format 1", c->path)
		       : err_set(err, ERR_PARSE,
				 "'%s', line %zu: expected a request and its answer", c->path, nr);
}

/* @whole: the bytes of complete lines. A truncated last line (its writer died) is left out. */
static int read_lines(struct cassette *c, const struct buf *text, size_t *whole, struct err *err)
{
	const char *from = buf_cstr(text), *at = from, *end = at + text->len;
	if (at == end)
		return err_set(err, ERR_PARSE, "'%s' is not a cassette of format 1", c->path);
	for (size_t nr = 1; at < end; nr++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		json_t *line = len ? json_parse(at, len, "cassette", err) : NULL;
		if (len && !line && !stop && nr > 1) {
			log_warn("the last line of '%s' was cut off and is left out", c->path);
			*err = (struct err){ .code = ERR_NONE };
			break;
		}
		if (len && !line)
			return err_wrap(err, "'%s', line %zu", c->path, nr);
		if ((line || nr == 1) && cassette_take_line(c, nr, line, err) < 0)
			return -1;
		at += len + 1;
	}
	*whole = at < end ? (size_t)(at - from) : text->len;
	return 0;
}

/* So that what is added begins a line of its own. */
static int cassette_end_at(struct cassette *c, const struct buf *text, size_t whole,
			   struct err *err)
{
	if (whole < text->len && ftruncate(c->fd, (off_t)whole) < 0)
		return err_sys(err, "can't shorten the cassette '%s'", c->path);
	return whole && text->data[whole - 1] != '\n' ? fd_write_all(c->fd, "\n", 1, err) : 0;
}

static int cassette_make(const char *path, struct err *err)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;
	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "can't create the cassette '%s'", path);
	CLEANUP(free_ptr)
	char *line = mem_printf("{\"cassette\":1,\"created\":\"%s\",\"match\":1}\n", when);
	return fd_write_all(fd, line, strlen(line), err);
}

int cassette_open(struct cassette **out, const char *path, bool add, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (add && access(path, F_OK) != 0 && cassette_make(path, err) < 0)
		return -1;
	if (file_read(path, &text, CASSETTE_MAX, err) < 0)
		return err_wrap(err, "cassette");
	struct cassette *c = NEW(struct cassette);
	c->path = mem_strdup(path);
	c->add = add;
	c->fd = add ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	size_t whole = 0;
	int rc = add && c->fd < 0 ? err_sys(err, "can't write to the cassette '%s'", path)
				  : read_lines(c, &text, &whole, err);
	if (rc == 0 && add)
		rc = cassette_end_at(c, &text, whole, err);
	if (rc < 0) {
		cassette_free(&c);
		return -1;
	}
	*out = c;
	return 0;
}

void cassette_free(struct cassette **cp)
{
	struct cassette *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	for (size_t i = 0; i < c->nr; i++) {
		free(c->item[i].key);
		free(c->item[i].canonical);
		json_decref(c->item[i].body);
	}
	fd_close(&c->fd);
	free(c->item);
	free(c->path);
	free(c);
}

bool cassette_adds(const struct cassette *c)
{
	return c && c->add;
}

/* --- asking ----------------------------------------------------------------------------------- */

static size_t same_length(const char *a, const char *b)
{
	size_t n = 0;
	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

static int cassette_miss(const struct cassette *c, const char *canonical, struct err *err)
{
	const struct entry *near = NULL;
	size_t best = 0;
	for (size_t i = 0; i < c->nr; i++) {
		size_t n = same_length(c->item[i].canonical, canonical);
		if (!near || n > best) {
			near = &c->item[i];
			best = n;
		}
	}
	if (!near)
		return err_set(err, ERR_NOENT, "the cassette '%s' is empty", c->path);
	size_t from = best > NEAR / 2 ? best - NEAR / 2 : 0;
	return err_set(
		err, ERR_NOENT,
		"the cassette '%s' doesn't contain this request; nearest recorded: ...%.*s... this "
		"one: ...%.*s...",
		c->path, (int)NEAR, near->canonical + from, (int)NEAR, canonical + from);
}

const json_t *cassette_find(struct cassette *c, const char *path, const char *body, size_t len,
			    struct err *err)
{
	CLEANUP(buf_release) struct buf canonical = BUF_INIT;
	struct entry *last = NULL;
	cassette_canonical(path, body, len, &canonical);
	CLEANUP(free_ptr) char *key = cassette_key_of(buf_cstr(&canonical));
	for (size_t i = 0; i < c->nr; i++) {
		if (strcmp(c->item[i].key, key) != 0)
			continue;
		last = &c->item[i];
		if (!last->given)
			break;
	}
	if (!last) {
		cassette_miss(c, buf_cstr(&canonical), err);
		return NULL;
	}
	last->given++;
	return last->body;
}

int cassette_add(struct cassette *c, const char *path, const char *body, size_t len, json_t *answer,
		 struct err *err)
{
	CLEANUP(buf_release) struct buf canonical = BUF_INIT;
	struct err none = ERR_INIT;
	json_t *line = json_object(), *request = json_parse(body, len, "request", &none);
	cassette_canonical(path, body, len, &canonical);
	CLEANUP(free_ptr) char *key = cassette_key_of(buf_cstr(&canonical));
	json_put_str(line, "key", key);
	json_put_str(line, "path", path);
	if (request)
		json_put(line, "request", request);
	else
		json_put_bytes(line, "request", body, len);
	json_object_update(line, answer);
	json_decref(answer);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_dump_buf(line, &text);
	buf_putc(&text, '\n');
	cassette_keep(c, line);
	c->item[c->nr - 1].given = 1;
	return fd_write_all(c->fd, text.data, text.len, err);
}
