/* The whole history as ordinary commits in a new bare repository, written by `git fast-import`.
 * There is one branch for each layer (boxes/NAME, with several repositories boxes/NAME/REPO). A
 * first commit has the base's files that the session touched; then comes one for each snapshot. Its
 * author is the agent, or the user who restored files; trailers name event, action, verdict, and
 * approver.
 *
 * Lists of changes are read, and trees only if a list was truncated. A sandbox's own .git is
 * left out. So is a content that is recorded only as a hash: a trailer of the commit names it,
 * and the file keeps its last known bytes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "phrase/describe.h"
#include "exchange/act.h"
#include "exchange/changes.h"
#include "exchange/export.h"
#include "exchange/states.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/read/back.h"
#include "sandbox/workspace/diff.h"

extern char **environ;

struct oids { /* contents that git has been given */
	struct object_id *slot;
	size_t nr, cap;
};

struct history {
	struct export *x;
	FILE *git;
	struct oids sent;
	uint64_t *snapshot; /* of one layer, newest first while they are collected */
	size_t nr, cap;
	struct agent_names names;
	struct err *err;
	json_t *base; /* path -> state, as it was before it was touched first */
	json_t *seen;
};

/* --- contents --- */

static size_t export_git_slot_of(const struct oids *o, const struct object_id *id)
{
	uint64_t h;
	memcpy(&h, id->b, sizeof(h));
	size_t i = (size_t)h & (o->cap - 1);
	while (!object_is_null(&o->slot[i]) && memcmp(&o->slot[i], id, sizeof(*id)) != 0)
		i = (i + 1) & (o->cap - 1);
	return i;
}

/* True if it was not known before. */
static bool add_oid(struct oids *o, const struct object_id *id)
{
	if (o->nr * 2 >= o->cap) {
		struct oids next = { .cap = o->cap ? o->cap * 2 : 1024 };
		next.slot = mem_calloc(next.cap, sizeof(*next.slot));
		for (size_t i = 0; i < o->cap; i++)
			if (!object_is_null(&o->slot[i]))
				next.slot[export_git_slot_of(&next, &o->slot[i])] = o->slot[i];
		next.nr = o->nr;
		free(o->slot);
		*o = next;
	}
	size_t i = export_git_slot_of(o, id);
	if (!object_is_null(&o->slot[i]))
		return false;
	o->slot[i] = *id;
	o->nr++;
	return true;
}

static bool was_sent(const struct oids *o, const struct object_id *id)
{
	return o->nr && !object_is_null(&o->slot[export_git_slot_of(o, id)]);
}

/* Gives git the bytes; false when the record does not hold them. */
static bool send_blob(struct history *h, const struct object_id *id)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	struct err none = ERR_INIT;
	if (session_object(h->x->s, id, NULL, &bytes, &none) < 0)
		return false;
	if (add_oid(&h->sent, id)) {
		fprintf(h->git, "blob\ndata %zu\n", bytes.len);
		fwrite(buf_cstr(&bytes), 1, bytes.len, h->git);
		fputc('\n', h->git);
	}
	return true;
}

/* --- a change --- */

static bool export_git_path_of(const json_t *change, struct buf *path)
{
	return json_get_bytes(json_object_get(change, "path"), path) && path->len &&
	       !ws_path_is_git(buf_cstr(path), path->len);
}

