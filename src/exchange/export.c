#include "exchange/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text/charset.h"
#include "base/text/json_stream.h"
#include "base/text/utf8.h"

static const struct exporter export_table[] = {
#define EXPORTER(fn, name, ext, where, one, about) { name, ext, about, where, one, export_##fn },
#include "exchange/exporters.def"
#undef EXPORTER
};

const struct exporter *exporter_at(size_t i)
{
	return i < ARRAY_LEN(export_table) ? &export_table[i] : NULL;
}

const struct exporter *exporter_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(export_table); i++)
		if (!strcmp(export_table[i].name, name))
			return &export_table[i];
	return NULL;
}

void export_lacks(struct export *x, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < x->nr_lacks && i < EXPORT_LACKS_MAX; i++)
		if (!strcmp(x->lacks[i], text))
			return;
	if (x->nr_lacks < EXPORT_LACKS_MAX)
		x->lacks[x->nr_lacks] = mem_strdup(text);
	x->nr_lacks++;
}

void export_release(struct export *x)
{
	for (size_t i = 0; i < x->nr_lacks && i < EXPORT_LACKS_MAX; i++)
		free(x->lacks[i]);
	x->nr_lacks = 0;
	free(x->picked);
	x->picked = NULL;
}

/* --- a part of it --- */

int export_pick(struct export *x, const struct filter *f, struct err *err)
{
	enum { PAGE = 4096 };
	size_t got = 0, cap = 0;
	uint64_t at = 0;
	do {
		uint64_t page[PAGE];
		if (filter_search(f, x->s, clock_wall_us(), at, PAGE, page, &got, err) < 0)
			return -1;
		for (size_t i = 0; i < got; i++) {
			GROW(x->picked, x->nr_picked, cap);
			x->picked[x->nr_picked++] = at = page[i];
		}
	} while (got == PAGE);
	if (!x->picked)
		x->picked = mem_calloc(1, sizeof(*x->picked));
	return 0;
}

static int export_by_number(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
	return (a > b) - (a < b);
}

static bool export_picked(const struct export *x, uint64_t seq)
{
	return seq && bsearch(&seq, x->picked, x->nr_picked, sizeof(seq), export_by_number);
}

bool export_wanted(const struct export *x, const struct event *ev)
{
	if (x->action && ev->action != x->action && ev->seq != x->action)
		return false;
	return !x->picked || export_picked(x, ev->seq) || export_picked(x, ev->action);
}

/* --- where it goes --- */

static bool writes_json(const struct exporter *e)
{
	static const char *const ext[] = { "json", "jsonl", "cast" };
	for (size_t i = 0; i < ARRAY_LEN(ext); i++)
		if (!strcmp(e->ext, ext[i]))
			return true;
	return false;
}

static int to_stream(const struct exporter *e, struct export *x, FILE *to, struct err *err)
{
	FILE *json = writes_json(e) ? json_stream_new(to) : NULL;
	x->out = json ? json : to;
	int rc = e->run(x, err);
	if (json && fclose(json) != 0 && rc == 0)
		rc = err_sys(err, "can't write");
	if (rc == 0)
		rc = export_flushed(to, err);
	x->out = NULL;
	return rc;
}

/* All of it first, so that a reader of our standard output never gets the beginning of something
 * that then fails. */
static int to_stdout(const struct exporter *e, struct export *x, FILE *stream, struct err *err)
{
	FILE *whole = tmpfile();
	char bytes[65536];
	size_t n;
	if (!whole)
		return err_sys(err, "can't create a temporary file");
	int rc = to_stream(e, x, whole, err);
	rewind(whole);
	while (rc == 0 && (n = fread(bytes, 1, sizeof(bytes), whole)) > 0)
		if (fwrite(bytes, 1, n, stream) != n)
			rc = err_sys(err, "can't write");
	if (rc == 0)
		rc = export_flushed(stream, err);
	fclose(whole);
	return rc;
}

