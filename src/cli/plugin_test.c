/* plugin test: runs the suite that every backend must pass (lua/agents/conformance.lua) as a
 * session and prints its lines. It adds the checks that a script can't do. It kills the
 * supervisor at the suite's request and resumes the session, compares a file that was copied
 * back, and looks for remains. */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/follow.h"
#include "cli/front/front.h"
#include "cli/front/front_line.h"
#include "sessions/spawn.h"
#include "luahost/library.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/session.h"
#include "sandbox/driver.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/hosted/hosted_book.h"
#include "wire/event.h"

#define SUITE "agents/conformance.lua"
enum { LARGE = (2 << 20) + 5, PIECES = 2, PIECES_LONG = 1074, MARK_LEN = 12 };

struct trial {
	struct cmd_ctx *ctx;
	json_t *opts; /* of the supervisor */
	char *dir;    /* what the suite takes from the host; removed at the end */
	/* in our environment, and in the arguments of processes that the suite leaves running */
	char mark[2 * MARK_LEN + 1];
	struct strv rented; /* remains from before this test */
	struct spawned sp;
	struct session *s;
	uint64_t seen;
	int nr, bad;
	bool due, killed; /* the next action that begins is one to be killed in; done */
};

static void plugin_test_say(struct trial *t, bool good, const char *name)
{
	fprintf(t->ctx->out, "%s %d - %s\n", good ? "ok" : "not ok", ++t->nr, name);
	t->bad += !good;
}

/* --- what it is given --- */

static int plugin_test_make_file(const char *path, const void *bytes, size_t len, struct err *err)
{
	if (file_write_renamed(path, bytes, len, 0644, err) < 0)
		return -1;
	return chmod(path, 0644) < 0 ? err_sys(err, "can't create '%s'", path) : 0;
}

/* A repository, and a large file of any bytes, whose digest is @sum. Boxes have users of their own,
 * who read it. */
static int plugin_test_make_dir(struct trial *t, size_t large, struct buf *sum, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	t->dir = mem_printf("%s/sandglass-plugin-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(t->dir)) {
		err_sys(err, "can't create a directory such as '%s'", t->dir);
		free(t->dir);
		t->dir = NULL;
		return -1;
	}
	CLEANUP(free_ptr)
	char *repo = path_join(t->dir, "repo"), *there = path_join(repo, "there"),
	     *file = path_join(t->dir, "large");
	if (chmod(t->dir, 0755) < 0 || mkdir(repo, 0755) < 0 || chmod(repo, 0755) < 0)
		return err_sys(err, "can't create '%s'", repo);
	CLEANUP(free_ptr) uint8_t *bytes = mem_alloc(large);
	struct hash h;
	random_bytes(bytes, large);
	hash_of(bytes, large, &h);
	hex_append(sum, h.b, HASH_LEN);
	return plugin_test_make_file(there, "before\n", 7, err) < 0
		       ? -1
		       : plugin_test_make_file(file, bytes, large, err);
}

static void plugin_test_on_rented(void *self, const char *provider, const char *tag,
				  const json_t *box, bool lives)
{
	struct strv *names = self;
	(void)box;
	CLEANUP(free_ptr) char *name = mem_printf("%s-%s", provider, tag);
	if (!lives)
		strv_push(names, name);
}

static json_t *plugin_test_options(struct trial *t, const char *kind, struct err *err)
{
	bool whole = cmd_has(t->ctx, "long");
	size_t len, large = whole ? BOX_FILE_MAX : LARGE;
	uint8_t mark[MARK_LEN];
	const char *text = library_file(SUITE, &len), *box = cmd_opt(t->ctx, "box");
	CLEANUP(buf_release) struct buf sum = BUF_INIT, hex = BUF_INIT;
	CLEANUP(json_release)
	json_t *how = json_parse(box ? box : "{}", strlen(box ? box : "{}"), "--box", err);
	if (!how)
		return NULL;
	if (!json_is_object(how)) {
		err_set(err, ERR_USAGE,
			"--box: expected a JSON object, such as '{\"image\": \"debian:12\"}'");
		return NULL;
	}
	random_bytes(mark, sizeof(mark));
	hex_append(&hex, mark, sizeof(mark));
	memcpy(t->mark, hex.data, hex.len);
	if (plugin_test_make_dir(t, large, &sum, err) < 0)
		return NULL;
	json_t *o = json_object();
	json_put_str(o, "name", "plugin-test");
	json_put_bytes(o, "script", text, len);
	json_put_str(o, "sessions_dir", t->ctx->sessions);
	json_put_str(o, "backend", kind);
	json_put_flag(o, "no_input", true);
	json_put(o, "policy", json_pack("[s]", "lua:agents/conformance_policy.lua"));
	CLEANUP(free_ptr)
	char *pieces = mem_printf("%d", whole ? PIECES_LONG : PIECES),
	     *mb = mem_printf("%zu", large >> 20);
	json_put(o, "args",
		 json_pack("[sssssssssssssss]", kind, "--box", box ? box : "{}", "--dir", t->dir,
			   "--pieces", pieces, "--mb", mb, "--sum", buf_cstr(&sum), "--mark",
			   t->mark, "--every", whole ? "yes" : "no"));
	return o;
}