static void export_git_put_path(FILE *out, const struct buf *path)
{
	fputc('"', out);
	for (size_t i = 0; i < path->len; i++) {
		unsigned char c = (unsigned char)path->data[i];
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			fprintf(out, "\\%03o", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* Git's mode of a state; modes that git does not know become the nearest one. 0: a directory, or
 * what git cannot hold. */
static unsigned git_mode(const json_t *state)
{
	unsigned mode = (unsigned)strtoul(json_str(state, "mode", "0"), NULL, 8);
	if (S_ISREG(mode))
		return mode & 0100 ? 0100755 : 0100644;
	return S_ISLNK(mode) ? 0120000 : 0;
}

/* Gives git the content of @state, or says in @missing why it will not have it. */
static void export_git_put_content(struct history *h, const json_t *state, const struct buf *path,
				   struct buf *missing)
{
	struct object_id id;
	unsigned mode = (unsigned)strtoul(json_str(state, "mode", "0"), NULL, 8);
	const char *why = !git_mode(state)				   ? "no file"
			  : !object_parse(json_str(state, "oid", ""), &id) ? "unreadable"
									   : "hash only";
	if (S_ISDIR(mode) || (*why == 'h' && send_blob(h, &id)))
		return;
	buf_printf(missing, "%s%s (%s)", missing->len ? ", " : "", buf_cstr(path), why);
}

/* "M 100644 OID path" of what git was given the content of. */
static void export_git_put_file(struct history *h, const json_t *state, const struct buf *path)
{
	struct object_id id;
	unsigned mode = git_mode(state);
	const char *hex = json_str(state, "oid", "");
	if (!mode || !object_parse(hex, &id) || !was_sent(&h->sent, &id))
		return;
	fprintf(h->git, "M %o %s ", mode, hex);
	export_git_put_path(h->git, path);
	fputc('\n', h->git);
}

/* --- a commit --- */

/* One line without what would end or confuse it. */
static void put_clean(struct buf *out, const char *text, size_t max)
{
	size_t n = 0;
	for (; *text && n < max; text++, n++)
		buf_putc(out, (unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text);
}

/* Returns the agent whose work it is; @person: the name of the user whose it is, if it is
 * one's. */
static uint64_t export_git_put_message(struct history *h, const struct event *ev,
				       const json_t *body, const struct buf *missing,
				       struct buf *out, struct buf *person)
{
	uint64_t agent = ev->agent;
	struct act a;
	struct err none = ERR_INIT;
	const json_t *by = json_object_get(body, "by");
	uint64_t action =
		ev->action
			? ev->action
			: (uint64_t)json_integer_value(json_array_get(by, json_array_size(by) - 1));
	CLEANUP(buf_release)
	struct buf what = BUF_INIT, how = BUF_INIT, tail = BUF_INIT, rules = BUF_INIT,
		   proposed = BUF_INIT;
	if (action && act_load(&a, h->x->s, action, &none) == 0) {
		agent = a.agent;
		buf_printf(&what, "%s ", act_kind(&a));
		act_what(&a, &what);
		act_how(&a, &how);
		put_clean(out, buf_cstr(&what), 200);
		if (json_str(a.wanted, "said", NULL)) {
			buf_puts(out, "\n\n");
			for (const char *p = json_str(a.wanted, "said", ""); *p; p++)
				if ((unsigned char)*p >= 0x20 || *p == '\n')
					buf_putc(out, *p);
		}
		buf_printf(&tail,
			   "\nSandglass-Action: #%" PRIu64
			   "%s\nSandglass-End: %s\nSandglass-Verdict: %s",
			   action, json_flag(body, "shared", false) ? " (one of several)" : "",
			   buf_cstr(&how), act_text(&a, a.judged.verdict, "unknown"));
		if (act_proposed(&a, &proposed)) {
			buf_puts(&tail, "\nSandglass-Proposed: ");
			put_clean(&tail, buf_cstr(&proposed), 1000);
		}
		act_rules(&a, &rules);
		if (rules.len) {
			buf_puts(&tail, "\nSandglass-Rules: ");
			put_clean(&tail, buf_cstr(&rules), 1000);
		}
		if (a.has_decided) {
			buf_printf(&tail, "\nSandglass-Decision: %s\n%s: ",
				   act_text(&a, a.decided.decision, "unknown"),
				   act_person(&a) ? "Approved-by" : "Decided-by");
			put_clean(&tail, act_decider(&a, "unknown"), 200);
		}
		act_release(&a);
	} else {
		CLEANUP(buf_release) struct buf back = BUF_INIT;
		bool is = session_put_back(h->x->s, ev->seq, &back, person);
		put_clean(out, is ? buf_cstr(&back) : json_str(body, "why", "snapshot"), 50);
	}
	buf_printf(out, "\n\nSandglass-Session: %s\nSandglass-Event: #%" PRIu64,
		   session_id(h->x->s), ev->seq);
	buf_append(out, buf_cstr(&tail), tail.len);
	if (missing->len) {
		buf_puts(out, "\nSandglass-Missing: ");
		put_clean(out, buf_cstr(missing), 2000);
	}
	buf_putc(out, '\n');
	return agent;
}

static void put_commit(struct history *h, const char *ref, const char *author, int64_t ts_us,
		       const struct buf *message)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT, mail = BUF_INIT;
	put_clean(&name, author && *author ? author : "sandglass", 100);
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] == '<' || name.data[i] == '>') /* git's own, around the address */
			name.data[i] = ' ';
	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-';
		buf_putc(&mail, plain ? c : '-');
	}
	fprintf(h->git, "commit %s\n", ref);
	fprintf(h->git, "author %s <%s@%s.invalid> %" PRId64 " +0000\n", buf_cstr(&name),
		buf_cstr(&mail), session_id(h->x->s), ts_us / 1000000);
	fprintf(h->git, "committer sandglass <recorder@sandglass.invalid> %" PRId64 " +0000\n",
		ts_us / 1000000);
	fprintf(h->git, "data %zu\n", message->len);
	fwrite(message->data, 1, message->len, h->git);
	fputc('\n', h->git);
}

