#include "catalog/verdicts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { VERDICTS_BYTES = 16 << 20, VERDICTS_MOST = 100000 };

struct verdict {
	char id[24], word[16];
	int64_t size, mtime_us;
};
struct verdicts {
	struct verdict *item; /* by id */
	size_t nr, cap;
};

static bool verdict_parse(const char *line, struct verdict *out)
{
	char end;
	return sscanf(line, "%23s %" SCNd64 " %" SCNd64 " %15s%c", out->id, &out->size,
		      &out->mtime_us, out->word, &end) == 4;
}

static int verdict_order(const void *a, const void *b)
{
	return strcmp(((const struct verdict *)a)->id, ((const struct verdict *)b)->id);
}

struct verdicts *verdicts_open(void)
{
	struct verdicts *v = NEW(struct verdicts);
	struct err none = ERR_INIT;
	CLEANUP(free_ptr) char *path = paths_state("verified");
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read(path, &text, VERDICTS_BYTES, &none) < 0)
		return v;
	char *save = NULL;
	for (char *line = strtok_r((char *)(uintptr_t)buf_cstr(&text), "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		GROW(v->item, v->nr, v->cap);
		if (verdict_parse(line, &v->item[v->nr]))
			v->nr++;
	}
	if (v->nr)
		qsort(v->item, v->nr, sizeof(*v->item), verdict_order);
	return v;
}

void verdicts_close(struct verdicts **v)
{
	struct verdicts *old = take(v);
	if (!old)
		return;
	free(old->item);
	free(old);
}

const char *verdicts_find(const struct verdicts *v, const struct session_file *f)
{
	struct verdict key;
	if (!v->nr)
		return NULL;
	snprintf(key.id, sizeof(key.id), "%s", f->id);
	const struct verdict *at = bsearch(&key, v->item, v->nr, sizeof(*v->item), verdict_order);
	return at && at->size == f->size && at->mtime_us == f->mtime_us ? at->word : NULL;
}

static void verdict_line(struct buf *out, const struct verdict *v)
{
	buf_printf(out, "%s %" PRId64 " %" PRId64 " %s\n", v->id, v->size, v->mtime_us, v->word);
}

static int verdicts_replace(const char *path, const struct verdict *new, struct err *err)
{
	struct verdicts *old = verdicts_open();
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	for (size_t i = old->nr > VERDICTS_MOST ? old->nr - VERDICTS_MOST : 0; i < old->nr; i++)
		if (strcmp(old->item[i].id, new->id) != 0)
			verdict_line(&text, &old->item[i]);
	verdict_line(&text, new);
	verdicts_close(&old);
	return file_write_renamed(path, text.data, text.len, 0600, err);
}

int verdicts_note(const char *path, const char *word, struct err *err)
{
	struct session_file f = { .path = (char *)(uintptr_t)path };
	struct verdict v = { 0 };
	const char *slash = strrchr(path, '/');
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(free_ptr) char *id = NULL;
	CLEANUP(free_ptr) char *dir = paths_state("");
	CLEANUP(free_ptr) char *to = paths_state("verified");
	CLEANUP(free_ptr) char *lock = paths_state("verified.lock");
	if (!session_file_name(slash ? slash + 1 : path, &name, &id))
		return 0; /* lists don't show it */
	session_file_look(&f, AT_FDCWD, path);
	snprintf(v.id, sizeof(v.id), "%s", id);
	snprintf(v.word, sizeof(v.word), "%s", word);
	v.size = f.size;
	v.mtime_us = f.mtime_us;
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	CLEANUP(fd_close) int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(err, "can't lock '%s'", lock);
	return verdicts_replace(to, &v, err);
}
