#include "sessions/merge_intent.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

enum { INTENT_MAX = 1 << 20, INTENT_WAIT_S = 30, INTENT_TICK_US = 20000 };

static char *intents_dir(void)
{
	return paths_state("merging");
}

/* --- the merge's side --- */

/* Renamed when it is complete and locked: a reader sees no half of it, and no file of a merge that
 * runs without its lock. */
static int intent_store(struct merge_intent *i, const char *dir, const char *text, size_t len,
			struct err *err)
{
	CLEANUP(free_ptr) char *made = mem_printf("%s.new", i->path);
	i->fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (i->fd < 0 || flock(i->fd, LOCK_EX | LOCK_NB) < 0)
		return err_sys(err, "can't write '%s'", made);
	if (fd_write_all(i->fd, text, len, err) < 0)
		return -1;
	if (fsync(i->fd) < 0 || rename(made, i->path) < 0)
		return err_sys(err, "can't write '%s'", made);
	CLEANUP(fd_close) int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return at < 0 || fsync(at) < 0 ? err_sys(err, "can't write '%s'", dir) : 0;
}

int merge_intent_write(struct merge_intent *i, const char *session, json_t *merges, struct err *err)
{
	CLEANUP(free_ptr) char *dir = intents_dir();
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(json_release) json_t *o = json_object();
	*i = MERGE_INTENT_INIT;
	i->path = mem_printf("%s/%s.%s", dir, session,
			     json_str(json_array_get(merges, 0), "merge", ""));
	json_put_str(o, "session", session);
	json_put(o, "merges", merges);
	json_dump_buf(o, &text);
	if (dir_make(dir, 0700, err) < 0 || intent_store(i, dir, text.data, text.len, err) < 0) {
		merge_intent_remove(i);
		return err_wrap(err, "merge");
	}
	return 0;
}

void merge_intent_remove(struct merge_intent *i)
{
	if (i->path)
		(void)unlink(i->path); /* one that stays names merges that are recorded */
	merge_intent_release(i);
}

void merge_intent_release(struct merge_intent *i)
{
	fd_close(&i->fd);
	free(i->path);
	*i = MERGE_INTENT_INIT;
}

/* --- the next command's side --- */

/* Paths of the intents of @session, sorted. */
static void intents_of(const char *session, struct strv *out)
{
	CLEANUP(free_ptr) char *dir = intents_dir();
	size_t len = strlen(session);
	DIR *d = opendir(dir);
	for (struct dirent *e; d && (e = readdir(d));)
		if (!strncmp(e->d_name, session, len) && e->d_name[len] == '.' &&
		    !strchr(e->d_name + len + 1, '.')) {
			CLEANUP(free_ptr) char *path = path_join(dir, e->d_name);
			strv_push(out, path);
		}
	if (d)
		closedir(d);
}

static bool intent_held(const char *path)
{
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

json_t *merge_intents_left(const char *session)
{
	CLEANUP(strv_release) struct strv path = STRV_INIT;
	json_t *list = json_array();
	intents_of(session, &path);
	for (size_t i = 0; i < path.nr; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct err none = ERR_INIT;
		if (intent_held(path.item[i]) ||
		    file_read(path.item[i], &text, INTENT_MAX, &none) < 0)
			continue;
		json_t *o = json_parse(buf_cstr(&text), text.len, "the intent of a merge", &none);
		json_put_bytes(o, "file", path.item[i], strlen(path.item[i]));
		if (o)
			json_array_append_new(list, o);
	}
	return list;
}

int merge_intents_wait(const char *session, struct err *err)
{
	int64_t until = clock_mono_us() + (int64_t)INTENT_WAIT_S * 1000000;
	for (bool held = true; held;) {
		CLEANUP(strv_release) struct strv path = STRV_INIT;
		intents_of(session, &path);
		held = false;
		for (size_t i = 0; i < path.nr; i++)
			held |= intent_held(path.item[i]);
		if (held && clock_mono_us() > until)
			return err_set(err, ERR_BUSY,
				       "another merge of session %s is running\nTry again later.",
				       session);
		if (held)
			usleep(INTENT_TICK_US);
	}
	return 0;
}

void merge_intent_settled(const json_t *intent)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (json_get_bytes(json_object_get(intent, "file"), &path))
		(void)unlink(buf_cstr(&path));
}
