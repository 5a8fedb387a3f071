#include "sessions/sessions.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/archive_places.h"
#include "sessions/tombstone.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/share.h"
#include "control/socket.h"
#include "wire/event.h"

static const char sessions_suffix[] = ".glass";
enum { SUFFIX = sizeof(sessions_suffix) - 1, DATE = 11 /* "2026-11-21-" */ };

void session_files_release(struct session_files *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		free(f->item[i].path);
		free(f->item[i].id);
		free(f->item[i].name);
		free(f->item[i].shared_by);
	}
	free(f->item);
	*f = SESSION_FILES_INIT;
}

bool session_broken_off(struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	uint64_t head = session_head(s);
	bool off = head && !session_live(s) && session_event(s, head, &ev, &arena, &err) == 0 &&
		   ev.kind != EV_SESSION_END;
	arena_release(&arena);
	return off;
}

bool session_file_name(const char *file, char **name_out, char **id_out)
{
	size_t n = strlen(file);
	if (n < DATE + SUFFIX + 2 || strcmp(file + n - SUFFIX, sessions_suffix) != 0)
		return false;
	for (size_t i = 0; i < DATE; i++) {
		bool dash = i == 4 || i == 7 || i == 10;
		if (dash ? file[i] != '-' : file[i] < '0' || file[i] > '9')
			return false;
	}
	const char *end = file + n - SUFFIX, *dash = end;
	while (dash > file + DATE && dash[-1] != '-')
		dash--;
	if (dash == end || dash <= file + DATE)
		return false;
	*name_out = mem_strndup(file + DATE, (size_t)(dash - 1 - (file + DATE)));
	*id_out = mem_printf("s-%.*s", (int)(end - dash), dash);
	return true;
}

static int newer_first(const void *va, const void *vb)
{
	const struct session_file *a = va, *b = vb;
	if (a->mtime_us != b->mtime_us)
		return a->mtime_us < b->mtime_us ? 1 : -1;
	return strcmp(b->path, a->path);
}

void session_files_sort(struct session_files *f)
{
	if (f->nr)
		qsort(f->item, f->nr, sizeof(*f->item), newer_first);
}

static bool has_id(const struct session_files *f, const char *id)
{
	for (size_t i = 0; i < f->nr; i++)
		if (!strcmp(f->item[i].id, id))
			return true;
	return false;
}

void session_file_look(struct session_file *f, int dir, const char *name)
{
	struct stat st;
	f->mtime_us = f->size = 0;
	if (fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode)) {
		f->mtime_us = st.st_mtim.tv_sec * 1000000LL + st.st_mtim.tv_nsec / 1000;
		f->size = st.st_size;
	}
	/* new writes are in the log beside it */
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", name);
	if (fstatat(dir, wal, &st, 0) == 0) {
		int64_t us = st.st_mtim.tv_sec * 1000000LL + st.st_mtim.tv_nsec / 1000;
		f->mtime_us = us > f->mtime_us ? us : f->mtime_us;
		f->size += st.st_size;
	}
}

/* Of a session here and in an archive, only the one here counts: its move was interrupted, or the
 * file was copied. */
static int sessions_list_in(struct session_files *out, const char *dir, const char *instead,
			    struct err *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	if (!d)
		return errno == ENOENT
			       ? 0
			       : err_sys(err, "can't open the sessions directory '%s'", dir);
	while ((e = readdir(d))) {
		struct session_file f = { 0 };
		if (!session_file_name(e->d_name, &f.name, &f.id)) {
			size_t n = strlen(e->d_name);
			out->others +=
				n > SUFFIX && !strcmp(e->d_name + n - SUFFIX, sessions_suffix);
			continue;
		}
		CLEANUP(free_ptr) char *other = instead ? path_join(instead, e->d_name) : NULL;
		if (other && access(other, F_OK) == 0) {
			free(f.name);
			free(f.id);
			continue;
		}
		f.path = path_join(dir, e->d_name);
		f.archived = instead != NULL;
		session_file_look(&f, dirfd(d), e->d_name);
		GROW(out->item, out->nr, out->cap);
		out->item[out->nr++] = f;
	}
	closedir(d);
	return 0;
}

struct sessions_listing {
	struct session_files *out;
	const char *dir;
};

static int sessions_list_day(void *self, const char *day, struct err *err)
{
	const struct sessions_listing *l = self;
	return sessions_list_in(l->out, day, l->dir, err);
}

