/* sandglass archive: moves finished sessions into a directory by date, and back. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "cli/choice_options.h"
#include "cli/lib/cmd_priv.h"
#include "record/archive_reach.h"
#include "record/read/lease.h"
#include "record/record.h"
#include "sessions/archive.h"
#include "sessions/archive_places.h"
#include "sessions/sessions.h"
#include "sessions/unmerged.h"

enum { DRAFT_OLD = 24 * 3600 /* seconds */ };

struct archiving {
	struct cmd_ctx *ctx;
	struct session_files files;
	struct archive_log log;
	char *root; /* owned; where to: an archive, or with --restore the sessions directory */
	struct strv libraries; /* archives whose texts are in the sessions directory by now */
	int lock;
	bool restore, dry, force;
	size_t moved, refused;
	int64_t bytes;
};

/* @err names the session. */
static void archive_refuse(struct archiving *a, const struct session_file *f, const struct err *err)
{
	a->refused++;
	cmd_tell_error(a->ctx, NULL, err);
	if (!a->ctx->json)
		return;
	json_t *o = json_object();
	json_put_str(o, "session", f->id);
	json_put_str(o, "name", f->name);
	json_put_str(o, "done", "refused");
	json_put_str(o, "why", err->text);
	if (*err->hint)
		json_put_str(o, "hint", err->hint);
	cmd_json(a->ctx, o);
}

static int archive_check_work(const struct session_file *f, bool interrupted, struct err *err)
{
	size_t work = 0;
	if (interrupted)
		return err_set(err, ERR_INVALID,
			       "session %s was interrupted: 'sandglass resume %s' continues it\n"
			       "--force archives it as it is.",
			       f->id, f->id);
	if (!unmerged_in_file(f->path, &work))
		return err_set(err, ERR_INVALID,
			       "session %s: can't tell whether it has unmerged work\n"
			       "--force archives it as it is.",
			       f->id);
	return work ? err_set(err, ERR_INVALID,
			      "session %s has unmerged work: 'sandglass merge %s' merges it\n"
			      "--force archives it as it is.",
			      f->id, f->id)
		    : 0;
}

/* Whether the session may be moved. */
static int archive_check(const struct archiving *a, const struct session_file *f, struct err *err)
{
	struct session *s = NULL;
	if (lease_busy(f->path))
		return err_set(err, ERR_BUSY,
			       "session %s is running\n'sandglass stop -S %s' ends it.", f->id,
			       f->id);
	if (a->force || a->restore)
		return 0;
	if (session_open(&s, f->path, err) < 0)
		return err_wrap(err, "session %s", f->id);
	bool off = session_broken_off(s);
	session_close(&s);
	return archive_check_work(f, off, err);
}

static void archive_print(struct archiving *a, const struct session_file *f, const char *done,
			  const char *to, int64_t bytes)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT;
	if (a->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", f->id);
		json_put_str(o, "name", f->name);
		json_put_str(o, "done", done);
		json_put_str(o, "file", to);
		json_put_int(o, "size_bytes", bytes);
		cmd_json(a->ctx, o);
		return;
	}
	cmd_size((uint64_t)bytes, &size);
	fprintf(a->ctx->out, "%s %s  %s  ", done, f->id, buf_cstr(&size));
	cmd_print_safe(a->ctx->out, to, strlen(to), false);
	fputc('\n', a->ctx->out);
}

/* The move ends with the log and the note of the writer removed: they are no longer needed only if
 * they say that nothing is missing. */
static int archive_whole(const struct session_file *f, const struct lease_note *was,
			 struct err *err)
{
	char torn[160];
	if (resume_check(f->path, was, torn, sizeof(torn), err) < 0)
		return -1;
	return *torn ? err_set(err, ERR_DAMAGED,
			       "%s\n'sandglass resume %s' continues it and records this.", torn,
			       f->id)
		     : 0;
}

/* Nobody begins to write the session meanwhile. */
static int archive_move_leased(struct archiving *a, const struct session_file *f, const char *to,
			       struct err *err)
{
	CLEANUP(free_ptr) char *companion = mem_printf("%s-lease", f->path);
	bool ours = access(companion, F_OK) < 0;
	struct lease_note was;
	CLEANUP(fd_close) int lease = lease_take(f->path, &was, err);
	if (lease < 0)
		return -1;
	int rc = a->restore ? 0 : archive_whole(f, &was, err);
	if (rc == 0)
		rc = archive_move(f->path, to, &a->log, err);
	if (rc < 0 && ours)
		unlink(companion);
	return rc;
}