/* --- the suite's lines --- */

static int plugin_test_begin(struct trial *t, struct err *err)
{
	int status = spawn_supervisor(t->opts, &t->sp, err);
	if (status == 0 && session_open(&t->s, t->sp.path, err) < 0)
		status = EXIT_UNSUCCESSFUL;
	return status;
}

static void plugin_test_ended(struct trial *t)
{
	session_close(&t->s);
	t->s = NULL;
	waitpid(t->sp.pid, NULL, 0);
	spawned_release(&t->sp);
}

/* Kills the supervisor as a crash of the host would, then resumes the session from its
 * recording. */
static int kill_and_go_on(struct trial *t, struct err *err)
{
	enum { UNDER_WAY_US = 300000 };
	usleep(UNDER_WAY_US); /* so that it runs there */
	t->due = false;
	json_put_str(t->opts, "resume", t->sp.path);
	kill(t->sp.pid, SIGKILL);
	plugin_test_ended(t);
	t->killed = true;
	return plugin_test_begin(t, err);
}

static void plugin_test_line(struct trial *t, const char *text)
{
	bool good = !strncmp(text, "ok ", 3), not = !strncmp(text, "not ok ", 7);
	if (good || not ) {
		fprintf(t->ctx->out, "%s %d", good ? "ok" : "not ok", ++t->nr);
		t->bad += not ;
		text += good ? 2 : 6;
	}
	cmd_print_safe(t->ctx->out, text, strlen(text), false);
	fputc('\n', t->ctx->out);
}

enum { GOES_ON, ENDED, KILL };

/* Prints the new lines. */
static int plugin_test_lines(struct trial *t, struct feed *f, struct err *err)
{
	struct event ev;
	int rc, what = GOES_ON;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	while (what == GOES_ON && (rc = feed_next(f, &ev, &a, 0, err)) == 1) {
		t->seen = ev.seq;
		if (ev.kind == EV_NOTE && ev.body) {
			CLEANUP(json_release)
			json_t *body = json_parse(ev.body, ev.len, "note", err);
			const char *text = json_str(body, "text", "");
			if (!strcmp(text, "reconnect"))
				t->due = true;
			else
				plugin_test_line(t, text);
		}
		if (ev.kind == EV_ACTION_STARTED && t->due)
			what = KILL;
		what = ev.kind == EV_SESSION_END ? ENDED : what;
		arena_reset(&a);
	}
	fflush(t->ctx->out);
	return what == GOES_ON && rc < 0 ? -1 : what;
}

/* Until the session ends, or is to be killed. */
static int plugin_test_print_lines(struct trial *t, struct err *err)
{
	struct feed *f;
	if (feed_new(&f, t->s, FEED_ALL, 0, err) < 0)
		return -1;
	feed_seek(f, t->seen);
	struct follow *w = follow_new(t->s);
	int what;
	do
		what = plugin_test_lines(t, f, err);
	while (what == GOES_ON && follow_wait(w, feed_seq(f)));
	follow_free(&w);
	feed_free(&f);
	return what;
}

/* --- what is left --- */

static bool file_came_back(const struct trial *t)
{
	CLEANUP(free_ptr)
	char *there = path_join(t->dir, "large"), *back = path_join(t->dir, "back");
	CLEANUP(buf_release) struct buf a = BUF_INIT, b = BUF_INIT;
	struct err none = ERR_INIT;
	return file_read(there, &a, BOX_FILE_MAX, &none) == 0 &&
	       file_read(back, &b, BOX_FILE_MAX, &none) == 0 && a.len == b.len &&
	       memcmp(a.data, b.data, a.len) == 0;
}

struct left {
	const char *session;
	FILE *out;
	int nr;
};

static void on_left(void *self, const char *driver, const char *where, const char *box)
{
	struct left *l = self;
	if (!strstr(box, l->session))
		return;
	fprintf(l->out, "#   %s: %s\n", driver, where);
	l->nr++;
}

