#include "cli/front/front_browse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "action/gate.h"
#include "base/fd.h"
#include "base/mem.h"
#include "catalog/digest.h"
#include "catalog/verdicts.h"
#include "sessions/ask_all.h"
#include "control/socket.h"
#include "ui/term/foreground.h"

struct browse_row {
	const struct session_file *file;
	struct digest d;
	char *agents; /* owned */
	size_t waits;
	bool known;	  /* d is filled */
	int64_t begun_us; /* or when its file was written, the latest that it can be */
};
struct front_browse {
	struct browse ops;
	struct cmd_ctx *ctx;
	struct session_files files;
	struct catalog *catalog;
	struct verdicts *verdicts;
	struct browse_row *row; /* as the screen shows them */
	size_t nr;
	bool finished; /* asked once for what the catalog lacks */
	pid_t job;
	int job_fd;
	struct err failed;   /* of the last list */
	struct buf job_text; /* read, not given out yet */
};

/* --- rows ------------------------------------------------------------------------------------- */

static void browse_rows_release(struct front_browse *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		digest_release(&f->row[i].d);
		free(f->row[i].agents);
	}
	free(take(&f->row));
	f->nr = 0;
	session_files_release(&f->files);
}

/* What was read of a file that has not changed since stays. */
static void browse_row_carry(struct browse_row *to, struct browse_row *old, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (old[i].known && !old[i].d.live && strcmp(old[i].file->id, to->file->id) == 0 &&
		    old[i].file->size == to->file->size &&
		    old[i].file->mtime_us == to->file->mtime_us) {
			to->d = old[i].d;
			to->agents = take(&old[i].agents);
			to->known = true;
			old[i].d = (struct digest){ 0 };
			old[i].known = false;
			return;
		}
}

static bool browse_runs(const struct strv *ids, const char *id)
{
	for (size_t i = 0; i < ids->nr; i++)
		if (strcmp(ids->item[i], id) == 0)
			return true;
	return false;
}

static void browse_ask(struct front_browse *f, size_t live)
{
	struct asked *a = mem_calloc(live + 1, sizeof(*a));
	for (size_t i = 0; i < live; i++)
		a[i].file = f->row[i].file;
	ask_all(a, live);
	for (size_t i = 0; i < live; i++) {
		const json_t *state = json_object_get(a[i].welcome, "state");
		f->row[i].waits =
			gate_state_waits(state) + json_array_size(json_object_get(state, "asks"));
		json_decref(a[i].welcome);
	}
	free(a);
}

static int browse_newer(const void *a, const void *b)
{
	const struct browse_row *x = a, *y = b;
	int by_time = (x->begun_us < y->begun_us) - (x->begun_us > y->begun_us);
	return by_time ? by_time : (x->file > y->file) - (x->file < y->file);
}

enum { STARTS_MOST = 128 };  /* sessions outside the catalog whose start is read for the order */
enum { CARRIED_MOST = 400 }; /* rows that are not in the catalog and were looked at */

