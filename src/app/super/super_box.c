#include "app/super/super_box.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/host/op.h"
#include "app/super/resume.h"
#include "app/super/super_net.h"
#include "app/super/super_tree.h"
#include "base/fd.h"
#include "base/paths.h"

/* One box of the session. */
struct super_box {
	struct super_box *next;
	uint64_t id;
	char *name;
	struct call *opener; /* box.open that waits for it */
	struct trees *trees; /* its files; NULL when the driver shows none */
	struct net *net;     /* its way out; NULL = none */
	bool keep;
	const struct old_snap *adopt; /* its files are to become those of these; borrowed from the resume */
	size_t nr_adopt;
	bool reopened, restore;
	uint64_t fork_from, fork_n; /* its files are to become those of another box */
};

int super_box_init(struct super *s, struct err *err)
{
	if (dir_make(s->state_dir, 0700, err) < 0)
		return err_wrap(err, "cannot keep boxes");
	return 0;
}

static struct super_box *find(struct super *s, uint64_t id)
{
	for (struct super_box *b = s->box; b; b = b->next)
		if (b->id == id)
			return b;
	return NULL;
}

static void drop(struct super *s, struct super_box *b)
{
	for (struct super_box **p = &s->box; *p; p = &(*p)->next)
		if (*p == b) {
			*p = b->next;
			break;
		}
	net_free(&b->net);
	trees_free(&b->trees);
	free(b->name);
	free(b);
}

void super_box_release(struct super *s)
{
	while (s->box)
		drop(s, s->box);
	struct err err = ERR_INIT;
	if (s->state_dir && !s->keep_boxes && dir_remove(s->state_dir, &err) < 0)
		fprintf(stderr, "sandglass: %s\n", err.text);
}

bool super_box_busy(struct super *s)
{
	for (struct super_box *b = s->box; b; b = b->next)
		if (b->trees && trees_busy(b->trees))
			return true;
	return false;
}

struct trees *super_box_trees(struct super *s, uint64_t box)
{
	struct super_box *b = find(s, box);
	return b ? b->trees : NULL;
}

/* --- open --- */

/* The strings of a JSON array as a list; points into @list. Returns owned array. */
static const char **string_list(const json_t *list, size_t *nr_out)
{
	size_t n = json_array_size(list);
	const char **v = xcalloc(n + 1, sizeof(*v));
	*nr_out = 0;
	for (size_t i = 0; i < n; i++)
		if (json_is_string(json_array_get(list, i)))
			v[(*nr_out)++] = json_string_value(json_array_get(list, i));
	return v;
}

