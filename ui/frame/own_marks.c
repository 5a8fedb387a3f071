#include "ui/frame/own_marks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/paths.h"

enum { FILE_MAX = 4 << 20, ID_MAX = 64 };

static bool own_marks_is_key(const char *key)
{
	return *key && isalnum((unsigned char)*key) && !key[1];
}

char *own_marks_path(const char *folder, const char *id)
{
	size_t len = strlen(id);
	if (len == 0 || len > ID_MAX)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)id[i]) && id[i] != '-' && id[i] != '_')
			return NULL;
	return mem_printf("%s/%s.jsonl", folder, id);
}

/* --- the list --------------------------------------------------------------------------------- */

static void own_marks_drop(struct own_marks *m, size_t i)
{
	free(m->mark[i].text);
	memmove(&m->mark[i], &m->mark[i + 1], (m->nr - i - 1) * sizeof(*m->mark));
	m->nr--;
}

static size_t own_marks_place(const struct own_marks *m, uint64_t seq, char key)
{
	size_t i = 0;
	while (i < m->nr && (key ? m->mark[i].key != key : m->mark[i].key || m->mark[i].seq != seq))
		i++;
	return i;
}

static void own_marks_add(struct own_marks *m, uint64_t seq, char key, const char *text)
{
	size_t i = own_marks_place(m, seq, key);
	if (i < m->nr)
		own_marks_drop(m, i);
	GROW(m->mark, m->nr, m->cap);
	for (i = m->nr++; i > 0 && m->mark[i - 1].seq > seq; i--)
		m->mark[i] = m->mark[i - 1];
	m->mark[i] = (struct own_mark){ .seq = seq,
					.key = key,
					.text = mem_strndup(text, strnlen(text, OWN_MARK_TEXT)) };
}

/* --- the file --------------------------------------------------------------------------------- */

static void own_marks_take_line(struct own_marks *m, const char *line, size_t len)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *o = len ? json_parse(line, len, "mark", &err) : NULL;
	int64_t seq = json_int(o, "seq", 0);
	const char *key = json_str(o, "key", "");
	if (seq > 0 && m->nr < OWN_MARKS_MAX && (!*key || own_marks_is_key(key)))
		own_marks_add(m, (uint64_t)seq, *key, json_str(o, "text", ""));
}

static void own_marks_read_file(struct own_marks *m)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	if (!m->path || file_read(m->path, &text, FILE_MAX, &err) < 0)
		return;
	while (m->nr > 0)
		own_marks_drop(m, m->nr - 1);
	for (const char *p = buf_cstr(&text); *p; p += strcspn(p, "\n"), p += *p == '\n')
		own_marks_take_line(m, p, strcspn(p, "\n"));
}

static int own_marks_write_file(const struct own_marks *m, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!m->path)
		return 0;
	for (size_t i = 0; i < m->nr; i++) {
		CLEANUP(json_release) json_t *o = json_object();
		const char key[2] = { m->mark[i].key, 0 };
		json_put_int(o, "seq", (int64_t)m->mark[i].seq);
		if (*key)
			json_put_str(o, "key", key);
		if (*m->mark[i].text)
			json_put_str(o, "text", m->mark[i].text);
		json_dump_buf(o, &text);
		buf_putc(&text, '\n');
	}
	CLEANUP(free_ptr)
	char *folder = mem_strndup(m->path, (size_t)(strrchr(m->path, '/') - m->path));
	if (dir_make(folder, 0700, err) < 0)
		return -1;
	return file_write_atomic(m->path, buf_cstr(&text), text.len, 0600, err);
}

void own_marks_load(struct own_marks *m, char *path)
{
	*m = (struct own_marks){ .path = path };
	own_marks_read_file(m);
}

void own_marks_release(struct own_marks *m)
{
	while (m->nr > 0)
		own_marks_drop(m, m->nr - 1);
	free(m->mark);
	free(m->path);
	*m = (struct own_marks){ 0 };
}

/* Another console of the same user may have written there meanwhile. */
int own_marks_set(struct own_marks *m, uint64_t seq, char key, const char *text, struct err *err)
{
	own_marks_read_file(m);
	if (m->nr >= OWN_MARKS_MAX && own_marks_place(m, seq, key) == m->nr)
		return err_set(err, ERR_FULL, "at most %d bookmarks in a session", OWN_MARKS_MAX);
	own_marks_add(m, seq, key, text);
	return own_marks_write_file(m, err);
}

int own_marks_remove(struct own_marks *m, uint64_t seq, char key, struct err *err)
{
	own_marks_read_file(m);
	size_t i = own_marks_place(m, seq, key);
	if (i == m->nr)
		return err_set(err, ERR_NOENT, "you have no such bookmark");
	own_marks_drop(m, i);
	return own_marks_write_file(m, err);
}

const struct own_mark *own_marks_find(const struct own_marks *m, char key)
{
	size_t i = key ? own_marks_place(m, 0, key) : m->nr;
	return i < m->nr ? &m->mark[i] : NULL;
}

uint64_t own_marks_next(const struct own_marks *m, uint64_t seq, int by)
{
	uint64_t found = 0;
	for (size_t i = 0; i < m->nr; i++) {
		if (by > 0 && m->mark[i].seq > seq)
			return m->mark[i].seq;
		if (by < 0 && m->mark[i].seq < seq)
			found = m->mark[i].seq;
	}
	return found;
}
