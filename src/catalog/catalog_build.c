/* Writing the shards that are missing, in two processes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalog/catalog_priv.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

/* A shard with fewer sessions that are as it knows them is replaced. */
enum { CATALOG_FULL = SHARD_SESSIONS * 3 / 4, CATALOG_BUILDERS = 2 };

struct catalog_build {
	const char *place;
	struct session_files files;
	const struct session_file **due; /* oldest first; owned */
	size_t nr, fresh;		 /* fresh: not in any shard */
	bool *replaced;			 /* of each shard of the catalog; owned */
};

/* How many sessions of each shard are as it knows them. */
static size_t *catalog_build_count(const struct catalog *c, const struct session_files *files)
{
	size_t *count = mem_calloc(c->nr + 1, sizeof(*count)), k;
	for (size_t i = 0; i < files->nr; i++)
		if (catalog_known(c, &files->item[i], &k))
			count[k]++;
	return count;
}

static void catalog_build_plan(struct catalog_build *b, const struct catalog *c)
{
	size_t *count = catalog_build_count(c, &b->files);
	b->replaced = mem_calloc(c->nr + 1, sizeof(*b->replaced));
	b->due = mem_calloc(b->files.nr + 1, sizeof(*b->due));
	for (size_t k = 0; k < c->nr; k++)
		b->replaced[k] = count[k] < CATALOG_FULL;
	for (size_t i = b->files.nr; i-- > 0;) {
		const struct session_file *f = &b->files.item[i];
		size_t k = c->nr;
		bool known = catalog_known(c, f, &k) != NULL;
		b->fresh += !known && catalog_settled(f);
		if (catalog_settled(f) && (!known || b->replaced[k]))
			b->due[b->nr++] = f;
	}
	free(count);
}

/* A redaction or removal changes the session file first and then looks for shards: under the lock,
 * either we see its change or it sees our shard. */
static int catalog_build_publish(const struct catalog_build *b, size_t from, size_t to,
				 struct shard_maker *m, struct err *err)
{
	uint8_t random[8];
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	random_bytes(random, sizeof(random));
	hex_append(&name, random, sizeof(random));
	CLEANUP(free_ptr)
	char *path = mem_printf("%s/%s.shard", b->place, buf_cstr(&name)),
	     *draft = mem_printf("%s.draft", path);
	if (shard_maker_write(m, draft, err) < 0)
		return -1;
	int lock = catalog_lock(b->place), rc = 0;
	for (size_t i = from; i < to; i++) {
		struct session_file now = *b->due[i];
		session_file_look(&now, AT_FDCWD, now.path);
		if (now.size != b->due[i]->size || now.mtime_us != b->due[i]->mtime_us)
			rc = err_set(err, ERR_BUSY, "a session was changed");
	}
	if (rc == 0 && rename(draft, path) < 0)
		rc = errno == ENOENT /* a redaction has removed the draft */
			     ? err_set(err, ERR_BUSY, "a session was changed")
			     : err_sys(err, "can't write '%s'", path);
	if (rc < 0)
		unlink(draft);
	if (lock >= 0)
		close(lock);
	return rc;
}

/* One session is done. At most PIPE_BUF bytes, so that the two builders' reports don't mix. */
struct catalog_report {
	size_t at; /* in due */
	bool added;
	char why[240];
};

static int catalog_build_report(int report, size_t at, const struct err *left_out)
{
	struct catalog_report r = { .at = at, .added = !left_out };
	if (left_out)
		snprintf(r.why, sizeof(r.why), "%s", left_out->text);
	/* a failure: the reader was interrupted */
	return write(report, &r, sizeof(r)) == (ssize_t)sizeof(r) ? 0 : -1;
}

static int catalog_build_one(const struct catalog_build *b, size_t from, size_t to, int report)
{
	struct shard_maker *m = shard_maker_new();
	struct err err = ERR_INIT;
	int rc = 0;
	for (size_t i = from; i < to && rc == 0; i++) {
		struct err left_out = ERR_INIT;
		const struct shard_session about = { .file = catalog_name(b->due[i]->path),
						     .size = b->due[i]->size,
						     .mtime_us = b->due[i]->mtime_us };
		bool added = catalog_add_session(m, b->due[i], &left_out) == 0;
		if (!added)
			shard_maker_leave(m, &about);
		rc = catalog_build_report(report, i, added ? NULL : &left_out);
	}
	if (rc == 0 && shard_maker_count(m))
		rc = catalog_build_publish(b, from, to, m, &err);
	if (rc < 0 && err.code == ERR_BUSY) /* the next build reads these sessions again */
		rc = 0;
	shard_maker_free(&m);
	return rc;
}