static int add_repo(struct arena *a, struct box_repo *to, const char *name, const char *path, struct err *err)
{
	char full[PATH_MAX];
	struct stat st;
	if (!realpath(path, full))
		return err_sys(err, "workspace '%s' cannot be used", path);
	if (stat(full, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "workspace '%s' is not a directory", path);
	if (!strcmp(full, "/"))
		return err_set(err, ERR_INVALID, "the whole file system cannot be a workspace; name a directory");
	to->name = arena_strdup(a, name);
	to->host_dir = arena_strdup(a, full);
	return 0;
}

static int collect_repos(struct arena *a, const json_t *repo, struct box_opts *o, struct err *err)
{
	if (!repo || json_is_null(repo))
		return 0;
	size_t n = json_is_object(repo) ? json_object_size(repo) : 1;
	struct box_repo *list = arena_alloc(a, n * sizeof(*list));
	if (json_is_string(repo)) {
		if (add_repo(a, &list[0], "", json_string_value(repo), err) < 0)
			return -1;
		o->nr_repos = 1;
	} else if (json_is_object(repo)) {
		const char *name;
		json_t *path;
		json_object_foreach((json_t *)(uintptr_t)repo, name, path) {
			if (!json_is_string(path))
				return err_set(err, ERR_SCRIPT, "repos: '%s' must be a path", name);
			CLEANUP(free_ptr) char *plain = op_plain_name(name, "");
			if (strcmp(plain, name) != 0)
				return err_set(err, ERR_SCRIPT, "repos: '%s' cannot be the name of a folder", name);
			if (add_repo(a, &list[o->nr_repos], name, json_string_value(path), err) < 0)
				return -1;
			o->nr_repos++;
		}
	} else {
		return err_set(err, ERR_SCRIPT, "repo must be a path, repos a table of paths");
	}
	o->repo = list;
	return 0;
}

static const struct driver *choose_driver(struct super *s, const json_t *args, struct err *err)
{
	const char *name = json_str(args, "backend", s->opts->backend ? s->opts->backend : "process");
	const struct driver *d = driver_find(name);
	if (d)
		return d;
	struct buf known = BUF_INIT;
	for (size_t i = 0; driver_at(i); i++)
		buf_printf(&known, "%s%s", i ? ", " : "", driver_at(i)->name);
	err_set(err, ERR_SCRIPT, "no sandbox driver '%s' (known: %s)", name, buf_cstr(&known));
	buf_release(&known);
	return NULL;
}

static char *unique_name(struct super *s, const char *want)
{
	char *name = op_plain_name(want, "box");
	for (int n = 2; boxes_find(s->boxes, name); n++) {
		free(name);
		CLEANUP(free_ptr) char *base = op_plain_name(want, "box");
		name = xasprintf("%s-%d", base, n);
	}
	return name;
}

int super_box_open(struct call *c, struct err *err)
{
	struct super *s = c->super;
	const struct driver *d = choose_driver(s, c->args, err);
	if (!d)
		return -1;
	struct arena a = ARENA_INIT;
	const json_t *lim = json_object_get(c->args, "limits");
	CLEANUP(free_ptr) char *name = unique_name(s, json_str(c->args, "name", "box"));
	CLEANUP(free_ptr) char *dir = path_join(s->state_dir, name);
	struct box_opts o = {
		.name = name,
		.state_dir = dir,
		.limits = {
			.mem_bytes = json_int(lim, "mem_bytes", 0),
			.disk_bytes = json_int(lim, "disk_bytes", 0),
			.cpu_milli = json_int(lim, "cpus_milli", 0),
			.pids = (int)json_int(lim, "pids", 0),
			.wall_us = json_int(lim, "time_us", 0),
		},
		.net = net_wanted(json_object_get(c->args, "net")),
		.accept_reduced = s->opts->accept_reduced || !strcmp(json_str(c->args, "accept", ""), "reduced"),
		.driver = json_object_get(c->args, "options"),
	};
	const char **expose = string_list(json_object_get(c->args, "expose"), &o.nr_expose);
	json_t *roots = json_object_get(c->args, "roots");
	const char **root = string_list(roots ? roots : s->opts->roots, &o.nr_roots);
	struct strv env = STRV_INIT;
	o.expose = expose;
	o.roots = root;
	op_env(json_object_get(c->args, "env"), &env);
	if (o.net)
		net_env(&env);
	o.env = env.nr ? (const char *const *)env.item : NULL;
	int rc = collect_repos(&a, json_object_get(c->args, "repo"), &o, err);
	if (rc == 0 && d->tree && o.nr_repos == 0) {
		/* no repository: an empty folder of ours is the base, so that all else is alike */
		CLEANUP(free_ptr) char *empty = path_join(s->state_dir, "empty");
		rc = dir_make(empty, 0755, err);
	}
	if (rc == 0) {
		struct super_box *b = NEW(struct super_box);
		b->name = xstrdup(name);
		b->opener = c;
		b->keep = json_flag(c->args, "keep", false);
		b->id = boxes_open(s->boxes, d, &o, c->agent ? c->agent : s->start_seq, c->agent);
		b->next = s->box;
		s->box = b;
		if (o.net)
			b->net = net_new(s, b->id, json_object_get(c->args, "net"));
	}
	strv_release(&env);
	free(expose);
	free(root);
	arena_release(&a);
	return rc;
}

int super_box_fork(struct call *c, uint64_t from, uint64_t n, struct err *err)
{
	struct super *s = c->super;
	const struct box_opts *like = boxes_opts(s->boxes, from);
	struct box *src = boxes_get(s->boxes, from);
	if (!like || !src)
		return err_set(err, ERR_CLOSED, "the box that was to be copied is gone");
	struct box_opts o = *like;
	CLEANUP(free_ptr) char *name = unique_name(s, json_str(c->args, "name", like->name));
	CLEANUP(free_ptr) char *dir = path_join(s->state_dir, name);
	o.name = name;
	o.state_dir = dir;
	struct super_box *b = NEW(struct super_box);
	b->name = xstrdup(name);
	b->opener = c;
	b->fork_from = from;
	b->fork_n = n;
	b->id = boxes_open(s->boxes, src->driver, &o, c->agent ? c->agent : from, c->agent);
	b->next = s->box;
	s->box = b;
	struct super_box *parent = find(s, from);
	if (o.net && parent && parent->net)
		b->net = net_copy(s, b->id, parent->net);
	return 0;
}

uint64_t super_box_reopen(struct super *s, uint64_t old, const json_t *open, const struct old_snap *snap, size_t nr,
			  bool restore, struct err *err)
{
	const struct driver *d = driver_find(json_str(open, "driver", ""));
	const json_t *lim = json_object_get(open, "limits"), *repos = json_object_get(open, "repos");
	struct arena a = ARENA_INIT;
	if (!d) {
		err_set(err, ERR_UNSUPPORTED, "no sandbox driver '%s'", json_str(open, "driver", ""));
		return 0;
	}
	CLEANUP(free_ptr) char *name = unique_name(s, json_str(open, "name", "box"));
	CLEANUP(free_ptr) char *dir = path_join(s->state_dir, name); /* what the old supervisor left in it is used */
	struct box_opts o = {
		.name = name,
		.state_dir = dir,
		.limits = {
			.mem_bytes = json_int(lim, "mem_bytes", 0),
			.disk_bytes = json_int(lim, "disk_bytes", 0),
			.cpu_milli = json_int(lim, "cpu_milli", 0),
			.pids = (int)json_int(lim, "pids", 0),
			.wall_us = json_int(lim, "wall_us", 0),
		},
		.accept_reduced = json_flag(open, "accept_reduced", false),
		.driver = json_object_get(open, "options"),
	};
	struct box_repo *list = arena_alloc(&a, (json_array_size(repos) + 1) * sizeof(*list));
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < json_array_size(repos); i++, o.nr_repos++)
		rc = add_repo(&a, &list[i], json_str(json_array_get(repos, i), "name", ""),
			      json_str(json_array_get(repos, i), "dir", ""), err);
	o.repo = list;
	const char **expose = string_list(json_object_get(open, "expose"), &o.nr_expose);
	const char **root = string_list(json_object_get(open, "roots"), &o.nr_roots);
	size_t nr_env;
	const char **env = string_list(json_object_get(open, "env"), &nr_env);
	o.expose = expose;
	o.roots = root;
	o.env = nr_env ? env : NULL;
	struct super_box *b = NEW(struct super_box);
	if (rc == 0) {
		b->name = xstrdup(name);
		b->reopened = true;
		b->adopt = snap;
		b->nr_adopt = nr;
		b->restore = restore;
		b->id = boxes_open(s->boxes, d, &o, old, 0);
		b->next = s->box;
		s->box = b;
	}
	uint64_t id = b->id;
	if (rc < 0)
		free(b);
	free(expose);
	free(root);
	free(env);
	arena_release(&a);
	return id;
}