static size_t browse_list(void *self)
{
	struct front_browse *f = self;
	struct front_browse old = { .row = f->row, .nr = f->nr, .files = f->files };
	struct err none = ERR_INIT;
	CLEANUP(strv_release) struct strv ids = STRV_INIT;
	f->files = SESSION_FILES_INIT;
	verdicts_close(&f->verdicts);
	catalog_close(&f->catalog);
	f->verdicts = verdicts_open();
	f->catalog = catalog_open(f->ctx->sessions);
	f->failed = ERR_INIT;
	if (session_files_list(&f->files, f->ctx->sessions, &f->failed) < 0 ||
	    control_list(&ids, &none) < 0)
		none = ERR_INIT;
	if (!f->finished)
		catalog_finish_later(f->catalog, &f->files, f->ctx->sessions);
	f->finished = true;
	f->row = mem_calloc(f->files.nr + 1, sizeof(*f->row));
	f->nr = 0;
	size_t live = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < f->files.nr; i++)
			if (browse_runs(&ids, f->files.item[i].id) == (pass == 0)) {
				f->row[f->nr++].file = &f->files.item[i];
				live += pass == 0;
			}
	size_t looked = 0;
	for (size_t i = live; i < f->nr; i++) {
		const struct shard_session *in = catalog_find(f->catalog, f->row[i].file);
		f->row[i].begun_us = in ? in->begun_us : f->row[i].file->mtime_us;
		/* a merge or an undo writes to a session long after its start */
		if (!in && looked++ < STARTS_MOST)
			f->row[i].begun_us = digest_begun(f->catalog, f->row[i].file);
	}
	size_t known = 0;
	for (size_t i = 0; i < old.nr; i++) {
		struct browse_row row = old.row[i];
		if (!row.known) /* those that were looked at come first */
			continue;
		old.row[i] = old.row[known];
		old.row[known++] = row;
	}
	for (size_t i = live; i < f->nr && i < CARRIED_MOST; i++)
		browse_row_carry(&f->row[i], old.row, known);
	browse_rows_release(&old);
	for (size_t i = live; i < f->nr; i++)
		if (f->row[i].known)
			f->row[i].begun_us = f->row[i].d.begun_us;
	if (f->nr > live)
		qsort(f->row + live, f->nr - live, sizeof(*f->row), browse_newer);
	if (live)
		browse_ask(f, live);
	return f->nr;
}

static const char *browse_failure(void *self)
{
	const struct front_browse *f = self;
	return f->failed.code == ERR_NONE ? NULL : f->failed.text;
}

static void browse_at(void *self, size_t i, struct browsed *out)
{
	struct front_browse *f = self;
	struct browse_row *r = &f->row[i];
	if (!r->known) {
		CLEANUP(buf_release) struct buf names = BUF_INIT;
		digest_of(&r->d, f->catalog, r->file);
		digest_agents(&r->d, &names);
		r->agents = mem_strdup(buf_cstr(&names));
		r->known = true;
	}
	*out = (struct browsed){ .id = r->file->id,
				 .name = r->file->name,
				 .state = r->d.state,
				 .agents = r->agents,
				 .verdict = verdicts_find(f->verdicts, r->file),
				 .begun_us = r->d.begun_us,
				 .cost_uusd = r->d.cost_uusd,
				 .failed = r->d.failed,
				 .denied = r->d.denied,
				 .unmerged = r->d.unmerged,
				 .nr_agents = json_array_size(r->d.agents),
				 .waits = r->waits,
				 .live = r->d.live,
				 .cost_unknown = r->d.cost_unknown,
				 .counted = r->d.counted };
}

/* --- jobs: this program once more ------------------------------------------------------------- */

static void browse_stop(void *self)
{
	struct front_browse *f = self;
	if (f->job > 0) {
		kill(f->job, SIGTERM);
		while (waitpid(f->job, NULL, 0) < 0 && errno == EINTR)
			;
	}
	f->job = 0;
	fd_close(&f->job_fd);
	buf_reset(&f->job_text);
}

static void browse_job_child(struct front_browse *f, const char *const *argv, int to)
{
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, 0);
	dup2(to, 1);
	dup2(to, 2);
	setpgid(0, 0); /* a Ctrl-C of another program on this terminal is not for it */
	setenv("SANDGLASS_SESSIONS", f->ctx->sessions, 1);
	execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
	_exit(127);
}

static int browse_start(void *self, enum browse_job job, const char *text, struct err *err)
{
	struct front_browse *f = self;
	const char *const argv[3][8] = {
		[BROWSE_VERIFY] = { "sandglass", "verify", "--json", "--", text, NULL },
		[BROWSE_PRUNE] = { "sandglass", "prune", "--yes", "--json", "--", text, NULL },
		[BROWSE_SEARCH] = { "sandglass", "search", "--json", "--max", "1000", "--", text,
				    NULL },
	};
	int fds[2];
	browse_stop(f);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "can't start '%s'", argv[job][1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK); /* the job waits while the pipe is full */
	f->job = fork();
	if (f->job == 0)
		browse_job_child(f, argv[job], fds[1]);
	close(fds[1]);
	f->job_fd = fds[0];
	if (f->job < 0) {
		f->job = 0;
		fd_close(&f->job_fd);
		return err_sys(err, "can't start '%s'", argv[job][1]);
	}
	return 0;
}