static void export_git_one_snapshot(struct history *h, const char *ref, const struct event *ev,
				    const json_t *body, const json_t *changes)
{
	CLEANUP(buf_release)
	struct buf message = BUF_INIT, missing = BUF_INIT, path = BUF_INIT, person = BUF_INIT;
	size_t i;
	json_t *change;
	json_array_foreach(changes, i, change) if (export_git_path_of(change, &path) &&
						   strcmp(json_str(change, "op", ""), "D") != 0)
		export_git_put_content(h, change, &path, &missing);
	uint64_t agent = export_git_put_message(h, ev, body, &missing, &message, &person);
	put_commit(h, ref, person.len ? buf_cstr(&person) : agent_name(&h->names, h->x->s, agent),
		   ev->ts_us, &message);
	json_array_foreach(changes, i, change)
	{
		if (!export_git_path_of(change, &path))
			continue;
		const char *op = json_str(change, "op", "");
		/* a directory that is empty is none for git */
		if (*op == 'D' || (*op == 'T' && !git_mode(change))) {
			fputs("D ", h->git);
			export_git_put_path(h->git, &path);
			fputc('\n', h->git);
		} else {
			export_git_put_file(h, change, &path);
		}
	}
	if (missing.len)
		export_lacks(h->x, "contents of %.200s", buf_cstr(&missing));
}

/* --- the base: files before their first change ------------------------------------------------ */

static void look_at_base(struct history *h, const json_t *changes)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT, key = BUF_INIT;
	size_t i;
	json_t *change, *was;
	json_array_foreach(changes, i, change)
	{
		if (!export_git_path_of(change, &path))
			continue;
		buf_reset(&key);
		ws_quote_path(&key, "", path.data, path.len);
		if (json_object_get(h->seen, buf_cstr(&key)))
			continue;
		json_put(h->seen, buf_cstr(&key), json_true());
		was = json_object_get(change, "was");
		if (!strcmp(json_str(change, "op", "A"), "A") || !was)
			continue;
		json_t *state = json_copy(was);
		json_put(state, "path", json_incref(json_object_get(change, "path")));
		json_put(h->base, buf_cstr(&key), state);
	}
}

static void put_base(struct history *h, const char *ref, int64_t ts_us)
{
	CLEANUP(buf_release) struct buf message = BUF_INIT, path = BUF_INIT, missing = BUF_INIT;
	const char *key;
	json_t *state;
	json_object_foreach(h->base, key, state) if (export_git_path_of(state, &path))
		export_git_put_content(h, state, &path, &missing);
	buf_printf(
		&message,
		"base\n\nThe files that the session came to touch, as they were before.\n\nSandglass-Session: %s\n",
		session_id(h->x->s));
	put_commit(h, ref, "base", ts_us, &message);
	json_object_foreach(h->base, key, state) if (export_git_path_of(state, &path))
		export_git_put_file(h, state, &path);
	if (missing.len)
		export_lacks(h->x, "contents of the base: %.200s", buf_cstr(&missing));
}

/* --- a layer --- */

static bool export_git_collect(void *self, uint64_t seq, const struct event *ev, const json_t *body)
{
	struct history *h = self;
	(void)ev;
	(void)body;
	GROW(h->snapshot, h->nr, h->cap);
	h->snapshot[h->nr++] = seq;
	return true;
}

/* Both passes over the chain, oldest first: @ref NULL looks for the base. */
static int export_git_walk(struct history *h, const char *ref)
{
	struct arena arena = ARENA_INIT;
	int rc = 0;
	for (size_t i = h->nr; rc == 0 && i-- > 0;) {
		struct event ev;
		rc = session_event(h->x->s, h->snapshot[i], &ev, &arena, h->err);
		CLEANUP(json_release)
		json_t *body = rc == 0 ? snapshot_in_history(h->x->s, &ev, h->err) : NULL,
		       *changes = NULL;
		rc = body ? snapshot_changes(h->x->s, body, &changes, h->err) : -1;
		if (rc == 0 && !ref)
			look_at_base(h, changes);
		else if (rc == 0 && i == h->nr - 1)
			put_base(h, ref, ev.ts_us);
		if (rc == 0 && ref && json_array_size(changes))
			export_git_one_snapshot(h, ref, &ev, body, changes);
		arena_reset(&arena);
	}
	arena_release(&arena);
	return rc;
}

