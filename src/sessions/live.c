#include "sessions/live.h"

#include <string.h>

#include "base/mem.h"
#include "control/share.h"
#include "control/socket.h"
#include "sessions/sessions.h"

bool live_id_begins(const char *id, const char *text)
{
	size_t n = strlen(text);
	return n >= 2 && (!strncmp(id, text, n) || !strncmp(id + 2, text, n));
}

static void live_add_name(struct buf *out, size_t nr, const char *id, const char *name)
{
	buf_printf(out, "%s%s%s%s%s", nr ? ", " : "", id, *name ? " (" : "", name,
		   *name ? ")" : "");
}

/* Opens the one of @ids that @text means, by beginning of its id, else by name. */
static int live_by_text(const struct strv *ids, const char *text,
			const struct control_client_opts *o, struct control_client **out,
			struct err *err)
{
	CLEANUP(buf_release) struct buf found = BUF_INIT;
	const char *one = NULL;
	size_t nr = 0;
	for (size_t i = 0; i < ids->nr; i++)
		if (live_id_begins(ids->item[i], text)) {
			live_add_name(&found, nr++, ids->item[i], "");
			one = ids->item[i];
		}
	if (nr > 1)
		return err_set(err, ERR_USAGE, "ambiguous session '%s': %s\nName one by its id.",
			       text, buf_cstr(&found));
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
		live_add_name(&found, nr, ids->item[i], text);
		if (nr++)
			control_client_free(&c);
		else
			*out = c;
	}
	if (nr == 1)
		return 0;
	if (nr > 1) {
		control_client_free(out);
		return err_set(err, ERR_USAGE, "ambiguous session '%s': %s\nName one by its id.",
			       text, buf_cstr(&found));
	}
	return err_set(
		err, ERR_NOENT,
		"running session '%s' not found\n'sandglass ls --live' lists running sessions.",
		text);
}

static int live_only_one(const struct strv *ids, const struct control_client_opts *o,
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
		live_add_name(&all, i, ids->item[i],
			      there ? json_str(control_client_welcome(c), "name", "")
				    : "does not answer");
		control_client_free(&c);
	}
	return err_set(err, ERR_USAGE, "several sessions are running: %s\nName one with --in ID.",
		       buf_cstr(&all));
}

/* A path: of a session file (one that is shared with us, too), or of a socket. */
static int live_by_path(const char *text, const struct control_client_opts *o,
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
static char *live_shared_path(const char *text)
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
		rc == 0 && !ids.nr && !(text && strchr(text, '/')) ? live_shared_path(text) : NULL;
	if (rc == 0 && ((text && strchr(text, '/')) || shared))
		rc = live_by_path(shared ? shared : text, &o, out, err);
	else if (rc == 0 && !ids.nr && text)
		rc = err_set(err, ERR_NOENT,
			     "session '%s' is not running\n'sandglass ls' lists the sessions.",
			     text);
	else if (rc == 0 && !ids.nr)
		rc = err_set(err, ERR_NOENT,
			     "no running session found\nStart one with 'sandglass run FILE'.");
	else if (rc == 0 && text)
		rc = live_by_text(&ids, text, &o, out, err);
	else if (rc == 0)
		rc = live_only_one(&ids, &o, out, err);
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
