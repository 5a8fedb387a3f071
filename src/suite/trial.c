#include "suite/trial.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check/log_ops.h"
#include "check/summary.h"
#include "cli/lib/cmd_priv.h"
#include "luahost/lua_file.h"
#include "suite/apart.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"

enum { TIMEOUT_S = 120, SAID_MAX = 64 << 10, PENDING = 16 };

static void trial_failed(struct trial_run *t, const char *why)
{
	t->state = TRIAL_OVER;
	t->verdict = TRIAL_ERROR;
	free(t->why);
	t->why = mem_strdup(why);
}

/* --- programs --------------------------------------------------------------------------------- */

/* Its output goes to the end of DIR/said. */
static int trial_spawn(struct trial_run *t, const char *path, const struct strv *words,
		       struct err *err)
{
	CLEANUP(free_ptr) char *said = mem_printf("%s/said", t->dir);
	CLEANUP(free_ptr)
	char *suite = mem_printf("SANDGLASS_SUITE=%s", json_str(t->scenario, "name", "suite"));
	CLEANUP(fd_close) int out = open(said, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	CLEANUP(strv_release) struct strv env = STRV_INIT;
	int fds[] = { -1, out, out };
	if (out < 0)
		return err_sys(err, "can't open '%s'", said);
	apart_environment(t->dir, &env);
	strv_push(&env, suite);
	return proc_spawn(path, words->item, env.item, fds, ARRAY_LEN(fds), &t->pid, &t->pidfd,
			  err);
}

static int trial_finish(struct trial_run *t, int *status, struct err *err)
{
	int rc = proc_reap(t->pidfd, status, err);
	fd_close(&t->pidfd);
	return rc;
}

/* Starts and waits: for the short commands around a run. */
static int trial_run(struct trial_run *t, const char *path, const struct strv *words, int *status,
		     struct err *err)
{
	if (trial_spawn(t, path, words, err) < 0)
		return -1;
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };
	if (poll(&p, 1, TIMEOUT_S * 1000) == 0)
		kill(t->pid, SIGKILL);
	return trial_finish(t, status, err);
}

/* The last line that the programs said. */
static char *trial_last_line(const struct trial_run *t)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/said", t->dir);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err none = ERR_INIT;
	if (file_read(path, &b, SAID_MAX, &none) < 0 || !b.len)
		return mem_strdup("it did not begin");
	const char *text = buf_cstr(&b), *from = text + b.len;
	while (from > text && from[-1] == '\n')
		from--;
	const char *end = from;
	while (from > text && from[-1] != '\n')
		from--;
	return mem_strndup(from, (size_t)(end - from));
}

/* --- before ----------------------------------------------------------------------------------- */

static char *trial_beside(const struct trial_run *t, const char *name)
{
	const char *slash = strrchr(t->suite, '/');
	if (*name == '/')
		return mem_strdup(name);
	CLEANUP(free_ptr)
	char *rel = slash ? mem_printf("%.*s/%s", (int)(slash - t->suite), t->suite, name)
			  : mem_strdup(name);
	char *full = realpath(rel, NULL);
	return full ? full : mem_strdup(rel);
}

static int trial_put_files(const struct trial_run *t, const char *work, struct err *err)
{
	const char *name;
	json_t *v;
	json_object_foreach(json_object_get(t->scenario, "files"), name, v)
	{
		CLEANUP(free_ptr) char *path = path_join(work, name);
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		char *slash = strrchr(path, '/');
		*slash = 0;
		if (dir_make(path, 0755, err) < 0)
			return -1;
		*slash = '/';
		json_get_bytes(v, &text);
		if (file_write_atomic(path, text.data, text.len, 0644, err) < 0)
			return -1;
	}
	return 0;
}

static const char prepare_sh[] =
	"set -e; [ -z \"$2\" ] || cp -a \"$2\"/. \"$1\"; cd \"$1\"; [ \"$3\" = 1 ] || exit 0; [ -e .git ] || git init -q .; "
	"git add -A; git -c user.name=suite -c user.email=suite@localhost commit -q --allow-empty -m fixture";