/* Brings the texts that the restored session may need (luahost/library_kept.h). */
static int archive_bring_library(struct archiving *a, const struct session_file *f, struct err *err)
{
	CLEANUP(free_ptr) char *top = archive_top(f->path);
	for (size_t i = 0; i < a->libraries.nr; i++)
		if (!strcmp(a->libraries.item[i], top))
			return 0;
	if (archive_library(top, a->root, err) < 0)
		return -1;
	strv_push(&a->libraries, top);
	return 0;
}

static void archive_one(struct archiving *a, const struct session_file *f)
{
	const char *name = strrchr(f->path, '/');
	struct err err = ERR_INIT;
	struct stat st;
	if (!f->mtime_us)
		return;
	if (archive_check(a, f, &err) < 0) {
		archive_refuse(a, f, &err);
		return;
	}
	CLEANUP(free_ptr)
	char *to = a->restore ? path_join(a->root, name ? name + 1 : f->path)
			      : archive_path(a->root, f->path);
	if (a->dry) {
		archive_print(a, f, a->restore ? "would restore" : "would archive", to, f->size);
		return;
	}
	if ((a->restore && archive_bring_library(a, f, &err) < 0) ||
	    archive_move_leased(a, f, to, &err) < 0) {
		err_wrap(&err, "session %s", f->id);
		archive_refuse(a, f, &err);
		return;
	}
	int64_t bytes = stat(to, &st) == 0 ? st.st_size : 0;
	archive_print(a, f, a->restore ? "restored" : "archived", to, bytes);
	a->moved++;
	a->bytes += bytes;
}

static int archive_named(struct archiving *a, const char *text, struct err *err)
{
	CLEANUP(free_ptr) char *path = NULL;
	if (session_find(a->ctx->sessions, text, &path, err) < 0)
		return -1;
	for (size_t i = 0; i < a->files.nr; i++) {
		const struct session_file *f = &a->files.item[i];
		if (strcmp(f->path, path) != 0)
			continue;
		if (f->archived == a->restore) {
			archive_one(a, f);
			return 0;
		}
		struct err why = ERR_INIT;
		err_set(&why, ERR_EXISTS, "session %s is %s", f->id,
			f->archived ? "in an archive already" : "not in an archive");
		archive_refuse(a, f, &why);
		return 0;
	}
	return err_set(err, ERR_USAGE, "'%s' is not in the sessions directory '%s' or its archives",
		       path, a->ctx->sessions);
}

static int archive_chosen(struct archiving *a, struct err *err)
{
	const char *span = cmd_opt(a->ctx, "older-than");
	int64_t age_us = 0, now = clock_wall_us();
	bool many = span || cmd_has(a->ctx, "label");
	struct session_choice choice;
	if (span && !clock_parse_span(span, &age_us))
		return err_set(err, ERR_USAGE, "--older-than: expected a time like 30d, got '%s'",
			       span);
	if (session_choice_read(a->ctx, &choice, err) < 0)
		return -1;
	choice.sure = true;
	if (cmd_word(a->ctx, 0) && cmd_has(a->ctx, "label"))
		return err_set(err, ERR_USAGE, "expected sessions or --label, got both");
	for (size_t i = 0; cmd_word(a->ctx, i); i++)
		if (archive_named(a, cmd_word(a->ctx, i), err) < 0)
			return -1;
	struct catalog *c = catalog_open(a->ctx->sessions);
	for (size_t i = 0; many && i < a->files.nr; i++)
		if (a->files.item[i].archived == a->restore &&
		    a->files.item[i].mtime_us < now - age_us &&
		    session_choice_takes(&choice, c, &a->files.item[i]))
			archive_one(a, &a->files.item[i]);
	catalog_close(&c);
	return 0;
}

/* The drafts of moves that were killed. One whose session is elsewhere may be in use, unless it is
 * old. */
static int archive_sweep_day(void *self, const char *day, struct err *err)
{
	static const char suffix[] = ".glass-pack";
	const struct archiving *a = self;
	DIR *d = opendir(day);
	struct dirent *e;
	struct stat st;
	int rc = 0;
	while (d && (e = readdir(d))) {
		size_t len = strlen(e->d_name), end = sizeof(suffix) - 1;
		if (len <= end || strcmp(e->d_name + len - end, suffix) != 0)
			continue;
		CLEANUP(free_ptr) char *draft = path_join(day, e->d_name);
		CLEANUP(free_ptr) char *own = path_join(a->ctx->sessions, e->d_name);
		own[strlen(own) - strlen("-pack")] = 0;
		bool ours = access(own, F_OK) == 0;
		if (stat(draft, &st) < 0 || (ours && lease_busy(own)) ||
		    (!ours && st.st_ctime > time(NULL) - DRAFT_OLD))
			continue;
		if (unlink(draft) < 0 && errno != ENOENT)
			rc = err_sys(err, "can't remove '%s'", draft);
	}
	if (d)
		closedir(d);
	return rc;
}