static NORETURN void catalog_build_child(const struct catalog_build *b, size_t which, int report)
{
	int status = 0;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* the pipe's end ends it */
	for (size_t from = which * SHARD_SESSIONS; from < b->nr && !status;
	     from += CATALOG_BUILDERS * SHARD_SESSIONS) {
		size_t to = from + SHARD_SESSIONS < b->nr ? from + SHARD_SESSIONS : b->nr;
		status = catalog_build_one(b, from, to, report) < 0;
	}
	_exit(status);
}

static bool catalog_build_watch(const struct catalog_build *b, int report, catalog_step_fn *fn,
				void *self, size_t *added)
{
	struct catalog_report r;
	size_t done = 0;
	bool continues = true;
	ssize_t n;
	while (continues && ((n = read(report, &r, sizeof(r))) == (ssize_t)sizeof(r) ||
			     (n < 0 && errno == EINTR))) {
		if (n < 0) {
			continues = fn(self, done, b->nr, NULL, NULL);
			continue;
		}
		*added += r.added;
		continues = fn(self, ++done, b->nr, catalog_name(b->due[r.at]->path),
			       r.added ? NULL : r.why);
	}
	return continues;
}

static int catalog_build_run(const struct catalog_build *b, catalog_step_fn *fn, void *self,
			     size_t *added, struct err *err)
{
	pid_t pid[CATALOG_BUILDERS];
	int report[2], failed = 0;
	if (pipe2(report, O_CLOEXEC) < 0)
		return err_sys(err, "can't build the catalog");
	fflush(NULL);
	for (size_t i = 0; i < CATALOG_BUILDERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			close(report[0]);
			catalog_build_child(b, i, report[1]);
		}
		failed += pid[i] < 0;
	}
	close(report[1]);
	bool whole = catalog_build_watch(b, report[0], fn, self, added);
	close(report[0]);
	for (size_t i = 0; i < CATALOG_BUILDERS; i++) {
		int status = 0;
		if (pid[i] > 0 && waitpid(pid[i], &status, 0) == pid[i])
			failed += status != 0;
	}
	if (!whole)
		return err_set(err, ERR_CANCELLED, "interrupted");
	return failed ? err_set(err, ERR_IO, "can't write the catalog in '%s'", b->place) : 0;
}

/* One builder at a time: two would read the same sessions. */
static int catalog_build_begin(const char *place, int *fd_out, struct err *err)
{
	CLEANUP(free_ptr) char *path = path_join(place, "building");
	*fd_out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (*fd_out < 0)
		return err_sys(err, "can't write '%s'", path);
	if (flock(*fd_out, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, ERR_BUSY, "another process builds the catalog");
	return 0;
}

/* Drafts of builders that were killed. */
static void catalog_build_tidy(const char *place)
{
	DIR *d = opendir(place);
	struct dirent *e;
	int lock = catalog_lock(place); /* a redaction may be writing one */
	while (d && (e = readdir(d))) {
		CLEANUP(free_ptr) char *path = path_join(place, e->d_name);
		if (strstr(e->d_name, ".shard."))
			unlink(path);
	}
	if (d)
		closedir(d);
	if (lock >= 0)
		close(lock);
}

int catalog_build(const char *dir, size_t least, catalog_step_fn *fn, void *self, size_t *added_out,
		  struct err *err)
{
	CLEANUP(free_ptr) char *place = catalog_place(dir);
	struct catalog_build b = { .place = place, .files = SESSION_FILES_INIT };
	struct catalog *c = catalog_open(dir);
	int rc = session_files_list(&b.files, dir, err);
	*added_out = 0;
	catalog_doubt(c);
	if (rc == 0)
		catalog_build_plan(&b, c);
	bool wanted = rc == 0 && ((b.fresh && b.fresh >= least) || catalog_damaged(c));
	int busy = -1;
	if (wanted)
		rc = dir_make(place, 0700, err);
	if (wanted && rc == 0)
		rc = catalog_build_begin(place, &busy, err);
	if (wanted && rc == 0)
		catalog_build_tidy(place);
	if (wanted && rc == 0)
		rc = catalog_build_run(&b, fn, self, added_out, err);
	for (size_t k = 0; wanted && rc == 0 && k < c->nr; k++)
		if (b.replaced[k])
			unlink(c->shard[k].path);
	for (size_t k = 0; wanted && rc == 0 && k < c->odd.nr; k++)
		unlink(c->odd.item[k]);
	fd_close(&busy);
	free(b.due);
	free(b.replaced);
	session_files_release(&b.files);
	catalog_close(&c);
	return rc;
}