static void adopted(struct super *s, uint64_t box, const struct err *err)
{
	resume_box_ready(s->resume, box, err);
}

static enum gate_wall wall_of(const struct box *b)
{
	return !strcmp(b->profile, "none") ? WALL_NONE : !strcmp(b->profile, "reduced") ? WALL_CAREFUL : WALL_BOXED;
}

static json_t *caps_of(const struct driver *d)
{
	static const struct {
		unsigned cap;
		const char *name;
	} known[] = { { CAP_STREAMS, "streams" }, { CAP_STDIN, "stdin" },     { CAP_SIGNAL, "signal" }, { CAP_PTY, "pty" },
		      { CAP_FREEZE, "freeze" },	  { CAP_SNAPSHOT, "snapshot" }, { CAP_FORK, "fork" },	{ CAP_LISTEN, "listen" },
		      { CAP_DIAL, "dial" } };
	json_t *o = json_object();
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		json_put_flag(o, known[i].name, (d->caps & known[i].cap) != 0);
	return o;
}

/* The box is there, and so is the first snapshot: the script may go on. */
static void answer_opener(struct super *s, struct super_box *sb)
{
	struct call *c = sb->opener;
	sb->opener = NULL;
	if (c)
		super_box_answer(s, sb->id, c);
}

void super_box_answer(struct super *s, uint64_t box, struct call *c)
{
	struct super_box *sb = find(s, box);
	struct box *b = boxes_get(s->boxes, box);
	if (!sb || !b) {
		call_fail(c, "backend", NULL, NULL, box, "box '%s' is gone", sb ? sb->name : "");
		return;
	}
	json_t *v = json_object();
	json_put_int(v, "box", (int64_t)sb->id);
	json_put_str(v, "name", sb->name);
	json_put_str(v, "backend", b->driver->name);
	json_put_str(v, "profile", b->profile);
	json_put_str(v, "workspace", "/workspace");
	json_put(v, "caps", caps_of(b->driver));
	call_answer(c, v);
}

