#include "exchange/import.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exchange/import_priv.h"
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
		rc = err_set(err, ERR_PARSE, "found nothing in the format %s%s", e->name,
			     im->sums->gaps ? ": every line is damaged" : "");
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
