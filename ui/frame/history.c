/* What was typed before, shared between runs: one line each, a letter for the kind and the text. A
 * line that begins with a blank is not kept, nor is one that may hold a secret. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/paths.h"
#include "ui/frame/finder_priv.h"

enum { KEEP = 500, REWRITE = 1000, LINE_MOST = 2000 };

static void history_push(struct history *h, const char *line, size_t len)
{
	for (size_t i = h->nr; i-- > 0;) /* the newest place of a text counts */
		if (strlen(h->line[i]) == len && memcmp(h->line[i], line, len) == 0) {
			free(h->line[i]);
			memmove(&h->line[i], &h->line[i + 1], (--h->nr - i) * sizeof(*h->line));
		}
	GROW(h->line, h->nr, h->cap);
	h->line[h->nr++] = mem_strndup(line, len);
}

static void history_load(struct history *h)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT, out = BUF_INIT;
	size_t lines = 0;
	if (h->loaded || !h->path)
		return;
	h->loaded = true;
	if (file_read(h->path, &text, 4 << 20, &err) < 0)
		return;
	for (const char *p = buf_cstr(&text); *p; lines++) {
		size_t n = strcspn(p, "\n");
		if (n > 1 && n < LINE_MOST)
			history_push(h, p, n);
		p += n + (p[n] != 0);
	}
	if (lines < REWRITE)
		return;
	for (size_t i = h->nr > KEEP ? h->nr - KEEP : 0; i < h->nr; i++)
		buf_printf(&out, "%s\n", h->line[i]);
	if (file_write_atomic(h->path, out.data, out.len, 0600, &err) < 0)
		h->path[0] = 0; /* a history that cannot be written is kept in memory */
}

void history_file(struct ui *ui, const char *path)
{
	struct history *h = &ui->find->history;
	free(h->path);
	h->path = path ? mem_strdup(path) : NULL;
	h->loaded = false;
}

static bool may_keep(const char *text)
{
	static const char *const no[] = {
		"secret", "say ", "answer ", "input ", "token", "password"
	};
	if (*text == ' ' || strchr(text, '\n') || strlen(text) >= LINE_MOST)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(no); i++)
		if (strcasestr(text, no[i]))
			return false;
	return true;
}

void history_add(struct ui *ui, char kind, const char *text)
{
	struct history *h = &ui->find->history;
	struct err err = ERR_INIT;
	history_load(h);
	if (!may_keep(text))
		return;
	CLEANUP(free_ptr) char *line = mem_printf("%c%s", kind, text);
	history_push(h, line, strlen(line));
	if (!h->path || !*h->path)
		return;
	CLEANUP(free_ptr) char *dir = mem_strdup(h->path);
	char *slash = strrchr(dir, '/');
	if (slash) {
		*slash = 0;
		if (dir_make(dir, 0700, &err) < 0)
			return;
	}
	CLEANUP(fd_close)
	int fd = open(h->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	CLEANUP(free_ptr) char *out = mem_printf("%s\n", line);
	if (fd < 0 || fd_write_all(fd, out, strlen(out), &err) < 0)
		h->path[0] = 0; /* kept in memory from here on */
}

const char *history_get(struct ui *ui, char kind, size_t back)
{
	struct history *h = &ui->find->history;
	history_load(h);
	for (size_t i = h->nr; i-- > 0;)
		if (h->line[i][0] == kind && --back == 0)
			return h->line[i] + 1;
	return NULL;
}