static int rented_left(const struct trial *t)
{
	CLEANUP(strv_release) struct strv now = STRV_INIT;
	int nr = 0;
	hosted_book_each(plugin_test_on_rented, &now);
	for (size_t i = 0; i < now.nr; i++) {
		bool before = false;
		for (size_t j = 0; j < t->rented.nr; j++)
			before |= !strcmp(now.item[i], t->rented.item[j]);
		if (!before)
			fprintf(t->ctx->out, "#   rented: %s\n", now.item[i]);
		nr += !before;
	}
	return nr;
}

/* Programs on the host with the mark among their words. */
static int plugin_test_marked(const char *mark)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	int nr = 0;
	while (d && (e = readdir(d))) {
		char path[64];
		CLEANUP(buf_release) struct buf words = BUF_INIT;
		struct err none = ERR_INIT;
		snprintf(path, sizeof(path), "/proc/%.20s/cmdline", e->d_name);
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    file_read(path, &words, 1 << 20, &none) == 0)
			nr += memmem(words.data, words.len, mark, strlen(mark)) != NULL;
	}
	if (d)
		closedir(d);
	return nr;
}

/* A process that was killed takes its time to go. */
static bool none_marked(const char *mark)
{
	enum { TRIES = 100, WAIT_US = 100000 };
	for (int i = 0; i < TRIES; i++) {
		if (!plugin_test_marked(mark))
			return true;
		usleep(WAIT_US);
	}
	return false;
}

static void look_behind(struct trial *t, const char *id)
{
	CLEANUP(free_ptr) char *boxes = paths_state("box"), *folder = path_join(boxes, id);
	struct left l = { .session = id, .out = t->ctx->out };
	remote_orphans_each(boxes, on_left, &l);
	plugin_test_say(t, file_came_back(t), "the file that came back is the same byte for byte");
	plugin_test_say(t, t->killed, "the supervisor was killed during an action");
	plugin_test_say(t, access(folder, F_OK) != 0, "no directory of its sandboxes is left");
	plugin_test_say(t, l.nr + rented_left(t) == 0, "no sandbox is left elsewhere");
	plugin_test_say(t, none_marked(t->mark), "nor a process on this machine");
}

/* --- all of it --- */

static void plugin_test_release(struct trial *t)
{
	struct err none = ERR_INIT;
	if (t->dir)
		(void)!dir_remove(t->dir, &none);
	free(t->dir);
	strv_release(&t->rented);
	json_decref(t->opts);
}

static int plugin_test_run(struct trial *t, struct err *err)
{
	int status = plugin_test_begin(t, err), what;
	if (status)
		return cmd_fail_as(t->ctx, status, err);
	do {
		what = plugin_test_print_lines(t, err);
		if (what == KILL && (status = kill_and_go_on(t, err)))
			return cmd_fail_with(t->ctx, status, "the session doesn't continue: %s\n%s",
					     err->text, err->hint);
	} while (what == KILL);
	CLEANUP(buf_release) struct buf why = BUF_INIT;
	CLEANUP(free_ptr) char *id = mem_strdup(t->sp.id);
	status = what < 0 ? cmd_fail(t->ctx, err) : front_status(t->s, &why);
	plugin_test_ended(t);
	if (t->nr) { /* else it did not even open */
		look_behind(t, id);
		fprintf(t->ctx->out, "1..%d\n", t->nr);
	}
	if (status > 1 && why.len) {
		fprintf(t->ctx->err, "sandglass: ");
		cmd_print_safe(t->ctx->err, why.data, why.len, false);
		fputc('\n', t->ctx->err);
	}
	fprintf(t->ctx->err, "recorded as %s\n", id);
	return status ? status : t->bad > 0;
}

int plugin_test(struct cmd_ctx *ctx)
{
	const char *kind = cmd_word(ctx, 1);
	char full[PATH_MAX];
	size_t len = kind ? strlen(kind) : 0;
	struct err err = ERR_INIT;
	struct trial t = { .ctx = ctx };
	if (!kind)
		return cmd_usage(
			ctx,
			"test: missing argument: FILE or BACKEND\n'sandglass plugin ls' and 'sandglass doctor' name backends.");
	if (len > 4 && !strcmp(kind + len - 4, ".lua")) {
		if (!realpath(kind, full)) {
			err_sys(&err, "can't read '%s'", kind);
			return cmd_fail(ctx, &err);
		}
		kind = full;
	}
	if (run_backend_known(kind, &err) < 0)
		return cmd_fail(ctx, &err);
	t.opts = plugin_test_options(&t, kind, &err);
	int status;
	if (t.opts) {
		setenv("SANDGLASS_LEAK", t.mark, 1);
		hosted_book_each(plugin_test_on_rented, &t.rented);
		status = plugin_test_run(&t, &err);
	} else {
		status = cmd_fail(ctx, &err);
	}
	plugin_test_release(&t);
	return status;
}
