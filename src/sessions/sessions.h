/* Finds a session: files in the sessions directory, their ids, and the names that users type.
 *
 * A file is DATE-NAME-ID.glass and its session is s-ID. Users type an id (s-7k2m9q, 7k2m9q), a
 * unique prefix of one, a name, or a path. An unknown id may be a session that another user
 * shares with us (run --share). "#405" or "405" is an event of the default session: the running
 * one if there is exactly one, else the newest. */
#ifndef SESSIONS_SESSIONS_H
#define SESSIONS_SESSIONS_H

#include "cli/lib/cmd.h"
#include "record/read/session.h"

struct session_file {
	char *path, *id, *name;
	char *shared_by; /* the name of who shares it with us; NULL: it is ours */
	int64_t mtime_us;
	int64_t size;
	bool archived; /* in an archive of the directory (archive_places.h) */
};
struct session_files {
	struct session_file *item; /* newest first */
	size_t nr, cap;
	size_t others; /* files of the directory that end in .glass and are named otherwise */
};
#define SESSION_FILES_INIT ((struct session_files){ 0 })
void session_files_release(struct session_files *f);
/* Fills @out (empty), with the sessions of archives. A directory that does not exist holds none. */
NODISCARD int session_files_list(struct session_files *out, const char *dir, struct err *err);
/* Fills size and modification time of the file @name in the open directory @dir, together with its
 * log; zeros: the file doesn't exist. */
void session_file_look(struct session_file *f, int dir, const char *name);
/* Adds those that others share with a group of ours and that run, at the end. */
void session_files_shared(struct session_files *out);
void session_files_sort(struct session_files *f); /* newest first, also the shared ones */
/* Takes "DATE-NAME-ID.glass" apart; false if it is named otherwise. Out strings are owned. */
bool session_file_name(const char *file, char **name_out, char **id_out);

/* It has no end and no writer now: `resume` continues it. */
bool session_broken_off(struct session *s);

/* The path of the session that @text means; NULL = by default. Returns owned through @path_out.
 * ERR_NOENT, or ERR_USAGE when several are meant: the text names them. */
NODISCARD int session_find(const char *dir, const char *text, char **path_out, struct err *err);
/* "s-7k2m9q#405", "#405", "405", or a session alone (then *seq_out is 0). */
NODISCARD int session_ref(const char *dir, const char *text, char **path_out, uint64_t *seq_out,
			  struct err *err);
/* Finds and opens. */
NODISCARD int session_open_ref(struct cmd_ctx *ctx, const char *text, struct session **out,
			       uint64_t *seq_out, struct err *err);

#endif