static int into_file(const struct exporter *e, struct export *x, const char *tmp, struct err *err)
{
	if (e->where != EXPORT_STREAM) {
		x->path = tmp;
		int rc = e->run(x, err);
		x->path = NULL;
		return rc;
	}
	FILE *f = fopen(tmp, "wxe");
	if (!f)
		return err_sys(err, "can't write '%s'", tmp);
	int rc = to_stream(e, x, f, err);
	if (rc == 0 && fsync(fileno(f)) < 0 && errno != EINVAL)
		rc = err_sys(err, "can't write '%s'", tmp);
	if (fclose(f) != 0 && rc == 0)
		rc = err_sys(err, "can't write '%s'", tmp);
	return rc;
}

int export_to(const struct exporter *e, struct export *x, const char *path, FILE *stream,
	      struct err *err)
{
	uint8_t chance[6];
	CLEANUP(buf_release) struct buf tmp = BUF_INIT;
	if (!path)
		return to_stdout(e, x, stream, err);
	if (e->where == EXPORT_FOLDER && access(path, F_OK) == 0)
		return err_set(err, ERR_EXISTS, "'%s' exists\nName a directory that doesn't exist.",
			       path);
	random_bytes(chance, sizeof(chance));
	buf_printf(&tmp, "%s.part-", path);
	hex_append(&tmp, chance, sizeof(chance));
	int rc = into_file(e, x, buf_cstr(&tmp), err);
	if (rc == 0 && rename(buf_cstr(&tmp), path) < 0)
		rc = err_sys(err, "can't write '%s'", path);
	struct err none = ERR_INIT;
	if (rc < 0 && dir_remove(buf_cstr(&tmp), &none) < 0)
		unlink(buf_cstr(&tmp));
	return rc;
}

/* --- JSON --- */

void export_json(FILE *out, json_t *j)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_dump_buf(j, &text);
	json_decref(j);
	fwrite(buf_cstr(&text), 1, text.len, out);
}

json_t *json_text(const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf good = BUF_INIT;
	json_t *j = memchr(text ? text : "", 0, len) ? NULL : json_stringn(text ? text : "", len);
	if (j)
		return j;
	text_to_utf8(text, len, NULL, &good);
	return json_stringn(buf_cstr(&good), good.len);
}

void export_json_text(FILE *out, const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	json_t *j = json_text(text, len), *list = json_array();
	json_array_append_new(list, j);
	json_dump_buf(list, &line);
	json_decref(list);
	fwrite(line.data + 1, 1, line.len - 2, out);
}

json_t *json_time(int64_t wall_us)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	clock_rfc3339(wall_us, &text);
	return json_string(buf_cstr(&text));
}

int export_flushed(FILE *out, struct err *err)
{
	if (fflush(out) != 0 || ferror(out))
		return err_sys(err, "can't write the export");
	return 0;
}

/* The body of event 1; {} when it was redacted. New reference. */
static json_t *export_start(struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	json_t *body = NULL;
	if (session_event(s, 1, &ev, &arena, &none) == 0 && ev.body)
		body = json_parse(ev.body, ev.len, "session.start", &none);
	arena_release(&arena);
	return body ? body : json_object();
}

void export_uuid(struct session *s, char out[33])
{
	json_t *start = export_start(s);
	const char *uuid = json_str(start, "uuid", "");
	snprintf(out, 33, "%s", strlen(uuid) == 32 ? uuid : "00000000000000000000000000000001");
	json_decref(start);
}

void export_cost(const json_t *evidence, struct buf *out)
{
	bool unknown = json_flag(evidence, "cost_unknown", true);
	int64_t uusd = json_int(evidence, "cost_uusd", 0);
	if (unknown && !uusd)
		buf_puts(out, "unknown: no price is known");
	else
		buf_printf(out, "%s$%" PRId64 ".%06" PRId64 "%s", unknown ? "at least " : "",
			   uusd / 1000000, uusd % 1000000,
			   unknown ? "; some calls or sandboxes have no known price" : "");
}