static bool browse_take_line(struct front_browse *f, bool last, struct buf *out)
{
	const char *end = memchr(f->job_text.data, '\n', f->job_text.len);
	size_t len = end ? (size_t)(end - f->job_text.data) : f->job_text.len;
	if (!f->job_text.len || (!end && !last))
		return false;
	buf_append(out, f->job_text.data, len);
	len += end != NULL;
	memmove(f->job_text.data, f->job_text.data + len, f->job_text.len - len);
	f->job_text.len -= len;
	return true;
}

static int browse_read(void *self, struct buf *out, int *status)
{
	struct front_browse *f = self;
	char bytes[8192];
	*status = 0;
	if (f->job_text.len && browse_take_line(f, false, out))
		return 1;
	if (f->job <= 0)
		return -1;
	ssize_t n;
	while ((n = read(f->job_fd, bytes, sizeof(bytes))) > 0) {
		buf_append(&f->job_text, bytes, (size_t)n);
		if (browse_take_line(f, false, out))
			return 1;
	}
	if (n < 0)
		return 0;
	if (f->job_text.len && browse_take_line(f, true, out))
		return 1;
	while (waitpid(f->job, status, 0) < 0 && errno == EINTR)
		;
	*status = WIFEXITED(*status) ? WEXITSTATUS(*status) : 128;
	f->job = 0;
	fd_close(&f->job_fd);
	return -1;
}

/* --- a session on this terminal --------------------------------------------------------------- */

static bool browse_is_live(const char *id)
{
	CLEANUP(strv_release) struct strv ids = STRV_INIT;
	struct err none = ERR_INIT;
	return control_list(&ids, &none) == 0 && browse_runs(&ids, id);
}

static int browse_show(void *self, const char *id, uint64_t seq, struct err *err)
{
	struct front_browse *f = self;
	bool live = !seq && browse_is_live(id);
	CLEANUP(free_ptr) char *at = mem_printf("%" PRIu64, seq);
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(err, "can't open session '%s'", id);
	if (pid == 0) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		setenv("SANDGLASS_SESSIONS", f->ctx->sessions, 1);
		if (seq)
			execl("/proc/self/exe", "sandglass", "replay", "--at", at, "--view",
			      "agent", "--", id, (char *)NULL);
		else
			execl("/proc/self/exe", "sandglass", live ? "attach" : "replay", "--", id,
			      (char *)NULL);
		_exit(127);
	}
	int status = foreground_wait(pid);
	if (status < 0)
		return err_sys(err, "can't wait for session '%s'", id);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* --- the whole -------------------------------------------------------------------------------- */

struct front_browse *front_browse_new(struct cmd_ctx *ctx)
{
	struct front_browse *f = NEW(struct front_browse);
	*f = (struct front_browse){ .ctx = ctx, .job_fd = -1 };
	f->ops = (struct browse){ .list = browse_list,
				  .at = browse_at,
				  .start = browse_start,
				  .read = browse_read,
				  .stop = browse_stop,
				  .failure = browse_failure,
				  .show = browse_show,
				  .self = f };
	return f;
}

const struct browse *front_browse_ops(const struct front_browse *f)
{
	return &f->ops;
}

void front_browse_free(struct front_browse **at)
{
	struct front_browse *f = take(at);
	if (!f)
		return;
	browse_stop(f);
	browse_rows_release(f);
	verdicts_close(&f->verdicts);
	catalog_close(&f->catalog);
	buf_release(&f->job_text);
	free(f);
}
