/* sandglass test FILE...: runs each script on its own, with a scripted model or a cassette, and
 * compares its actions with its golden list (golden.h). */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "check/report.h"
#include "cli/golden.h"
#include "suite/apart.h"
#include "suite/suite.h"
#include "base/fd.h"
#include "base/mem.h"
#include "loop/loop.h"

enum { LIST_MAX = 16 << 20, TIMEOUT_S = 120, AROUND = 3 };

/* One script under test: names beside it, and where its session goes. */
struct trial {
	char *file, *script, *cassette, *golden;
	char *dir;	 /* a new directory for all that a run keeps */
	struct buf list; /* what it did */
	struct buf said; /* by the run, for when it fails */
	int status;
};

static void trial_release(struct trial *t)
{
	free(t->file);
	free(t->script);
	free(t->cassette);
	free(t->golden);
	free(t->dir);
	buf_release(&t->list);
	buf_release(&t->said);
}

/* "agents/fix.lua" -> "agents/fix" and @suffix */
static char *cmd_test_beside(const char *file, const char *suffix)
{
	size_t len = strlen(file);
	if (len > 4 && !strcmp(file + len - 4, ".lua"))
		len -= 4;
	return mem_printf("%.*s%s", (int)len, file, suffix);
}

static int trial_init(struct trial *t, const char *file, struct err *err)
{
	char dir[] = "/tmp/sandglass-test-XXXXXX";
	*t = (struct trial){ .list = BUF_INIT, .said = BUF_INIT };
	t->file = mem_strdup(file);
	t->script = cmd_test_beside(file, ".script.lua");
	t->cassette = cmd_test_beside(file, ".cassette");
	t->golden = cmd_test_beside(file, ".golden");
	if (access(file, R_OK) < 0)
		return err_sys(err, "can't read '%s'", file);
	if (!mkdtemp(dir))
		return err_sys(err, "can't create a directory");
	t->dir = mem_strdup(dir);
	return 0;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void cmd_test_words_of(struct cmd_ctx *ctx, const struct trial *t, struct strv *out)
{
	const char *model = cmd_opt(ctx, "model");
	CLEANUP(free_ptr) char *sessions = mem_printf("%s/sessions", t->dir);
	CLEANUP(free_ptr) char *scripted = mem_printf("scripted:%s", t->script);
	const char *const fixed[] = { "sandglass", "--sessions", sessions, "run",
				      "--no-tui",  "--no-input", "--name", "test" };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		strv_push(out, fixed[i]);
	if (ctx->config) {
		strv_push(out, "--config");
		strv_push(out, ctx->config);
	}
	if (model || access(t->script, R_OK) == 0) {
		strv_push(out, "--model");
		strv_push(out, model ? model : scripted);
	} else if (access(t->cassette, R_OK) == 0) {
		strv_push(out, "--cassette");
		strv_push(out, t->cassette);
	}
	strv_push(out, t->file);
	size_t nr = ctx->line->rest.nr;
	if (nr)
		strv_push(out, "--");
	for (size_t i = 0; i < nr; i++)
		strv_push_bytes(out, ctx->line->rest.item[i], ctx->line->rest.len[i]);
}

/* Waits at most @ms. A script that hangs is ended with all its processes: its supervisor stops
 * on request. */
static int cmd_test_wait_for(struct trial *t, int pid, int pidfd, int out, int64_t ms,
			     struct err *err)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int status = 0, rc = poll(&p, 1, (int)ms);
	if (rc == 0)
		kill(pid, SIGTERM);
	if (proc_reap(pidfd, &status, err) < 0)
		return -1;
	t->status = status;
	struct err none = ERR_INIT;
	lseek(out, 0, SEEK_SET);
	(void)!fd_read_all(out, &t->said, LIST_MAX, &none);
	if (rc == 0)
		return err_set(err, ERR_TIMEOUT, "timed out; allow more with --timeout");
	return 0;
}

static int cmd_test_run(struct cmd_ctx *ctx, struct trial *t, int64_t ms, struct err *err)
{
	struct strv words = STRV_INIT, env = STRV_INIT;
	CLEANUP(free_ptr) char *log = mem_printf("%s/said", t->dir);
	cmd_test_words_of(ctx, t, &words);
	apart_environment(t->dir, &env);
	CLEANUP(fd_close) int out = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CLEANUP(fd_close) int pidfd = -1;
	int pid, fds[] = { -1, out, out };
	int rc = out < 0 ? err_sys(err, "can't open '%s'", log)
			 : proc_spawn("/proc/self/exe", words.item, env.item, fds, ARRAY_LEN(fds),
				      &pid, &pidfd, err);
	if (rc == 0)
		rc = cmd_test_wait_for(t, pid, pidfd, out, ms, err);
	strv_release(&words);
	strv_release(&env);
	return rc;
}

static char *cmd_test_session_in(const char *dir)
{
	CLEANUP(free_ptr) char *sessions = mem_printf("%s/sessions", dir);
	DIR *d = opendir(sessions);
	char *path = NULL;
	for (struct dirent *e; d && !path && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len > 6 && !strcmp(e->d_name + len - 6, ".glass"))
			path = mem_printf("%s/%s", sessions, e->d_name);
	}
	if (d)
		closedir(d);
	return path;
}

