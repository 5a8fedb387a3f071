/* The verbs of the console from any other shell: finds the session (sessions/live.h), sends the
 * command, and prints the answer (print_answer.c). */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/merge_aim.h"
#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "cli/lib/config.h"
#include "cli/deny_filter.h"
#include "cli/show.h"
#include "cli/front/fork_models.h"
#include "sessions/labels.h"
#include "sessions/redact_request.h"
#include "sessions/sessions.h"
#include "sessions/unmerged.h"
#include "sessions/live.h"
#include "base/fd.h"
#include "base/mem.h"
#include "control/share.h"
#include "control/socket.h"
#include "query/sql.h"

enum { CLOSING_TICKS = 100, CLOSING_TICK_US = 50000 };

/* --- approve --edit --------------------------------------------------------------------------- */

static const json_t *held_row(const struct control_client *c, const char *id)
{
	const json_t *held =
		json_object_get(json_object_get(control_client_welcome(c), "state"), "held");
	const char *hash = strchr(id, '#');
	int64_t want = strtoll(hash ? hash + 1 : id, NULL, 10);
	for (size_t i = 0; i < json_array_size(held); i++)
		if (json_int(json_array_get(held, i), "action", 0) == want)
			return json_array_get(held, i);
	return NULL;
}

static int run_editor(const char *file, struct err *err)
{
	const char *editor = getenv("VISUAL");
	int status, pid, pidfd, fds[3] = { 0, 1, 2 };
	if (!editor || !*editor)
		editor = getenv("EDITOR");
	CLEANUP(free_ptr)
	char *script = mem_printf("exec %s \"$1\"", editor && *editor ? editor : "vi");
	CLEANUP(free_ptr) char *name = mem_strdup(file);
	char sh[] = "sh", dash_c[] = "-c";
	char *argv[] = { sh, dash_c, script, sh, name, NULL };
	if (proc_spawn("/bin/sh", argv, environ, fds, 3, &pid, &pidfd, err) < 0)
		return err_wrap(err, "can't start the editor");
	int rc = proc_reap(pidfd, &status, err);
	close(pidfd);
	if (rc == 0 && status != 0)
		return err_set(err, ERR_CANCELLED,
			       "the editor failed with status %d; nothing decided", status);
	return rc;
}

