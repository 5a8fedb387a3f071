/* The verbs of the console from any other shell: finds the live session that is meant, sends,
 * prints the answer. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "cli/result_text.h"
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
#include "loop/loop.h"
#include "query/sql.h"

enum { CLOSING_TICKS = 100, CLOSING_TICK_US = 50000 };

/* --- which session ----------------------------------------------------------------------------
 */

static bool cmd_send_begins(const char *id, const char *text)
{
	size_t n = strlen(text);
	return n >= 2 && (!strncmp(id, text, n) || !strncmp(id + 2, text, n));
}

static void cmd_send_add_name(struct buf *out, size_t nr, const char *id, const char *name)
{
	buf_printf(out, "%s%s%s%s%s", nr ? ", " : "", id, *name ? " (" : "", name,
		   *name ? ")" : "");
}

/* Opens the one of @ids that @text means, by beginning of its id, else by name. */
static int cmd_send_by_text(const struct strv *ids, const char *text,
			    const struct control_client_opts *o, struct control_client **out,
			    struct err *err)
{
	CLEANUP(buf_release) struct buf found = BUF_INIT;
	const char *one = NULL;
	size_t nr = 0;
	for (size_t i = 0; i < ids->nr; i++)
		if (cmd_send_begins(ids->item[i], text)) {
			cmd_send_add_name(&found, nr++, ids->item[i], "");
			one = ids->item[i];
		}
	if (nr > 1)
		return err_set(err, ERR_USAGE, "ambiguous session '%s': %s", text,
			       buf_cstr(&found));
	if (nr == 1) {
		CLEANUP(free_ptr) char *path = control_path(one);
		return control_client_open(out, path, o, NULL, NULL, err);
	}
	for (size_t i = 0; i < ids->nr; i++) {
		struct control_client *c;
		struct err no = ERR_INIT;
		CLEANUP(free_ptr) char *path = control_path(ids->item[i]);
		if (control_client_open(&c, path, o, NULL, NULL, &no) < 0)
			continue;
		if (strcmp(json_str(control_client_welcome(c), "name", ""), text) != 0) {
			control_client_free(&c);
			continue;
		}
		cmd_send_add_name(&found, nr, ids->item[i], text);
		if (nr++)
			control_client_free(&c);
		else
			*out = c;
	}
	if (nr == 1)
		return 0;
	if (nr > 1) {
		control_client_free(out);
		return err_set(err, ERR_USAGE, "ambiguous session '%s': %s", text,
			       buf_cstr(&found));
	}
	return err_set(
		err, ERR_NOENT,
		"running session '%s' not found\n'sandglass ls --live' lists running sessions.",
		text);
}

static int the_only_one(const struct strv *ids, const struct control_client_opts *o,
			struct control_client **out, struct err *err)
{
	if (ids->nr == 1) {
		CLEANUP(free_ptr) char *path = control_path(ids->item[0]);
		return control_client_open(out, path, o, NULL, NULL, err);
	}
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	for (size_t i = 0; i < ids->nr; i++) {
		struct control_client *c = NULL;
		struct err no = ERR_INIT;
		CLEANUP(free_ptr) char *path = control_path(ids->item[i]);
		bool there = control_client_open(&c, path, o, NULL, NULL, &no) == 0;
		cmd_send_add_name(&all, i, ids->item[i],
				  there ? json_str(control_client_welcome(c), "name", "")
					: "does not answer");
		control_client_free(&c);
	}
	return err_set(err, ERR_USAGE, "several sessions are running: %s\nName one with --in ID.",
		       buf_cstr(&all));
}

/* A path: of a session file (one that is shared with us, too), or of a socket. */
static int cmd_send_by_path(const char *text, const struct control_client_opts *o,
			    struct control_client **out, struct err *err)
{
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(free_ptr) char *id = NULL;
	bool file = session_file_name(strrchr(text, '/') + 1, &name, &id);
	CLEANUP(free_ptr) char *socket = file ? share_find(id, text) : mem_strdup(text);
	return control_client_open(out, socket, o, NULL, NULL, err);
}