static int cmd_test_list(struct trial *t, struct err *err)
{
	struct session *s;
	CLEANUP(free_ptr) char *path = cmd_test_session_in(t->dir);
	if (!path) {
		size_t from = t->said.len;
		while (from > 1 && t->said.data[from - 2] != '\n')
			from--;
		return err_set(err, ERR_SCRIPT, "can't start: %.*s",
			       (int)strcspn(buf_cstr(&t->said) + (from ? from - 1 : 0), "\n"),
			       buf_cstr(&t->said) + (from ? from - 1 : 0));
	}
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc = golden_list(s, &t->list, err);
	session_close(&s);
	return rc;
}

/* --- the result ------------------------------------------------------------------------------- */

static void cmd_test_put_line(struct cmd_ctx *ctx, char mark, const char *text, size_t nr)
{
	CLEANUP(free_ptr) char *line = golden_line(text, nr);
	if (!line)
		return;
	fprintf(ctx->out, "#   %c ", mark);
	cmd_print_safe(ctx->out, line, strlen(line), false);
	fputc('\n', ctx->out);
}

static void cmd_test_tell(struct cmd_ctx *ctx, size_t nr, const struct trial *t, size_t differs,
			  const char *want, const char *why)
{
	const char *now = buf_cstr(&((struct trial *)(uintptr_t)t)->list);
	if (ctx->json) {
		json_t *o = json_object();
		CLEANUP(free_ptr) char *a = differs ? golden_line(want, differs) : NULL;
		CLEANUP(free_ptr) char *b = differs ? golden_line(now, differs) : NULL;
		json_put(o, "file", json_bytes_z(t->file));
		json_put_flag(o, "ok", !why);
		json_put_str(o, "why", why);
		if (differs)
			json_put_int(o, "line", (int64_t)differs);
		json_put_str(o, "golden", a);
		json_put_str(o, "now", b);
		cmd_json(ctx, o);
		return;
	}
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	report_tap_name(&name, t->file);
	fprintf(ctx->out, "%sok %zu - %s\n", why ? "not " : "", nr, buf_cstr(&name));
	if (!why)
		return;
	fputs("#   ", ctx->out);
	cmd_print_safe(ctx->out, why, strlen(why), false);
	fputc('\n', ctx->out);
	for (size_t i = differs > AROUND ? differs - AROUND : 1; i < differs; i++)
		cmd_test_put_line(ctx, ' ', want, i);
	if (differs) {
		cmd_test_put_line(ctx, '-', want, differs);
		cmd_test_put_line(ctx, '+', now, differs);
	}
}

/* True if it is as it should be. */
static bool cmd_test_judge(struct cmd_ctx *ctx, size_t nr, struct trial *t)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf want = BUF_INIT;
	CLEANUP(free_ptr) char *why = NULL;
	size_t differs = 0;
	if (cmd_has(ctx, "update")) {
		if (file_write_atomic(t->golden, buf_cstr(&t->list), t->list.len, 0644, &err) < 0)
			why = mem_strdup(err.text);
	} else if (access(t->golden, F_OK) < 0) {
		why = mem_printf(
			"'%s' not found; check what the script did, then write it with --update",
			t->golden);
	} else if (file_read(t->golden, &want, LIST_MAX, &err) < 0) {
		why = mem_strdup(err.text);
	} else if ((differs = golden_differ(buf_cstr(&want), buf_cstr(&t->list)))) {
		why = mem_printf("line %zu of '%s' differs (- golden, + current)", differs,
				 t->golden);
	}
	cmd_test_tell(ctx, nr, t, differs, buf_cstr(&want), why);
	return !why;
}

static bool test_one(struct cmd_ctx *ctx, size_t nr, const char *file, int64_t ms)
{
	struct trial t;
	struct err err = ERR_INIT;
	bool good = false;
	if (trial_init(&t, file, &err) < 0 || cmd_test_run(ctx, &t, ms, &err) < 0 ||
	    cmd_test_list(&t, &err) < 0)
		cmd_test_tell(ctx, nr, &t, 0, "", err.text);
	else
		good = cmd_test_judge(ctx, nr, &t);
	if (t.dir && cmd_has(ctx, "keep"))
		fprintf(ctx->err, "%s: %s\n", file, t.dir);
	else if (t.dir && dir_remove(t.dir, &err) < 0)
		cmd_tell_error(ctx, NULL, &err);
	trial_release(&t);
	fflush(ctx->out);
	return good;
}

int cmd_test(struct cmd_ctx *ctx)
{
	const char *timeout = cmd_opt(ctx, "timeout");
	char *end = NULL;
	long seconds = timeout ? strtol(timeout, &end, 10) : TIMEOUT_S;
	size_t nr = ctx->words->nr, bad = 0;
	if (cmd_has(ctx, "suite"))
		return nr == 1 ? suite_test(ctx, cmd_word(ctx, 0))
			       : cmd_usage(ctx, "--suite: expected one FILE");
	if (!nr)
		return cmd_usage(ctx, "missing argument: FILE");
	if (timeout && (!*timeout || *end || seconds < 1 || seconds > 86400))
		return cmd_usage(ctx, "--timeout: expected a number of seconds, got '%s'", timeout);
	if (!ctx->json)
		fprintf(ctx->out, "1..%zu\n", nr);
	for (size_t i = 0; i < nr; i++)
		bad += !test_one(ctx, i + 1, cmd_word(ctx, i), seconds * 1000);
	return bad ? EXIT_UNSUCCESSFUL : EXIT_DONE;
}