/* Two runs at the same time would list the same sessions. */
static int archive_wait_turn(struct archiving *a, struct err *err)
{
	struct err busy = ERR_INIT;
	if (access(a->ctx->sessions, F_OK) < 0) /* it holds no session */
		return 0;
	a->lock = archive_lock(a->ctx->sessions, false, &busy);
	if (a->lock >= 0)
		return 0;
	if (busy.code == ERR_BUSY && !a->ctx->quiet)
		fprintf(a->ctx->err, "sandglass: archive: waiting for another 'archive' to end\n");
	a->lock = archive_lock(a->ctx->sessions, true, err);
	return a->lock < 0 ? -1 : 0;
}

/* Makes the archive known before anything is in it. */
static int archive_begin(struct archiving *a, struct err *err)
{
	const char *to = cmd_opt(a->ctx, "output");
	if (!a->dry && archive_wait_turn(a, err) < 0)
		return -1;
	if (a->restore) {
		a->root = mem_strdup(a->ctx->sessions);
		return 0;
	}
	a->root = to ? mem_strdup(to) : path_join(a->ctx->sessions, "archive");
	if (a->dry)
		return 0;
	if (archive_use(a->ctx->sessions, a->root, err) < 0 ||
	    archive_library(a->ctx->sessions, a->root, err) < 0)
		return -1;
	char *real = realpath(a->root, NULL);
	if (!real)
		return err_sys(err, "can't find '%s'", a->root);
	free(a->root);
	a->root = real;
	return archive_days(a->root, archive_sweep_day, a, err);
}

static int archive_list(struct cmd_ctx *ctx)
{
	CLEANUP(strv_release) struct strv places = STRV_INIT;
	archive_places(ctx->sessions, &places);
	for (size_t i = 0; i < places.nr; i++) {
		struct err none = ERR_INIT;
		bool there = archive_reach(places.item[i], &none) == 0;
		if (ctx->json) {
			json_t *o = json_object();
			json_put_str(o, "archive", places.item[i]);
			json_put_flag(o, "there", there);
			cmd_json(ctx, o);
		} else {
			fprintf(ctx->out, "%s%s\n", places.item[i], there ? "" : "  (not found)");
		}
	}
	return EXIT_DONE;
}

/* A mistyped path must not become a new archive, as archive_use would make it. */
static int archive_use_existing(struct cmd_ctx *ctx, const char *archive, struct err *err)
{
	CLEANUP(fd_close) int fd = open(archive, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't open the archive '%s'", archive);
	return archive_use(ctx->sessions, archive, err);
}

int cmd_archive(struct cmd_ctx *ctx)
{
	struct archiving a = { .ctx = ctx,
			       .log = ARCHIVE_LOG_INIT,
			       .libraries = STRV_INIT,
			       .lock = -1,
			       .restore = cmd_has(ctx, "restore"),
			       .dry = cmd_has(ctx, "dry-run"),
			       .force = cmd_has(ctx, "force") };
	struct err err = ERR_INIT;
	bool some = cmd_word(ctx, 0) || cmd_has(ctx, "older-than") || cmd_has(ctx, "label");
	if (cmd_has(ctx, "list"))
		return archive_list(ctx);
	if (cmd_has(ctx, "use"))
		return archive_use_existing(ctx, cmd_opt(ctx, "use"), &err) < 0
			       ? cmd_fail(ctx, &err)
			       : EXIT_DONE;
	if (cmd_has(ctx, "forget"))
		return archive_unuse(ctx->sessions, cmd_opt(ctx, "forget"), &err) < 0
			       ? cmd_fail(ctx, &err)
			       : EXIT_DONE;
	if (!some)
		return cmd_usage(ctx, "missing argument: SESSION, --older-than, or --label");
	int rc = archive_begin(&a, &err);
	if (rc == 0)
		rc = session_files_list(&a.files, ctx->sessions, &err);
	if (rc == 0)
		rc = archive_chosen(&a, &err);
	int status = rc < 0 ? cmd_fail(ctx, &err) : a.refused ? EXIT_UNSUCCESSFUL : EXIT_DONE;
	if (rc == 0 && !a.dry && !a.moved && !a.refused && !ctx->quiet)
		fprintf(ctx->err, "sandglass: archive: nothing to move\n");
	archive_log_release(&a.log);
	strv_release(&a.libraries);
	fd_close(&a.lock);
	session_files_release(&a.files);
	free(a.root);
	return status;
}