/* The path of the one that is shared with us under this id or name, or the only one if @text is
 * NULL; NULL: none or several. */
static char *shared_path(const char *text)
{
	struct session_files files = SESSION_FILES_INIT;
	char *found = NULL;
	session_files_shared(&files);
	for (size_t i = 0; i < files.nr; i++) {
		const struct session_file *f = &files.item[i];
		if (text ? !strcmp(f->id, text) || !strcmp(f->id + 2, text) ||
				    !strcmp(f->name, text)
			 : files.nr == 1)
			found = found ? found : mem_strdup(f->path);
	}
	session_files_release(&files);
	return found;
}

int live_open(const char *text, bool watch, struct control_client **out, struct err *err)
{
	struct strv ids = STRV_INIT;
	struct control_client_opts o = { .watch = watch };
	int rc = control_list(&ids, err);
	CLEANUP(free_ptr)
	char *shared =
		rc == 0 && !ids.nr && !(text && strchr(text, '/')) ? shared_path(text) : NULL;
	if (rc == 0 && ((text && strchr(text, '/')) || shared))
		rc = cmd_send_by_path(shared ? shared : text, &o, out, err);
	else if (rc == 0 && !ids.nr && text)
		rc = err_set(err, ERR_NOENT,
			     "session '%s' is not running\n'sandglass show %s' shows how it ended.",
			     text, text);
	else if (rc == 0 && !ids.nr)
		rc = err_set(err, ERR_NOENT,
			     "no running session found\nStart one with 'sandglass run FILE'.");
	else if (rc == 0 && text)
		rc = cmd_send_by_text(&ids, text, &o, out, err);
	else if (rc == 0)
		rc = the_only_one(&ids, &o, out, err);
	strv_release(&ids);
	return rc;
}

int live_knows(const struct control_client *c, const char *command, struct err *err)
{
	const char *role = json_str(control_client_welcome(c), "role", "");
	if (control_client_knows(c, command))
		return 0;
	if (*role)
		return err_set(err, ERR_DENIED,
			       "'%s' not permitted: this session is shared with you to %s", command,
			       role);
	return err_set(err, ERR_UNSUPPORTED, "the session's supervisor (%s) doesn't support '%s'",
		       json_str(control_client_welcome(c), "program", "an older one"), command);
}

/* --- approve --edit ---------------------------------------------------------------------------
 */

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

/* --- the answer -------------------------------------------------------------------------------
 */

static void print_value(struct cmd_ctx *ctx, const char *key, const json_t *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	if (json_is_null(v) || json_is_false(v))
		return;
	if (!json_get_bytes(v, &text) && !json_is_true(v))
		json_dump_buf(v, &text);
	if (!text.len && !json_is_true(v))
		buf_puts(&text, "none");
	cmd_safe(&b, buf_cstr(&text), text.len, false);
	fprintf(ctx->out, json_is_true(v) ? "%s%s\n" : "%s: %s\n", key, buf_cstr(&b));
}

static void print_held(struct cmd_ctx *ctx, const json_t *row)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	buf_printf(&b, "HELD #%lld %s %s: ", (long long)json_int(row, "action", 0),
		   json_str(row, "agent_name", ""), json_str(row, "kind", ""));
	describe_action(row, &b);
	if (*json_str(row, "rule", ""))
		buf_printf(&b, " (by %s)", json_str(row, "rule", ""));
	if (*json_str(row, "risk", ""))
		buf_printf(&b, ", risk %s", json_str(row, "risk", ""));
	cmd_safe(&safe, buf_cstr(&b), b.len, true);
	/* further lines of a command are indented: none of them starts like a row */
	for (const char *s = buf_cstr(&safe); *s; s += *s == '\n') {
		size_t n = strcspn(s, "\n");
		fprintf(ctx->out, "%s%.*s\n", s == buf_cstr(&safe) ? "" : "    ", (int)n, s);
		s += n;
	}
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