/* Writes a valid part of a ref's name for git. */
static void put_ref(struct buf *out, const char *name)
{
	for (; *name; name++) {
		char c = *name;
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '_';
		buf_putc(out, plain ? c : '-');
	}
}

static void put_branch(struct buf *out, const struct layer_at *l)
{
	buf_puts(out, "refs/heads/boxes/");
	put_ref(out, *l->box_name ? l->box_name : "box");
	buf_printf(out, "-%" PRIu64, l->box);
	if (*l->repo) {
		buf_putc(out, '-');
		put_ref(out, l->repo);
	}
}

static int export_git_one_layer(struct history *h, const struct layer_at *l)
{
	CLEANUP(buf_release) struct buf ref = BUF_INIT;
	put_branch(&ref, l);
	h->nr = 0;
	h->base = json_object();
	h->seen = json_object();
	int rc = snapshots_back(h->x->s, l->snapshot, export_git_collect, h, h->err);
	if (rc == 0)
		rc = export_git_walk(h, NULL);
	json_decref(h->seen);
	if (rc == 0)
		rc = export_git_walk(h, buf_cstr(&ref));
	json_decref(h->base);
	return rc;
}

/* --- git --- */

static pid_t export_git_start(char *const argv[], int in, struct err *err)
{
	posix_spawn_file_actions_t fa;
	pid_t pid = -1;
	posix_spawn_file_actions_init(&fa);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&fa, in, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	int e = posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	if (e) {
		errno = e;
		err_sys(err, "can't start git, which this format needs");
		return -1;
	}
	return pid;
}

static int export_git_ended(pid_t pid, const char *what, struct err *err)
{
	int status = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(err, ERR_IO, "git %s failed", what);
}

static int export_git_init(const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *to = mem_strdup(path);
	char *const argv[] = { (char[]){ "git" },
			       (char[]){ "init" },
			       (char[]){ "-q" },
			       (char[]){ "--bare" },
			       (char[]){ "--template=" },
			       to,
			       NULL };
	pid_t pid = export_git_start(argv, -1, err);
	return pid < 0 ? -1 : export_git_ended(pid, "init", err);
}

/* A clone begins with the newest box's branch. */
static int point_head(const char *path, const struct layers_at *l, struct err *err)
{
	CLEANUP(buf_release) struct buf ref = BUF_INIT;
	CLEANUP(free_ptr) char *dir = mem_printf("--git-dir=%s", path);
	put_branch(&ref, &l->item[l->nr - 1]);
	char *const argv[] = { (char[]){ "git" },  dir,	     (char[]){ "symbolic-ref" },
			       (char[]){ "HEAD" }, ref.data, NULL };
	pid_t pid = export_git_start(argv, -1, err);
	return pid < 0 ? -1 : export_git_ended(pid, "symbolic-ref", err);
}

static int export_git_import(struct history *h, const struct layers_at *l, struct err *err)
{
	int fds[2];
	CLEANUP(free_ptr) char *dir = mem_printf("--git-dir=%s", h->x->path);
	char *const argv[] = { (char[]){ "git" }, dir, (char[]){ "fast-import" },
			       (char[]){ "--quiet" }, NULL };
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe");
	pid_t pid = export_git_start(argv, fds[0], err);
	close(fds[0]);
	h->git = fdopen(fds[1], "w");
	int rc = pid < 0 || !h->git ? -1 : 0;
	for (size_t i = 0; rc == 0 && i < l->nr; i++)
		rc = export_git_one_layer(h, &l->item[i]);
	if (h->git && rc == 0)
		fputs("done\n", h->git);
	if (h->git && fclose(h->git) != 0 && rc == 0)
		rc = err_sys(err, "git fast-import has ended");
	struct err late = ERR_INIT;
	if (pid > 0 && export_git_ended(pid, "fast-import", rc == 0 ? err : &late) < 0)
		rc = -1;
	return rc;
}

int export_git(struct export *x, struct err *err)
{
	struct history h = { .x = x, .err = err };
	struct layers_at l;
	if (layers_at(&l, x->s, 0, x->box, err) < 0)
		return -1;
	void (*was)(int) = signal(SIGPIPE, SIG_IGN); /* a git that dies is an error, not our end */
	int rc = l.nr ? export_git_init(x->path, err)
		      : err_set(err, ERR_NOENT, "session %s has no snapshot of files",
				session_id(x->s));
	if (rc == 0)
		rc = export_git_import(&h, &l, err);
	if (rc == 0)
		rc = point_head(x->path, &l, err);
	signal(SIGPIPE, was);
	layers_at_release(&l);
	agent_names_release(&h.names);
	free(h.snapshot);
	free(h.sent.slot);
	return rc;
}
