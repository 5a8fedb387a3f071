#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/stream/stream_backend.h"
#include "sandbox/guest/guest_drive.h"
#include "wire/tool.h"

static struct far *stream_verbs_of(struct box *b)
{
	return CONTAINER_OF(b, struct far, b);
}

/* --- answers that come later --- */

struct refusal {
	box_done_fn *done;
	void *self;
	struct err err;
};

static void stream_verbs_say_refusal(void *self)
{
	struct refusal *r = self;
	r->done(r->self, NULL, &r->err);
	free(r);
}

static void stream_verbs_say_dead(struct far *f, box_done_fn *done, void *self)
{
	struct refusal *r = NEW(struct refusal);
	*r = (struct refusal){ .done = done, .self = self };
	err_set(&r->err, ERR_CLOSED, "the connection to the sandbox has ended");
	loop_defer(f->loop, stream_verbs_say_refusal, r);
}

/* --- our tool --- */

struct far_tool {
	struct far_tool *next;
	struct far *f;
	struct run *run;
	struct loop *loop;
	unsigned news; /* their number, if it is for them */
	struct buf out, said;
	mirror_done_fn *done;
	void *self;
};

static void tool_bury(void *self)
{
	struct far_tool *t = self;
	guest_drive_free(t->run);
	buf_release(&t->out);
	buf_release(&t->said);
	free(t);
}

static void stream_verbs_tool_unlink(struct far_tool *t)
{
	for (struct far_tool **at = &t->f->tools; *at; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			return;
		}
}

static void tool_output(void *self, int stream, const void *bytes, size_t len)
{
	struct far_tool *t = self;
	if (stream == 1)
		buf_append(&t->out, bytes, len);
	else if (t->said.len < 4096)
		buf_append(&t->said, bytes, len);
}

static void tool_exit(void *self, int code, int signal, bool lost, int left)
{
	struct far_tool *t = self;
	struct err gone = ERR_INIT;
	(void)left;
	stream_verbs_tool_unlink(t);
	if (lost) {
		err_set(&gone, ERR_CLOSED, "the connection to the sandbox has ended");
		t->done(t->self, NULL, 0, &gone);
	} else {
		mirror_answer(buf_cstr(&t->out), t->out.len, code, signal, buf_cstr(&t->said),
			      t->done, t->self);
	}
	loop_defer(t->loop, tool_bury, t);
}

static struct far_tool *stream_verbs_tool_new(struct far *f, char *const *arg, bool in,
					      mirror_done_fn *done, void *done_self)
{
	static const struct run_ops ops = { .on_output = tool_output, .on_exit = tool_exit };
	struct strv argv = STRV_INIT;
	struct far_tool *t = NEW(struct far_tool);
	*t = (struct far_tool){
		.f = f, .loop = f->loop, .next = f->tools, .done = done, .self = done_self
	};
	f->tools = t;
	strv_push(&argv, f->tool);
	strv_push(&argv, TOOL_OPTION);
	for (; *arg; arg++)
		strv_push(&argv, *arg);
	const struct run_opts o = {
		.argv = argv.item, .nr_argv = argv.nr, .cwd = "/", .stdin_open = in, .ours = true
	};
	t->run = guest_drive(f->loop, f->guest, &f->env, "/", &o, &ops, t);
	strv_release(&argv);
	return t;
}

void stream_backend_tool(void *self, char *const *arg, const void *in, size_t len,
			 mirror_done_fn *done, void *done_self)
{
	struct far_tool *t = stream_verbs_tool_new(self, arg, true, done, done_self);
	guest_drive_stdin(t->run, in, len, true);
	guest_drive_go(t->run);
}

void stream_backend_tools_end(struct far *f)
{
	struct err gone = ERR_INIT;
	err_set(&gone, ERR_CLOSED, "the connection to the sandbox has ended");
	while (f->tools) {
		struct far_tool *t = f->tools;
		f->tools = t->next;
		t->done(t->self, NULL, 0, &gone);
		tool_bury(t);
	}
}

/* --- runs --- */

char *stream_backend_path(const struct far *f, const char *path)
{
	static const struct {
		const char *box, *there;
	} tops[] = { { "/workspace", "workspace" }, { "/home/agent", "home" }, { "/tmp", "tmp" } };
	if (*path != '/')
		return *path && strcmp(path, ".") != 0 ? path_join(f->workspace, path)
						       : mem_strdup(f->workspace);
	for (size_t i = 0; i < ARRAY_LEN(tops) && *f->root; i++) {
		size_t n = strlen(tops[i].box);
		if (strncmp(path, tops[i].box, n) == 0 && (path[n] == 0 || path[n] == '/'))
			return mem_printf("%s/%s%s", f->root, tops[i].there, path + n);
	}
	return mem_strdup(path);
}

/* The changes of a command come with its end: our tool scans as soon as it has ended. */
struct news {
	struct far *f;
	unsigned nr;
};