/* A question of a script, whatever bytes it is made of. */
static void print_question(struct cmd_ctx *ctx, const json_t *row)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, one = BUF_INIT, safe = BUF_INIT;
	const json_t *choices = json_object_get(row, "choices"),
		     *text = json_object_get(row, "text");
	buf_printf(&b, "question #%lld: ", (long long)json_int(row, "ask", 0));
	if (json_get_bytes(text, &one))
		buf_append(&b, one.data, one.len);
	for (size_t i = 0; i < json_array_size(choices); i++) {
		const json_t *c = json_array_get(choices, i);
		buf_reset(&one);
		if (json_get_bytes(json_is_object(c) && json_object_get(c, "text")
					   ? json_object_get(c, "text")
					   : c,
				   &one)) {
			buf_printf(&b, "%s%zu ", i ? ", " : "  (", i + 1);
			buf_append(&b, one.data, one.len);
		}
	}
	buf_puts(&b, json_array_size(choices) ? ")" : "");
	cmd_safe(&safe, buf_cstr(&b), b.len, false);
	fprintf(ctx->out, "%s\n", buf_cstr(&safe));
}

static void cmd_send_print_row(struct cmd_ctx *ctx, const json_t *result, const char *key,
			       const json_t *row)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	bool state = !strcmp(ctx->command->name, "state") && describe_state(result, key, row, &b);
	if (state && b.len) {
		cmd_safe(&safe, b.data, b.len, false);
		fprintf(ctx->out, "%s\n", buf_cstr(&safe));
	}
	if (state)
		return;
	if (!strcmp(key, "held"))
		print_held(ctx, row);
	else if (!strcmp(key, "asks"))
		print_question(ctx, row);
	else
		print_value(ctx, key, row);
}

static void print_result(struct cmd_ctx *ctx, const json_t *result)
{
	const char *key;
	json_t *v;
	size_t i;
	if (!strcmp(ctx->command->name, "dry-run")) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		describe_preview_long(result, &text);
		cmd_print_safe(ctx->out, buf_cstr(&text), text.len, true);
		return;
	}
	CLEANUP(buf_release) struct buf words = BUF_INIT;
	if (result_text_of(ctx, result, &words)) {
		buf_putc(&words, '\n');
		cmd_print_safe(ctx->out, buf_cstr(&words), words.len, true);
		return;
	}
	if (!json_is_object(result)) {
		if (!json_is_null(result))
			print_value(ctx, ctx->command->name, result);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)result, key, v)
	{
		if (!json_is_array(v)) {
			print_value(ctx, key, v);
			continue;
		}
		json_t *row;
		json_array_foreach(v, i, row) cmd_send_print_row(ctx, result, key, row);
	}
}

void cmd_print_answer(struct cmd_ctx *ctx, const char *session, const json_t *result)
{
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session);
		json_put(o, "result", json_incref((json_t *)(uintptr_t)result));
		cmd_json(ctx, o);
	} else if (!ctx->quiet) {
		print_result(ctx, result);
	}
}

static int answer_status(const struct err *err)
{
	return err->code == ERR_USAGE || err->code == ERR_PARSE ? EXIT_USAGE : EXIT_UNSUCCESSFUL;
}

/* --- all of it --------------------------------------------------------------------------------
 */

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
	CLEANUP(free_ptr) char *before_hash = session_in_word(word);
	const char *named = a->session ? a->session : before_hash;
	bool maybe = rc == 0 && (named || !live.nr);
	strv_release(&live);
	if (!maybe || session_find(ctx->sessions, named, &a->path, err) < 0)
		return rc;
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

static bool cmd_send_sure(struct cmd_ctx *ctx)
{
	char line[16];
	if (cmd_has(ctx, "yes"))
		return true;
	if (!isatty(0))
		return false;
	fprintf(ctx->out, "remove it for ever? It cannot be brought back. [y/N] ");
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
			buf_printf(&line, "%s#%s (%s)",
				   line.len ? ", " : "what it said may still stand in ",
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
	aim_release(&a);
	return status;
}

/* IDs after the first may name the session too, and only the same one. */
static void several_ids(json_t *words, const char *session, const char *first, struct err *err)
{
	for (size_t i = 2; i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));
		CLEANUP(free_ptr) char *own = session_in_word(word);
		if (own && !cmd_send_begins(session, own) && (!first || strcmp(own, first) != 0))
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