/* Lets the user change @text. ERR_CANCELLED when it comes back empty or as it was. */
static int edit_text(struct buf *text, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	CLEANUP(free_ptr)
	char *file = mem_printf("%s/sandglass-edit-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	CLEANUP(buf_release) struct buf now = BUF_INIT;
	CLEANUP(fd_close) int fd = mkostemp(file, O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't create '%s'", file);
	int rc = fd_write_all(fd, text->data, text->len, err);
	if (rc == 0)
		rc = fd_write_all(fd, "\n", 1, err);
	if (rc == 0)
		rc = run_editor(file, err);
	if (rc == 0)
		rc = file_read(file, &now, 1 << 20, err);
	unlink(file);
	if (rc < 0)
		return -1;
	while (now.len && now.data[now.len - 1] == '\n')
		now.data[--now.len] = 0;
	if (!now.len || (now.len == text->len && !memcmp(now.data, text->data, now.len)))
		return err_set(err, ERR_CANCELLED, "command unchanged; nothing decided");
	buf_reset(text);
	buf_append(text, now.data, now.len);
	return 0;
}

/* The decision is bound to the action on the screen by the intent's hash. */
static int edit_held(const struct control_client *c, const char *id, json_t *opts, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const json_t *row = held_row(c, id);
	if (!row)
		return err_set(
			err, ERR_NOENT,
			"%s is not a pending approval\n'sandglass state' lists pending approvals.",
			id);
	if (!json_object_get(row, "cmd") && !json_array_size(json_object_get(row, "argv")))
		return err_set(err, ERR_USAGE, "%s has no command line to edit", id);
	describe_action(row, &text);
	if (edit_text(&text, err) < 0)
		return -1;
	json_object_del(opts, "edit");
	json_put(opts, "cmd", json_bytes(text.data, text.len));
	if (*json_str(row, "intent", ""))
		json_put_str(opts, "intent", json_str(row, "intent", ""));
	return 0;
}

/* Before a merge is approved: the card that the approval screen shows. */
static void print_merge(struct cmd_ctx *ctx, const struct control_client *c, const char *id)
{
	const json_t *row = id ? held_row(c, id) : NULL;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (ctx->json || ctx->quiet || strcmp(json_str(row, "kind", ""), "merge") != 0 ||
	    !json_get_bytes(json_object_get(control_client_welcome(c), "path"), &path))
		return;
	show_card(ctx, buf_cstr(&path), (uint64_t)json_int(row, "action", 0));
}

static int answer_status(const struct err *err)
{
	return err->code == ERR_USAGE || err->code == ERR_PARSE ? EXIT_USAGE : EXIT_UNSUCCESSFUL;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* "s-7k2m9q#405": the part before the # says which session. Returns owned, NULL if there is
 * none. */
static char *session_in_word(const char *word)
{
	const char *hash = word ? strchr(word, '#') : NULL;
	return hash && hash > word ? mem_strndup(word, (size_t)(hash - word)) : NULL;
}

static int cmd_send_words(struct cmd_ctx *ctx, struct control_client *c, json_t *words,
			  json_t *opts, struct err *err)
{
	json_t *result;
	if (live_knows(c, ctx->command->name, err) < 0) {
		json_decref(words);
		json_decref(opts);
		return -1;
	}
	if (control_client_call(c, words, opts, -1, &result, err) < 0)
		return -1;
	CLEANUP(buf_release) struct buf left = BUF_INIT;
	bool unreached = json_get_bytes(json_object_get(result, "catalog_left"), &left);
	if (!ctx->json)
		json_object_del(result, "catalog_left"); /* it is in the error */
	cmd_print_answer(ctx, json_str(control_client_welcome(c), "session", ""), result);
	size_t failed = json_array_size(json_object_get(result, "failed"));
	bool several = json_object_get(result, "actions") != NULL;
	json_decref(result);
	if (several && failed)
		return err_set(err, ERR_INVALID, "%zu of the actions unchanged", failed);
	return redact_request_result(unreached ? buf_cstr(&left) : NULL, err);
}

/* Options for this program stay here: the target and the output format. */
static json_t *opts_to_send(const struct cmd_ctx *ctx)
{
	static const char *const ours[] = { "in",      "json",	"C",	  "sessions", "config",
					    "profile", "color", "no-tui", "quiet",    "verbose" };
	json_t *opts = command_line_opts(ctx->line);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		json_object_del(opts, ours[i]);
	return opts;
}

/* merge and undo also take SESSION/BOX and SESSION, and work when the session has ended. */
struct aim {
	char *session; /* NULL = not said */
	struct strv boxes;
	char *path; /* of a session that does not run; NULL = it has to run */
};

static void aim_release(struct aim *a)
{
	free(a->session);
	strv_release(&a->boxes);
	free(a->path);
}

/* SESSION/BOX, SESSION, or BOX. */
static int take_aim_word(struct cmd_ctx *ctx, struct aim *a, const char *word, struct err *err)
{
	const char *slash = strrchr(word, '/');
	bool named = cmd_opt(ctx, "in") != NULL, merge = !strcmp(ctx->command->name, "merge");
	bool session = !named && (slash || (!strncmp(word, "s-", 2) && !strchr(word, '#')));
	CLEANUP(free_ptr)
	char *of =
		session ? mem_strndup(word, slash ? (size_t)(slash - word) : strlen(word)) : NULL;
	if (of && a->session && strcmp(of, a->session) != 0)
		return err_set(err, ERR_USAGE,
			       "sandboxes of one session are merged in one step, got '%s' and '%s'",
			       a->session, of);
	if (of && !a->session)
		a->session = mem_strdup(of);
	if (slash && session && slash[1])
		strv_push(&a->boxes, slash + 1);
	else if (!session && merge)
		strv_push(&a->boxes, word);
	return 0;
}

/* Nothing is named, and sessions run that may have nothing to do with this. undo of a single one
 * that runs takes back more than merges: that session decides. */
static int aim_by_work(struct cmd_ctx *ctx, struct aim *a, const struct strv *live, struct err *err)
{
	bool undo = !strcmp(ctx->command->name, "undo");
	size_t others = 0;
	if (!live->nr || cmd_word(ctx, 0) || a->session || (undo && live->nr == 1))
		return 0;
	int rc = merge_aim_choose(ctx->sessions, undo, &a->session, &others, err);
	bool obvious = !others && live->nr == 1 && rc > 0 && !strcmp(live->item[0], a->session);
	if (rc > 0 && !obvious && !ctx->quiet)
		fprintf(ctx->err, "sandglass: %s: session %s, the newest with %s\n",
			ctx->command->name, a->session, undo ? "a merge to undo" : "unmerged work");
	return rc < 0 ? -1 : 0;
}

static int take_aim(struct cmd_ctx *ctx, struct aim *a, struct err *err)
{
	const char *word = cmd_word(ctx, 0), *in = cmd_opt(ctx, "in");
	struct strv live = STRV_INIT;
	if (in)
		a->session = mem_strdup(in);
	for (size_t i = 0; cmd_word(ctx, i); i++)
		if (take_aim_word(ctx, a, cmd_word(ctx, i), err) < 0)
			return -1;
	int rc = control_list(&live, err);
	if (rc == 0 && aim_by_work(ctx, a, &live, err) < 0) {
		strv_release(&live);
		return -1;
	}
	CLEANUP(free_ptr) char *before_hash = session_in_word(word);
	const char *named = a->session ? a->session : before_hash;
	bool maybe = rc == 0 && (named || !live.nr);
	strv_release(&live);
	if (!maybe)
		return rc;
	if (session_find(ctx->sessions, named, &a->path, err) < 0)
		return err->code == ERR_USAGE ? -1 : rc; /* several have this name */
	struct session *s;
	if (session_open(&s, a->path, err) < 0)
		return -1;
	/* a session that is just ending no longer answers and still holds its file */
	CLEANUP(free_ptr) char *socket = share_find(session_id(s), session_path(s));
	for (int i = 0; i < CLOSING_TICKS && session_live(s) && access(socket, F_OK) != 0; i++)
		usleep(CLOSING_TICK_US);
	if (session_live(s))
		free_ptr(&a->path);
	session_close(&s);
	return 0;
}

static int send_live(struct cmd_ctx *ctx, const struct aim *a);

/* SESSION#N, #N or N: of the session that runs or the newest one. Objects and messages are of no
 * event: there the word is the session. */
static int take_redact(struct cmd_ctx *ctx, struct aim *a, struct err *err)
{
	const char *word = cmd_word(ctx, 0), *in = cmd_opt(ctx, "in");
	CLEANUP(free_ptr) char *named = in ? mem_strdup(in) : session_in_word(word);
	struct session *s;
	bool event = !cmd_has(ctx, "object") && !cmd_has(ctx, "messages");
	if (!word && event)
		return err_set(err, ERR_USAGE, "missing argument: #N");
	if (!named && word && !event) {
		a->session = mem_strdup(word);
		named = mem_strdup(word);
	}
	if (session_find(ctx->sessions, named, &a->path, err) < 0 ||
	    session_open(&s, a->path, err) < 0)
		return -1;
	if (session_live(s))
		free_ptr(&a->path);
	session_close(&s);
	return 0;
}

/* SESSION LABEL..., or with --in only labels; @words: the labels. */
static int take_label(struct cmd_ctx *ctx, struct aim *a, struct err *err)
{
	const char *in = cmd_opt(ctx, "in"), *named = in ? in : cmd_word(ctx, 0);
	struct session *s;
	for (size_t i = in ? 0 : 1; cmd_word(ctx, i); i++)
		strv_push(&a->boxes, cmd_word(ctx, i));
	if (!a->boxes.nr)
		return err_set(err, ERR_USAGE, "label: missing argument: LABEL");
	CLEANUP(json_release)
	json_t *good = labels_change((const char *const *)a->boxes.item, a->boxes.nr, true, err);
	if (!good || session_find(ctx->sessions, named, &a->path, err) < 0 ||
	    session_open(&s, a->path, err) < 0)
		return -1;
	a->session = mem_strdup(session_id(s));
	if (session_live(s))
		free_ptr(&a->path);
	session_close(&s);
	return 0;
}

/* Read back from the recording. */
static void tell_labels(struct cmd_ctx *ctx, const char *id)
{
	CLEANUP(free_ptr) char *path = NULL;
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	struct session *s = NULL;
	struct err none = ERR_INIT;
	const char *name;
	json_t *value;
	if (session_find(ctx->sessions, id, &path, &none) < 0 || session_open(&s, path, &none) < 0)
		return;
	CLEANUP(json_release) json_t *labels = session_labels(s, &none);
	json_object_foreach(labels, name, value)
	{
		const char *text = json_string_value(value);
		buf_printf(&line, " %s%s%s", name, text && *text ? "=" : "", text ? text : "");
	}
	session_close(&s);
	fprintf(ctx->out, "%s:", id);
	cmd_print_safe(ctx->out, line.len ? buf_cstr(&line) : " no labels",
		       line.len ? line.len : strlen(" no labels"), false);
	fputc('\n', ctx->out);
}

static bool cmd_send_sure(struct cmd_ctx *ctx)
{
	char line[16];
	if (cmd_has(ctx, "yes"))
		return true;
	if (!isatty(0))
		return false;
	fprintf(ctx->out, "remove it permanently (y/n)  ");
	fflush(ctx->out);
	return fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y');
}

/* An action's data is also in other events: the script's request and answer, the policy check,
 * the output. Returns one line (owned) that names these events; NULL: not an action, or no other
 * event has the data. Call it before the action's request is removed. */
static char *said_again(struct cmd_ctx *ctx)
{
	CLEANUP(free_ptr)
	char *named = cmd_opt(ctx, "in") ? mem_printf("%s#%s", cmd_opt(ctx, "in"), cmd_word(ctx, 0))
					 : NULL;
	CLEANUP(buf_release) struct buf sql = BUF_INIT, line = BUF_INIT;
	struct session *s = NULL;
	struct sql_table t = { 0 };
	struct err none = ERR_INIT;
	uint64_t seq = 0;
	if (cmd_has(ctx, "output") || cmd_has(ctx, "object") || cmd_has(ctx, "messages") ||
	    session_open_ref(ctx,
			     named && !strchr(cmd_word(ctx, 0), '#') ? named : cmd_word(ctx, 0), &s,
			     &seq, &none) < 0)
		return NULL;
	buf_printf(
		&sql,
		"SELECT e.seq, k.name, EXISTS (SELECT 1 FROM segment g WHERE g.action = a.seq AND g.data IS NOT NULL) "
		"FROM event a, event e JOIN kind k ON k.number = e.kind WHERE a.seq = %llu AND a.kind = %d AND "
		"e.body IS NOT NULL AND ((e.action = a.seq AND e.action > 0 AND e.kind IN (%d, %d)) OR (e.kind IN (%d, %d) AND "
		"json_extract(e.body, '$.id') = json_extract(a.body, '$.call'))) ORDER BY e.seq",
		(unsigned long long)seq, EV_ACTION_REQUESTED, EV_ACTION_JUDGED, EV_ACTION_DECIDED,
		EV_HOST_CALL, EV_HOST_FRAME);
	if (sql_select(s, buf_cstr(&sql), 20, &t, &none) == 0)
		for (size_t i = 0; i < t.rows; i++)
			buf_printf(&line, "%s#%s (%s)", line.len ? ", " : "its text may remain in ",
				   t.cell[3 * i], t.cell[3 * i + 1]);
	if (line.len && *t.cell[2] == '1')
		buf_puts(&line, " and its output (--output)");
	sql_table_release(&t);
	session_close(&s);
	return line.len ? buf_take(&line) : NULL;
}

static int redact_one(struct cmd_ctx *ctx, const struct aim *a)
{
	CLEANUP(free_ptr) char *again = said_again(ctx);
	int status = a->path ? offline_edit_redact(ctx, a->path) : send_live(ctx, a);
	if (status == EXIT_DONE && again && !ctx->quiet)
		fprintf(ctx->err, "sandglass: %s\n", again);
	return status;
}

int cmd_send(struct cmd_ctx *ctx)
{
	struct aim a = { 0 };
	struct err err = ERR_INIT;
	bool merge = !strcmp(ctx->command->name, "merge"),
	     undo = !strcmp(ctx->command->name, "undo");
	bool redact = !strcmp(ctx->command->name, "redact"),
	     apply = !strcmp(ctx->command->name, "apply"),
	     label = !strcmp(ctx->command->name, "label");
	int status;
	if (apply && cmd_word(ctx, 0) && !strncmp(cmd_word(ctx, 0), "s-", 2) &&
	    !strchr(cmd_word(ctx, 0), '#'))
		return fork_apply(ctx);
	config_user(ctx);
	if (label && take_label(ctx, &a, &err) < 0)
		status = cmd_fail(ctx, &err);
	else if (label && a.path)
		status = offline_edit_label(ctx, a.path, (const char *const *)a.boxes.item,
					    a.boxes.nr);
	else if (redact && take_redact(ctx, &a, &err) < 0)
		status = cmd_fail(ctx, &err);
	else if (redact && !cmd_send_sure(ctx))
		status = cmd_fail_with(ctx, EXIT_UNSUCCESSFUL,
				       "nothing removed\nRemove without a question with --yes.");
	else if (redact)
		status = redact_one(ctx, &a);
	else if ((merge || undo) && take_aim(ctx, &a, &err) < 0)
		status = cmd_fail(ctx, &err);
	else if (a.path)
		status = merge ? offline_edit_merge(ctx, a.path, &a.boxes)
			       : offline_edit_undo(ctx, a.path);
	else
		status = send_live(ctx, &a);
	if (label && status == EXIT_DONE && !ctx->json && !ctx->quiet)
		tell_labels(ctx, a.session);
	aim_release(&a);
	return status;
}

/* IDs after the first may name the session too, and only the same one. */
static void several_ids(json_t *words, const char *session, const char *first, struct err *err)
{
	for (size_t i = 2; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));
		CLEANUP(free_ptr) char *own = session_in_word(word);
		if (own && !live_id_begins(session, own) && (!first || strcmp(own, first) != 0))
			err_set(err, ERR_USAGE, "expected IDs of one session, got '%s'", word);
		else if (own)
			json_array_set_new(words, i, json_bytes_z(strchr(word, '#')));
	}
}

static int send_live(struct cmd_ctx *ctx, const struct aim *a)
{
	struct control_client *c = NULL;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *in_word = session_in_word(cmd_word(ctx, 0));
	const char *which = cmd_opt(ctx, "in") ? cmd_opt(ctx, "in")
			    : a->session       ? a->session
					       : in_word;
	if (live_open(which, ctx->command->flags & COMMAND_LOOKS, &c, &err) < 0)
		return cmd_fail(ctx, &err);
	json_t *words = command_line_words(ctx->line), *opts = opts_to_send(ctx);
	bool deny = !strcmp(ctx->command->name, "deny");
	if (deny && (!cmd_word(ctx, 0) || cmd_opt(ctx, "filter"))) {
		json_decref(words);
		words = deny_filtered(ctx, c, &err);
		json_object_del(opts, "filter");
		json_object_del(opts, "yes");
	} else if ((deny || !strcmp(ctx->command->name, "approve")) && cmd_word(ctx, 1)) {
		several_ids(words, json_str(control_client_welcome(c), "session", ""), in_word,
			    &err);
	}
	if (err.code != ERR_NONE) {
		json_decref(words);
		json_decref(opts);
		control_client_free(&c);
		cmd_fail(ctx, &err);
		return answer_status(&err);
	}
	if (a->session && !cmd_opt(ctx, "in")) { /* the word spoke of the session */
		while (json_array_size(words) > 1)
			json_array_remove(words, 1);
		for (size_t i = 0; i < a->boxes.nr; i++)
			json_array_append_new(words, json_bytes_z(a->boxes.item[i]));
	} else if (in_word) {
		const char *hash = strchr(cmd_word(ctx, 0), '#');
		json_array_set_new(words, 1, json_bytes_z(hash));
	}
	int rc = 0, status;
	if (cmd_has(ctx, "edit"))
		rc = edit_held(c, cmd_word(ctx, 0), opts, &err);
	if (!strcmp(ctx->command->name, "approve") || !strcmp(ctx->command->name, "deny"))
		send_others(ctx, c, cmd_word(ctx, 0), opts);
	for (size_t i = 0; rc == 0 && !strcmp(ctx->command->name, "approve") && cmd_word(ctx, i);
	     i++)
		print_merge(ctx, c, cmd_word(ctx, i));
	if (rc < 0) {
		json_decref(words);
		json_decref(opts);
		status = cmd_fail(ctx, &err);
	} else if (cmd_send_words(ctx, c, words, opts, &err) < 0) {
		cmd_fail(ctx, &err);
		status = answer_status(&err);
	} else {
		status = EXIT_DONE;
	}
	control_client_free(&c);
	return status;
}