void super_box_opened(struct super *s, uint64_t box, json_t *result, const struct err *err)
{
	struct super_box *sb = find(s, box);
	(void)result;
	if (!sb)
		return;
	if (err && sb->reopened)
		resume_box_ready(s->resume, box, err);
	if (err) {
		struct call *c = sb->opener;
		sb->opener = NULL;
		CLEANUP(free_ptr) char *name = xstrdup(sb->name);
		drop(s, sb);
		if (c)
			call_fail(c, err->code == ERR_INVALID || err->code == ERR_NOENT ? "script" : "backend", NULL, NULL, box,
				  "box '%s': %s", name, err->text);
		super_maybe_finish(s);
		return;
	}
	struct box *b = boxes_get(s->boxes, box);
	if (!b)
		return;
	gate_box(s->gate, box, wall_of(b), b->profile, sb->name);
	if (sb->net)
		net_attach(sb->net, b);
	if (b->driver->tree)
		sb->trees = trees_new(s, b, sb->name, boxes_opts(s->boxes, box));
	else if (sb->reopened)
		resume_box_ready(s->resume, box, NULL);
	else
		answer_opener(s, sb);
}

void super_box_ready(struct super *s, uint64_t box)
{
	struct super_box *sb = find(s, box);
	if (!sb)
		return;
	if (sb->reopened && sb->trees)
		trees_adopt(sb->trees, sb->adopt, sb->nr_adopt, sb->restore, adopted);
	else if (sb->fork_from && sb->opener && sb->trees)
		trees_fork_into(sb->trees, take(&sb->opener), sb->fork_from, sb->fork_n);
	else
		answer_opener(s, sb);
}

void super_box_gone(struct super *s, uint64_t box)
{
	struct super_box *sb = find(s, box);
	if (!sb)
		return;
	answer_opener(s, sb);
	s->keep_boxes |= sb->keep;
	drop(s, sb);
}

void super_box_close(struct super *s, uint64_t box)
{
	boxes_close(s->boxes, box);
}

void super_box_snapshot(struct super *s, uint64_t box, uint64_t action)
{
	struct super_box *sb = find(s, box);
	if (sb && sb->trees)
		trees_after_action(sb->trees, action);
	else
		gate_settled(s->gate, action);
}

/* --- command not found --- */

/* "sh: 1: cargo: not found", "bash: line 1: cargo: command not found": the word before ": not found". */
static char *missing_word(const char *text, const json_t *args)
{
	const char *p = strstr(text, ": not found");
	if (!p)
		p = strstr(text, ": command not found");
	if (p) {
		const char *start = p;
		while (start > text && start[-1] != ' ' && start[-1] != '\n' && start[-1] != ':')
			start--;
		if (start < p)
			return xstrndup(start, (size_t)(p - start));
	}
	const json_t *first = json_array_get(json_object_get(args, "argv"), 0);
	return json_is_string(first) ? xstrdup(json_string_value(first)) : NULL;
}

/* The folder to give so that a program runs with what belongs to it: ~/.cargo for ~/.cargo/bin/cargo, /opt/go for
 * /opt/go/bin/go. */
static char *root_of(const char *program)
{
	char full[PATH_MAX];
	const char *home = getenv("HOME");
	char *path = xstrdup(realpath(program, full) ? full : program);
	size_t n = home ? strlen(home) : 0;
	if (n > 1 && !strncmp(path, home, n) && path[n] == '/') {
		char *slash = strchr(path + n + 1, '/');
		if (slash)
			*slash = 0;
		return path;
	}
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(path, '/');
		if (slash && slash != path)
			*slash = 0;
	}
	return path;
}

bool super_box_explain_missing(struct super *s, const char *stderr_text, const json_t *args, struct buf *out)
{
	CLEANUP(free_ptr) char *word = missing_word(stderr_text, args);
	const char *path = getenv("PATH");
	(void)s;
	if (!word || !*word || strchr(word, '/') || !path)
		return false;
	CLEANUP(free_ptr) char *copy = xstrdup(path);
	char *save = NULL;
	for (char *dir = strtok_r(copy, ":", &save); dir; dir = strtok_r(NULL, ":", &save)) {
		CLEANUP(free_ptr) char *full = path_join(dir, word);
		if (access(full, X_OK) != 0)
			continue;
		CLEANUP(free_ptr) char *root = root_of(full);
		buf_printf(out, "'%s' is on this machine (%s) but not in the box: give it with --root %s", word, full,
			   root ? root : dir);
		return true;
	}
	return false;
}