static void stream_verbs_on_news(void *self, const char *out, size_t len, const struct err *err)
{
	struct news *n = self;
	mirror_news_came(n->f->mirror, n->nr, out, len, err);
	free(n);
}

/* The tool that is to look, not yet told when to go; NULL: nothing is asked for. */
static struct far_tool *news_tool(struct far *f)
{
	CLEANUP(strv_release) struct strv words = STRV_INIT;
	unsigned nr = mirror_news(f->mirror, &words);
	if (!nr)
		return NULL;
	struct news *n = NEW(struct news);
	*n = (struct news){ .f = f, .nr = nr };
	struct far_tool *t = stream_verbs_tool_new(f, words.item, false, stream_verbs_on_news, n);
	t->news = nr;
	return t;
}

static unsigned run_went(void *self, struct guest_run *g)
{
	struct far_tool *t = news_tool(self);
	if (t)
		guest_drive_go_after(t->run, g);
	return t ? t->news : 0;
}

static unsigned run_went_alone(void *self, struct guest_run *g)
{
	(void)self;
	(void)g;
	return 0;
}

static void run_ends(void *self, unsigned nr)
{
	const struct far *f = self;
	if (f->mirror)
		mirror_stirred(f->mirror, nr);
}

/* Of a shell in a terminal: the guest sees the end of its command in the output, as we do. If it
 * saw none, or a false one, the tool goes now, as early as a request of ours would arrive. */
static unsigned run_turns(void *self, struct guest_run *g, unsigned nr, enum run_turn turn,
			  const char *mark)
{
	struct far *f = self;
	struct far_tool *t;
	if (turn == TURN_BEGINS) {
		if ((t = news_tool(f)))
			guest_drive_go_at(t->run, g, mark);
		return t ? t->news : 0;
	}
	mirror_stirred(f->mirror, turn == TURN_AT_MARK ? nr : 0);
	for (t = f->tools; nr && t; t = t->next)
		if (t->news == nr)
			guest_drive_go(t->run);
	return 0;
}

struct run *stream_backend_run(struct box *b, const struct run_opts *o, const struct run_ops *ops,
			       void *self)
{
	static const struct guest_drive_more brings = { .went = run_went, .ends = run_ends },
					     alone = { .went = run_went_alone,
						       .ends = run_ends,
						       .turn = run_turns };
	struct far *f = stream_verbs_of(b);
	CLEANUP(free_ptr) char *cwd = stream_backend_path(f, o->cwd ? o->cwd : "");
	struct run_opts there = *o;
	there.cwd_no_link = strcmp(cwd, f->workspace) == 0;
	struct run *r = guest_drive(f->loop, f->guest, &f->env, cwd, &there, ops, self);
	if (f->mirror)
		guest_drive_more(r, o->pty || o->background ? &alone : &brings, f);
	return r;
}

/* --- files --- */

struct look {
	struct far *f;
	box_done_fn *done;
	void *self;
	bool file;
	/* the file of the workspace that is written, with what; NULL: none of which that is to be
	 * known */
	char *put;
	struct buf bytes;
};

static void stream_verbs_on_look(void *self, const char *out, size_t len, const struct err *err)
{
	struct look *l = self;
	struct err bad = ERR_INIT;
	CLEANUP(json_release) json_t *r = NULL;
	size_t n = !err && len >= 4 ? get_u32le(out) : 0;
	if (!err && n && n <= len - 4)
		r = json_parse(out + 4, n, "the sandbox's answer about a file", &bad);
	else if (!err)
		err_set(&bad, ERR_PARSE, "the sandbox's answer about a file is incomplete");
	if (r && l->file)
		json_put_bytes(r, "data", out + 4 + n, len - 4 - n);
	l->done(l->self, r, r ? NULL : err ? err : &bad);
	free(l);
}

static void stream_verbs_look(struct box *b, const char *path, const char *as, size_t max,
			      box_done_fn *done, void *self)
{
	struct far *f = stream_verbs_of(b);
	CLEANUP(free_ptr) char *there = stream_backend_path(f, path);
	char most[32];
	if (!f->guest) {
		stream_verbs_say_dead(f, done, self);
		return;
	}
	if (f->kind->here) {
		folder_look(f->folder, path, as, max, done, self);
		return;
	}
	struct look *l = NEW(struct look);
	*l = (struct look){ .f = f, .done = done, .self = self, .file = strcmp(as, "file") == 0 };
	snprintf(most, sizeof(most), "%zu", max);
	char *const arg[] = { (char *)(uintptr_t) "look", there, (char *)(uintptr_t)as, most,
			      NULL };
	stream_backend_tool(f, arg, NULL, 0, stream_verbs_on_look, l);
}

void stream_backend_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self)
{
	stream_verbs_look(b, path, "file", max, done, self);
}

void stream_backend_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	stream_verbs_look(b, path, "dir", 0, done, self);
}

void stream_backend_stat(struct box *b, const char *path, box_done_fn *done, void *self)
{
	stream_verbs_look(b, path, "stat", 0, done, self);
}