int session_files_list(struct session_files *out, const char *dir, struct err *err)
{
	CLEANUP(strv_release) struct strv places = STRV_INIT;
	struct sessions_listing l = { out, dir };
	if (sessions_list_in(out, dir, NULL, err) < 0 ||
	    archive_days(dir, sessions_list_day, &l, err) < 0)
		return -1;
	archive_places(dir, &places);
	for (size_t i = 0; i < places.nr; i++)
		if (archive_days(places.item[i], sessions_list_day, &l, err) < 0)
			return -1;
	session_files_sort(out);
	return 0;
}

void session_files_shared(struct session_files *out)
{
	CLEANUP(strv_release) struct strv paths = STRV_INIT;
	share_list(&paths);
	for (size_t i = 0; i < paths.nr; i++) {
		const char *slash = strrchr(paths.item[i], '/');
		struct session_file f = { 0 };
		struct stat st;
		if (!session_file_name(slash ? slash + 1 : paths.item[i], &f.name, &f.id))
			continue;
		/* there already: the listed directory belongs to the other user. An invalid id:
		 * an invented file name */
		if (has_id(out, f.id) ||
		    f.id[strspn(f.id, "-0123456789abcdefghijklmnopqrstuvwxyz")]) {
			free(f.name);
			free(f.id);
			continue;
		}
		if (stat(paths.item[i], &st) < 0) { /* it has just gone */
			free(f.name);
			free(f.id);
			continue;
		}
		f.path = mem_strdup(paths.item[i]);
		f.mtime_us = st.st_mtim.tv_sec * 1000000LL + st.st_mtim.tv_nsec / 1000;
		f.size = st.st_size;
		f.shared_by = share_user(st.st_uid);
		GROW(out->item, out->nr, out->cap);
		out->item[out->nr++] = f;
	}
}

/* --- what users type -------------------------------------------------------------------------
 */

struct match {
	const struct session_file *first;
	size_t nr;
	struct buf all; /* "s-7k2m9q (fix), s-7kabcd (docs)" */
};

static void add_match(struct match *m, const struct session_file *f)
{
	if (m->nr++ == 0)
		m->first = f;
	if (m->nr <= 6)
		buf_printf(&m->all, "%s%s (%s)", m->nr > 1 ? ", " : "", f->id, f->name);
	else if (m->nr == 7)
		buf_puts(&m->all, ", ...");
}

static int sessions_one_of(struct match *m, const char *text, char **path_out, struct err *err)
{
	int rc = 0;
	if (m->nr == 1)
		*path_out = mem_strdup(m->first->path);
	else
		rc = err_set(err, ERR_USAGE, "ambiguous session '%s': %s\nName one by its id.",
			     text, buf_cstr(&m->all));
	buf_release(&m->all);
	return rc;
}

static bool sessions_begins(const struct session_file *f, const char *text)
{
	size_t n = strlen(text);
	return n >= 2 && (!strncmp(f->id, text, n) || !strncmp(f->id + 2, text, n));
}

static bool sessions_same(const struct session_file *f, const char *text)
{
	return !strcmp(f->id, text) || !strcmp(f->id + 2, text);
}

static bool sessions_named(const struct session_file *f, const char *text)
{
	return !strcmp(f->name, text);
}

/* When it started; 0: unreadable. */
static int64_t session_started_us(const char *path)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s;
	struct err none = ERR_INIT;
	struct event ev = { 0 };
	if (session_open(&s, path, &none) < 0)
		return 0;
	int64_t us = session_event(s, 1, &ev, &a, &none) == 0 ? ev.ts_us : 0;
	session_close(&s);
	return us;
}

/* The session that started last. A label or a verification changes the time of an older file, so
 * that the files are sorted by another time; none started after its file's time. */
static const struct session_file *started_last(const struct session_files *files)
{
	const struct session_file *best = &files->item[0];
	int64_t best_us = 0;
	for (size_t i = 0; i < files->nr && files->item[i].mtime_us > best_us; i++) {
		int64_t us = session_started_us(files->item[i].path);
		if (us > best_us) {
			best = &files->item[i];
			best_us = us;
		}
	}
	return best;
}