static int trial_prepare(struct trial_run *t, const char *work, struct err *err)
{
	const char *fixture = json_str(t->scenario, "fixture", NULL);
	CLEANUP(free_ptr) char *from = fixture ? trial_beside(t, fixture) : mem_strdup("");
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	const char *const words[] = { "sh",
				      "-c",
				      prepare_sh,
				      "sh",
				      work,
				      from,
				      json_flag(t->scenario, "git", true) ? "1" : "0" };
	int status;
	if (dir_make(work, 0755, err) < 0 || trial_put_files(t, work, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		strv_push(&w, words[i]);
	if (trial_run(t, "/bin/sh", &w, &status, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *said = status ? trial_last_line(t) : NULL;
	return status ? err_set(err, ERR_IO, "can't prepare its workspace: %s", said) : 0;
}

/* "scripted:turns.lua" means a file beside the suite. */
static char *model_of(const struct trial_run *t)
{
	const char *model = cmd_opt(t->ctx, "model");
	model = model ? model : json_str(t->scenario, "model", NULL);
	if (!model || strncmp(model, "scripted:", 9) != 0 || !strchr(model, '.'))
		return model ? mem_strdup(model) : NULL;
	CLEANUP(free_ptr) char *file = trial_beside(t, model + 9);
	return mem_printf("scripted:%s", file);
}

static void trial_option(struct strv *w, const char *name, const char *value)
{
	if (!value)
		return;
	strv_push(w, name);
	strv_push(w, value);
}

static void trial_words_of(const struct trial_run *t, const char *work, struct strv *w)
{
	const char *policy = json_str(t->scenario, "policy", NULL);
	CLEANUP(free_ptr)
	char *sessions = mem_printf("%s/sessions", t->dir), *model = model_of(t),
	     *rules = policy ? trial_beside(t, policy) : NULL,
	     *script = trial_beside(t, json_str(t->scenario, "script", ""));
	const json_t *args = json_object_get(t->scenario, "args");
	strv_push(w, "sandglass");
	trial_option(w, "-C", work);
	trial_option(w, "--sessions", sessions);
	trial_option(w, "--config", t->ctx->config);
	strv_push(w, "run");
	strv_push(w, "-d");
	trial_option(w, "--name", json_str(t->scenario, "name", "suite"));
	if (!json_array_size(json_object_get(t->scenario, "people")))
		strv_push(w, "--no-input");
	trial_option(w, "--model", model);
	trial_option(w, "--policy", rules);
	trial_option(w, "--accept", cmd_opt(t->ctx, "accept"));
	strv_push(w, script);
	if (json_array_size(args))
		strv_push(w, "--");
	for (size_t i = 0; i < json_array_size(args); i++)
		strv_push(w, json_string_value(json_array_get(args, i)));
}

static int trial_begin(struct trial_run *t, struct err *err)
{
	char dir[] = "/tmp/sandglass-suite-XXXXXX";
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	if (!mkdtemp(dir))
		return err_sys(err, "can't create a directory");
	t->dir = mem_strdup(dir);
	CLEANUP(free_ptr) char *work = path_join(dir, "work");
	if (trial_prepare(t, work, err) < 0)
		return -1;
	trial_words_of(t, work, &w);
	return trial_spawn(t, "/proc/self/exe", &w, err);
}

void trial_start(struct trial_run *t)
{
	struct err err = ERR_INIT;
	int64_t limit = json_int(t->scenario, "timeout_us", 0);
	t->pidfd = -1;
	t->began_us = clock_mono_us();
	t->end_us = t->began_us + (limit ? limit : TIMEOUT_S * 1000000LL);
	t->state = TRIAL_STARTS;
	if (trial_begin(t, &err) < 0)
		trial_failed(t, err.text);
}

/* --- while it runs ---------------------------------------------------------------------------- */

static char *trial_session_in(const char *dir)
{
	CLEANUP(free_ptr) char *sessions = path_join(dir, "sessions");
	DIR *d = opendir(sessions);
	char *path = NULL;
	for (struct dirent *e; d && !path && (e = readdir(d));) {
		size_t len = strlen(e->d_name);
		if (len > 6 && !strcmp(e->d_name + len - 6, ".glass"))
			path = path_join(sessions, e->d_name);
	}
	if (d)
		closedir(d);
	return path;
}

/* The command that started it has ended: the trial runs on its own. */
static void trial_started(struct trial_run *t)
{
	struct err err = ERR_INIT;
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };
	int status;
	if (poll(&p, 1, 0) == 0)
		return;
	if (trial_finish(t, &status, &err) < 0) {
		trial_failed(t, err.text);
		return;
	}
	t->session = trial_session_in(t->dir);
	if (status || !t->session) {
		CLEANUP(free_ptr) char *said = trial_last_line(t);
		trial_failed(t, said);
		return;
	}
	t->state = TRIAL_RUNS;
}

/* The listed reviewer's answer to this action; NULL: none. */
static const json_t *trial_line_for(const struct trial_run *t, struct session *s, uint64_t action)
{
	const json_t *people = json_object_get(t->scenario, "people");
	for (size_t i = 0; i < json_array_size(people); i++) {
		const json_t *row = json_array_get(people, i);
		struct filter *f = NULL;
		struct err none = ERR_INIT;
		uint64_t seq = 0;
		size_t nr = 0;
		if (filter_parse(&f, json_str(row, "when", ""), NULL, NULL, &none) == 0 &&
		    filter_search_to(f, s, clock_wall_us(), action - 1, action, 1, &seq, &nr,
				     &none) < 0)
			nr = 0;
		filter_free(&f);
		if (nr)
			return row;
	}
	return NULL;
}

static void trial_answer(struct trial_run *t, uint64_t action, const json_t *row)
{
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	CLEANUP(free_ptr)
	char *number = mem_printf("%llu", (unsigned long long)action),
	     *sessions = path_join(t->dir, "sessions");
	struct err none = ERR_INIT;
	int status = 1;
	strv_push(&w, "sandglass");
	trial_option(&w, "--sessions", sessions);
	strv_push(&w, json_str(row, "say", "deny"));
	strv_push(&w, number);
	trial_option(&w, "-S", t->id);
	trial_option(&w, "-m", json_str(row, "why", "as the suite decides"));
	if (trial_run(t, "/proc/self/exe", &w, &status, &none) == 0 && status == 0)
		t->answered = action;
}

static void trial_people(struct trial_run *t, struct session *s)
{
	struct filter *f;
	struct err none = ERR_INIT;
	uint64_t seqs[PENDING];
	size_t nr = 0;
	if (!json_array_size(json_object_get(t->scenario, "people")) ||
	    filter_parse(&f, "is:pending", NULL, NULL, &none) < 0)
		return;
	if (filter_search(f, s, clock_wall_us(), 0, PENDING, seqs, &nr, &none) < 0)
		nr = 0;
	filter_free(&f);
	for (size_t i = 0; i < nr; i++) {
		const json_t *row = trial_line_for(t, s, seqs[i]);
		if (row)
			trial_answer(t, seqs[i], row);
	}
}

static void trial_stop(struct trial_run *t)
{
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	CLEANUP(free_ptr) char *sessions = path_join(t->dir, "sessions");
	struct err none = ERR_INIT;
	int status;
	strv_push(&w, "sandglass");
	trial_option(&w, "--sessions", sessions);
	strv_push(&w, "stop");
	strv_push(&w, "--now");
	trial_option(&w, "-S", t->id);
	(void)!trial_run(t, "/proc/self/exe", &w, &status, &none);
}

/* --- after ------------------------------------------------------------------------------------ */

/* Expectations that raise were not all asked: neither the result nor the way to it is known, unless
 * the result had failed. */
static enum trial_verdict trial_verdict_of(const json_t *results)
{
	json_t *r;
	size_t i;
	bool result = false, way = false, raised = false;
	json_array_foreach(results, i, r)
	{
		const char *word = json_str(r, "result", "");
		bool bad = !strcmp(word, "failed");
		bool is_result = !strcmp(json_str(r, "part", ""), "result");
		result |= bad && is_result;
		way |= bad && !is_result;
		raised |= !strcmp(word, "error");
	}
	return result ? TRIAL_FAILED : raised ? TRIAL_ERROR : way ? TRIAL_WRONG_WAY : TRIAL_PASS;
}

static void trial_judge(struct trial_run *t, struct session *s)
{
	CLEANUP(json_release) json_t *args = json_array();
	struct err err = ERR_INIT;
	json_t *data = NULL;
	struct summary sum;
	json_array_append_new(args, json_string(json_str(t->scenario, "name", "")));
	const struct lua_file_run r = {
		.mode = "suite", .path = t->suite, .args = args, .call = log_call, .self = s
	};
	t->took_us = clock_mono_us() - t->began_us;
	if (summary_of(s, &sum, &err) == 0) {
		t->cost_uusd = sum.cost_uusd;
		t->cost_unknown = sum.cost_unknown;
		summary_release(&sum);
	}
	if (lua_file_run(&r, &data, &err) < 0) {
		trial_failed(t, err.text);
		return;
	}
	t->results = json_incref(json_object_get(data, "results"));
	json_decref(data);
	t->verdict = trial_verdict_of(t->results);
	t->state = TRIAL_OVER;
}

void trial_tick(struct trial_run *t)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	bool late = clock_mono_us() > t->end_us;
	if (t->state == TRIAL_STARTS)
		trial_started(t);
	if (t->state != TRIAL_RUNS)
		return;
	if (session_open(&s, t->session, &err) < 0) {
		trial_failed(t, err.text);
		return;
	}
	if (!t->id)
		t->id = mem_strdup(session_id(s));
	if (session_live(s) && !late)
		trial_people(t, s);
	else if (session_live(s))
		trial_stop(t);
	else
		trial_judge(t, s);
	session_close(&s);
	if (late && t->state == TRIAL_RUNS)
		trial_failed(t, "its time was up");
}

void trial_end(struct trial_run *t, bool keep)
{
	struct err none = ERR_INIT;
	if (t->session && !keep && t->verdict != TRIAL_PASS &&
	    dir_make(t->ctx->sessions, 0700, &none) == 0) {
		CLEANUP(free_ptr)
		char *to = path_join(t->ctx->sessions, strrchr(t->session, '/') + 1);
		/* it may lie on another file system */
		CLEANUP(strv_release) struct strv w = STRV_INIT;
		int status;
		strv_push(&w, "mv");
		strv_push(&w, t->session);
		strv_push(&w, to);
		(void)!trial_run(t, "/bin/mv", &w, &status, &none);
	}
	if (t->dir && !keep && dir_remove(t->dir, &none) < 0)
		fprintf(t->ctx->err, "sandglass: %s\n", none.text);
	free(t->dir);
	free(t->session);
	free(t->id);
	free(t->why);
	json_decref(t->results);
	*t = (struct trial_run){ .pidfd = -1 };
}