static void stream_verbs_on_written(void *self, const char *out, size_t len, const struct err *err)
{
	struct look *l = self;
	struct err bad = ERR_INIT;
	CLEANUP(json_release)
	json_t *r = err ? NULL : json_parse(out, len, "the sandbox's answer about a file", &bad);
	mirror_stirred(l->f->mirror, 0);
	if (r && l->put)
		mirror_put(l->f->mirror, l->put, &l->bytes);
	l->done(l->self, r, r ? NULL : err ? err : &bad);
	free(l->put);
	buf_release(&l->bytes);
	free(l);
}

void stream_backend_write(struct box *b, const char *path, const void *data, size_t len, int mode,
			  box_done_fn *done, void *self)
{
	struct far *f = stream_verbs_of(b);
	CLEANUP(free_ptr) char *there = stream_backend_path(f, path);
	char octal[16];
	if (!f->guest) {
		stream_verbs_say_dead(f, done, self);
		return;
	}
	if (f->kind->here) {
		folder_write(f->folder, path, data, len, mode, done, self);
		return;
	}
	struct look *l = NEW(struct look);
	*l = (struct look){ .f = f, .done = done, .self = self };
	size_t top = strlen(f->workspace);
	if (mirror_put_pays(len) && strncmp(there, f->workspace, top) == 0 && there[top] == '/') {
		l->put = mem_strdup(there + top + 1);
		buf_append(&l->bytes, data, len);
	}
	snprintf(octal, sizeof(octal), mode < 0 ? "-1" : "%o", (unsigned)mode);
	char *const arg[] = { (char *)(uintptr_t) "write", there, octal, NULL };
	stream_backend_tool(f, arg, data, len, stream_verbs_on_written, l);
}

/* --- the box as a whole --- */

static void stream_verbs_nobody(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

void stream_backend_kill(struct box *b)
{
	if (stream_verbs_of(b)->guest)
		guest_kill_all(stream_verbs_of(b)->guest, stream_verbs_nobody, NULL);
}

void stream_backend_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	struct far *f = stream_verbs_of(b);
	if (f->guest)
		guest_freeze(f->guest, frozen, done, self);
	else
		stream_verbs_say_dead(f, done, self);
}

void stream_backend_listen(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct far *f = stream_verbs_of(b);
	if (f->guest)
		guest_listen(f->guest, port, done, self);
	else
		stream_verbs_say_dead(f, done, self);
}

void stream_backend_dial(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct far *f = stream_verbs_of(b);
	if (f->guest)
		guest_dial(f->guest, port, done, self);
	else
		stream_verbs_say_dead(f, done, self);
}

void stream_backend_stats(struct box *b, box_done_fn *done, void *self)
{
	struct far *f = stream_verbs_of(b);
	if (f->guest)
		guest_ps(f->guest, done, self);
	else
		stream_verbs_say_dead(f, done, self);
}

/* --- trees: of the copy here, which is brought up to date first --- */

static int stream_verbs_tree_root(struct box *b, size_t i, const char *which, struct err *err)
{
	size_t layer;
	const char *name = layers_name(&stream_verbs_of(b)->layers, i, &layer, err);
	return name ? folder_tree(stream_verbs_of(b)->folder, layer, name, which, err) : -1;
}

static int stream_verbs_tree_open(struct box *b, size_t i, const char *which, const char *path,
				  struct err *err)
{
	size_t layer;
	const char *name = layers_name(&stream_verbs_of(b)->layers, i, &layer, err);
	return name ? folder_tree_open(stream_verbs_of(b)->folder, layer, name, which, path, err)
		    : -1;
}

static int stream_verbs_tree_fresh(struct box *b, bool ended, struct err *err)
{
	struct far *f = stream_verbs_of(b);
	return f->mirror ? mirror_pull(f->mirror, ended, err) : 0;
}

static int stream_verbs_tree_apply(struct box *b, size_t i, const char *plan, size_t len,
				   const int *fds, size_t nr_fds, struct err *err)
{
	size_t layer;
	struct far *f = stream_verbs_of(b);
	const char *name = layers_name(&f->layers, i, &layer, err);
	if (!name)
		return -1;
	if (!f->mirror || *name == ':')
		return folder_tree_apply(f->folder, layer, name, plan, len, fds, nr_fds, err);
	return mirror_apply(f->mirror, name, plan, len, fds, nr_fds, err);
}

static json_t *stream_verbs_tree_seed(struct box *b)
{
	return folder_tree_seed(stream_verbs_of(b)->folder, &stream_verbs_of(b)->layers);
}

const struct box_tree_ops stream_backend_tree = {
	.root = stream_verbs_tree_root,
	.open = stream_verbs_tree_open,
	.apply = stream_verbs_tree_apply,
	.overlay = folder_tree_overlay,
	.list = folder_tree_list,
	.seed = stream_verbs_tree_seed,
	.fresh = stream_verbs_tree_fresh,
};