static int by_default(const struct session_files *files, const char *dir, char **path_out,
		      struct err *err)
{
	struct strv live = STRV_INIT;
	struct err ignored = ERR_INIT;
	const struct session_file *running = NULL;
	size_t nr = 0;
	if (control_list(&live, &ignored) == 0)
		for (size_t i = 0; i < files->nr; i++)
			for (size_t j = 0; j < live.nr; j++)
				if (!strcmp(live.item[j], files->item[i].id) && nr++ == 0)
					running = &files->item[i];
	strv_release(&live);
	if (!files->nr)
		return err_set(err, ERR_NOENT,
			       "no sessions found in '%s'\nRecord one with 'sandglass demo'.", dir);
	const struct session_file *last = started_last(files), *taken = nr == 1 ? running : last;
	/* programs that name no session learn it only if it is not the newest */
	bool newest = taken == last, terminal = isatty(STDERR_FILENO);
	if (!newest || (terminal && files->nr > 1))
		fprintf(stderr, terminal ? "\x1b[2msession %s (%s)\x1b[m\n" : "session %s (%s)\n",
			taken->id, newest ? "newest" : "running");
	*path_out = mem_strdup(taken->path);
	return 0;
}

int session_find(const char *dir, const char *text, char **path_out, struct err *err)
{
	struct session_files files = SESSION_FILES_INIT;
	struct stat st;
	if (text &&
	    (strchr(text, '/') ||
	     (strlen(text) > SUFFIX && !strcmp(text + strlen(text) - SUFFIX, sessions_suffix)))) {
		/* a path is taken as it is, even if missing: opening reports it */
		*path_out = mem_strdup(text);
		return 0;
	}
	if (session_files_list(&files, dir, err) < 0)
		return -1;
	int rc = -1;
	if (!text) {
		rc = by_default(&files, dir, path_out, err);
	} else {
		static bool (*const ways[])(const struct session_file *,
					    const char *) = { sessions_same, sessions_begins,
							      sessions_named };
		struct match m = { 0 };
		/* ours, then shared ones */
		for (size_t from = 0, own = files.nr; from <= own && !m.nr; from += own ? own : 1) {
			if (from == own)
				session_files_shared(&files);
			for (size_t w = 0; w < ARRAY_LEN(ways) && !m.nr; w++)
				for (size_t i = from; i < files.nr; i++)
					if (ways[w](&files.item[i], text))
						add_match(&m, &files.item[i]);
		}
		if (m.nr)
			rc = sessions_one_of(&m, text, path_out, err);
		else if (stat(text, &st) == 0)
			rc = (*path_out = mem_strdup(text), 0);
		else if (!tombstone_find(dir, text, err))
			err_set(err, ERR_NOENT,
				"session '%s' not found in '%s'\n'sandglass ls' lists the sessions.",
				text, dir);
	}
	session_files_release(&files);
	return rc;
}

static bool sessions_number(const char *s, uint64_t *out)
{
	char *end;
	if (*s < '1' || *s > '9')
		return false;
	errno = 0;
	unsigned long long v = strtoull(s, &end, 10);
	if (*end || errno || v > INT64_MAX)
		return false;
	*out = v;
	return true;
}

int session_ref(const char *dir, const char *text, char **path_out, uint64_t *seq_out,
		struct err *err)
{
	uint64_t seq = 0;
	const char *hash = text ? strrchr(text, '#') : NULL;
	if (text && sessions_number(text, &seq)) {
		if (session_find(dir, NULL, path_out, err) < 0)
			return -1;
	} else if (hash && sessions_number(hash + 1, &seq)) {
		CLEANUP(free_ptr) char *session = mem_strndup(text, (size_t)(hash - text));
		if (session_find(dir, *session ? session : NULL, path_out, err) < 0)
			return -1;
	} else if (hash && hash[1] && !strchr(text, '/')) {
		return err_set(err, ERR_USAGE, "expected an event number, got '%s'", hash);
	} else if (session_find(dir, text, path_out, err) < 0) {
		return -1;
	}
	*seq_out = seq;
	return 0;
}

int session_open_ref(struct cmd_ctx *ctx, const char *text, struct session **out, uint64_t *seq_out,
		     struct err *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	if (session_ref(ctx->sessions, text, &path, seq_out, err) < 0)
		return -1;
	if (session_open(out, path, err) < 0)
		return -1;
	uint64_t head = session_head(*out);
	if (*seq_out > head) {
		err_set(err, ERR_NOENT,
			"session '%s' has no event #%" PRIu64 "; the last is #%" PRIu64,
			session_id(*out), *seq_out, head);
		session_close(out);
		return -1;
	}
	return 0;
}
