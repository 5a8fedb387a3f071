#include "cli/hook_session.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "sessions/spawn.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/client.h"

enum { PLACE_MAX = 4096 };

/* The file that says where the session is. Returns owned. */
static char *hook_session_place_of(const char *session)
{
	struct hash h;
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	hash_of(session, strlen(session), &h);
	buf_puts(&name, "hook-");
	hex_append(&name, h.b, 16);
	return paths_runtime(buf_cstr(&name));
}

/* Reads the socket's path from @place and connects; -1 without an error that counts: nobody is
 * there. */
static int hook_session_connect_to(const char *place, struct control_client **out)
{
	static const struct control_client_opts o = { .name = "hook", .tty = "" };
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	struct err err = ERR_INIT;
	if (file_read(place, &path, PLACE_MAX, &err) < 0 || !path.len)
		return -1;
	return control_client_open(out, buf_cstr(&path), &o, NULL, NULL, &err);
}

/* One of several hooks that begin at once starts the session, the others wait for it. */
static int hook_session_begin(const char *place, const json_t *opts, struct control_client **out,
			      struct err *err)
{
	CLEANUP(free_ptr)
	char *lock_path = mem_printf("%s.lock", place),
	     *dir = mem_strndup(place, (size_t)(strrchr(place, '/') - place));
	struct spawned sp = { 0 };
	if (dir_make(dir, 0700, err) < 0)
		return -1;
	CLEANUP(fd_close) int lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) < 0)
		return err_sys(err, "can't lock '%s'", lock_path);
	if (hook_session_connect_to(place, out) == 0)
		return 0;
	if (spawn_supervisor(opts, &sp, err) != 0)
		return -1;
	int rc = file_write_atomic(place, sp.socket, strlen(sp.socket), 0600, err);
	spawned_release(&sp);
	if (rc == 0 && hook_session_connect_to(place, out) < 0)
		rc = err_set(err, ERR_CLOSED, "no answer from the session");
	return rc;
}

static json_t *hook_session_words_of(const json_t *event)
{
	json_t *words = json_array(), *j = json_object();
	json_put_str(j, "tool", json_str(event, "hook_event_name", ""));
	json_put(j, "args", json_incref((json_t *)(uintptr_t)event));
	json_put_str(j, "client", "hook");
	json_put_flag(j, "passing", true);
	json_put_int(j, "id", (int64_t)getpid());
	CLEANUP(free_ptr) char *text = json_dump_str(j);
	json_decref(j);
	json_array_append_new(words, json_string("mcp_call"));
	json_array_append_new(words, json_string(text));
	return words;
}

int hook_session_tell(const json_t *event, const json_t *opts, json_t **answer_out, struct err *err)
{
	CLEANUP(free_ptr)
	char *place = hook_session_place_of(json_str(event, "session_id", "none"));
	struct control_client *c = NULL;
	json_t *result = NULL;
	bool there = hook_session_connect_to(place, &c) == 0;
	*answer_out = NULL;
	if (!there && !opts)
		return 0;
	if (!there && hook_session_begin(place, opts, &c, err) < 0)
		return -1;
	int rc = control_client_call(c, hook_session_words_of(event), NULL, -1, &result, err);
	control_client_free(&c);
	if (rc < 0)
		return -1;
	*answer_out = json_incref(json_object_get(result, "structured"));
	json_decref(result);
	if (!strcmp(json_str(event, "hook_event_name", ""), "SessionEnd"))
		unlink(place);
	return *answer_out ? 0 : err_set(err, ERR_INVALID, "no verdict from the session");
}
