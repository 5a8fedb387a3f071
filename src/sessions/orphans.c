#include "sessions/orphans.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/box_folder.h"
#include "sessions/sessions.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "control/socket.h"
#include "record/read/lease.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/hosted/hosted_book.h"

struct leftover {
	const char *what; /* "folder", "elsewhere", "rented" */
	char *where;	  /* path, or what users go to */
	char *session;	  /* its id, NULL unknown */
	char *why, *how;
	int64_t bytes; /* -1: not on the host */
	bool may;      /* we remove it */
	bool gone;
};

struct leftovers {
	struct cmd_ctx *ctx;
	struct session_files files;
	struct strv live;
	struct leftover *item;
	size_t nr, cap, may;
	int64_t bytes;
};

static void orphans_add(struct leftovers *l, struct leftover one)
{
	GROW(l->item, l->nr, l->cap);
	l->item[l->nr++] = one;
	l->may += one.may;
	l->bytes += one.may ? one.bytes : 0;
}

static bool orphans_has(const struct strv *v, const char *text)
{
	for (size_t i = 0; i < v->nr; i++)
		if (!strcmp(v->item[i], text))
			return true;
	return false;
}

static const char *orphans_file_of(const struct leftovers *l, const char *id)
{
	for (size_t i = 0; i < l->files.nr; i++)
		if (!strcmp(l->files.item[i].id, id))
			return l->files.item[i].path;
	return NULL;
}

static bool orphans_named(const struct leftovers *l, const char *id)
{
	const char *word;
	for (size_t i = 0; (word = cmd_word(l->ctx, i)); i++)
		if (!strcmp(word, id))
			return true;
	return false;
}

/* It has no end, or cannot be read: not ours to judge. */
static bool orphans_goes_on(const char *path)
{
	struct session *s;
	struct err none = ERR_INIT;
	if (session_open(&s, path, &none) < 0)
		return true;
	bool so = session_broken_off(s);
	session_close(&s);
	return so;
}

static void look_at_folder(struct leftovers *l, const char *boxes, const char *id)
{
	struct leftover one = { .what = "folder",
				.where = path_join(boxes, id),
				.session = mem_strdup(id),
				.may = true };
	CLEANUP(free_ptr) char *of = box_folder_of(one.where); /* it may lie elsewhere */
	const char *file = of ? of : orphans_file_of(l, id);
	bool running = orphans_has(&l->live, id) || (file && lease_held(file));
	if (running || (cmd_word(l->ctx, 0) && !orphans_named(l, id))) {
		free(one.where);
		free(one.session);
		return;
	}
	one.bytes = cmd_disk_usage(one.where);
	if (file && orphans_goes_on(file)) {
		one.may = false;
		one.why = mem_strdup("its session was interrupted");
		one.how = mem_printf(
			"'sandglass resume %s' continues it, 'sandglass prune %s' removes both", id,
			id);
	} else if (!file) {
		one.may = orphans_named(l, id);
		one.why = mem_strdup("its session is not in the sessions directory");
		one.how = mem_printf("sandglass prune --boxes %s", id);
	} else {
		one.why = mem_strdup("its session has ended");
		one.how = mem_strdup("sandglass prune --boxes");
	}
	orphans_add(l, one);
}

static void orphans_folders(struct leftovers *l)
{
	CLEANUP(free_ptr) char *boxes = paths_state("box");
	DIR *d = opendir(boxes);
	const struct dirent *e;
	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, "s-", 2))
			look_at_folder(l, boxes, e->d_name);
	if (d)
		closedir(d);
}

/* @box: boxes/SESSION/BOX. */
static void on_elsewhere(void *self, const char *driver, const char *where, const char *box)
{
	struct leftovers *l = self;
	CLEANUP(free_ptr) char *dir = mem_strndup(box, (size_t)(strrchr(box, '/') - box));
	const char *id = strrchr(dir, '/') + 1;
	if (orphans_has(&l->live, id) || (cmd_word(l->ctx, 0) && !orphans_named(l, id)))
		return;
	const char *path = strchr(where, ':');
	orphans_add(
		l,
		(struct leftover){
			.what = "elsewhere",
			.where = mem_strdup(where),
			.session = mem_strdup(id),
			.bytes = -1,
			.why = mem_printf("left by a %s sandbox", driver),
			.how = !strcmp(driver, "ssh") && path
				       ? mem_printf("ssh %.*s rm -rf %s", (int)(path - where),
						    where, path + 1)
				       : mem_printf("'sandglass resume %s' continues and closes it",
						    id) });
}

static void orphans_on_rented(void *self, const char *provider, const char *tag, const json_t *box,
			      bool lives)
{
	struct leftovers *l = self;
	if (lives || cmd_word(l->ctx, 0))
		return;
	orphans_add(
		l,
		(struct leftover){
			.what = "rented",
			.where = mem_printf("%s %s", provider, json_str(box, "id", tag)),
			.bytes = -1,
			.why = mem_strdup("its supervisor has died"),
			.how = mem_printf(
				"sandglass sandbox exec --backend %s -- true (any session there gives it back)",
				provider) });
}

static int orphans_larger(const void *x, const void *y)
{
	const struct leftover *a = x, *b = y;
	return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : strcmp(a->where, b->where);
}

static int orphans_look(struct leftovers *l, struct err *err)
{
	CLEANUP(free_ptr) char *boxes = paths_state("box");
	if (session_files_list(&l->files, l->ctx->sessions, err) < 0 ||
	    control_list(&l->live, err) < 0)
		return -1;
	orphans_folders(l);
	remote_orphans_each(boxes, on_elsewhere, l);
	hosted_book_each(orphans_on_rented, l);
	if (l->nr > 1)
		qsort(l->item, l->nr, sizeof(*l->item), orphans_larger);
	return 0;
}

static void orphans_print(struct leftovers *l, const struct leftover *one)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT, text = BUF_INIT;
	if (l->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "what", one->what);
		json_put(o, "where", json_bytes_z(one->where));
		if (one->session)
			json_put_str(o, "session", one->session);
		if (one->bytes >= 0)
			json_put_int(o, "size_bytes", one->bytes);
		json_put_str(o, "why", one->why);
		json_put_str(o, "how", one->how);
		json_put_flag(o, "removed", one->gone);
		cmd_json(l->ctx, o);
		return;
	}
	if (one->bytes >= 0)
		cmd_size((uint64_t)one->bytes, &size);
	buf_printf(&text, "%10s  %-9s  %s\n%23s%s: %s\n", one->bytes >= 0 ? buf_cstr(&size) : "?",
		   one->what, one->where, "", one->why, one->how);
	cmd_print_safe(l->ctx->out, buf_cstr(&text), text.len, true);
}

static bool orphans_agreed(struct leftovers *l)
{
	CLEANUP(buf_release) struct buf answer = BUF_INIT, size = BUF_INIT;
	if (cmd_has(l->ctx, "yes"))
		return true;
	if (!isatty(0))
		return false;
	cmd_size((uint64_t)l->bytes, &size);
	CLEANUP(free_ptr)
	char *q = mem_printf("permanently remove %zu director%s (%s)? [y/N] ", l->may,
			     l->may == 1 ? "y" : "ies", buf_cstr(&size));
	return cmd_ask(l->ctx, q, &answer) &&
	       (!strcmp(buf_cstr(&answer), "y") || !strcmp(buf_cstr(&answer), "yes"));
}

static int orphans_remove_all(struct leftovers *l)
{
	int status = EXIT_DONE;
	for (size_t i = 0; i < l->nr; i++) {
		struct err err = ERR_INIT;
		if (!l->item[i].may)
			continue;
		if (dir_remove(l->item[i].where, &err) < 0) {
			status = EXIT_UNSUCCESSFUL;
			fprintf(l->ctx->err, "sandglass: %s\n", err.text);
		} else {
			l->item[i].gone = true;
		}
	}
	return status;
}

static int orphans_act(struct leftovers *l)
{
	CLEANUP(buf_release) struct buf size = BUF_INIT;
	bool yes = cmd_has(l->ctx, "yes") && !cmd_has(l->ctx, "dry-run");
	int status = yes ? orphans_remove_all(l) : EXIT_DONE;
	for (size_t i = 0; i < l->nr; i++)
		orphans_print(l, &l->item[i]);
	if (!l->nr)
		fprintf(l->ctx->err, "no sandbox leftovers\n");
	if (!l->may || cmd_has(l->ctx, "dry-run"))
		return status;
	cmd_size((uint64_t)l->bytes, &size);
	if (!yes && !orphans_agreed(l))
		return cmd_fail_with(
			l->ctx, EXIT_PERSON,
			"nothing removed: %zu director%s (%s) found\nRemove without a question with --yes.",
			l->may, l->may == 1 ? "y" : "ies", buf_cstr(&size));
	if (!yes)
		status = orphans_remove_all(l);
	if (!l->ctx->quiet && status == EXIT_DONE)
		fprintf(l->ctx->err, "sandglass: %zu director%s (%s) removed\n", l->may,
			l->may == 1 ? "y" : "ies", buf_cstr(&size));
	return status;
}

int orphans_prune(struct cmd_ctx *ctx)
{
	struct leftovers l = { .ctx = ctx };
	struct err err = ERR_INIT;
	int status = orphans_look(&l, &err) < 0 ? cmd_fail(ctx, &err) : orphans_act(&l);
	for (size_t i = 0; i < l.nr; i++) {
		free(l.item[i].where);
		free(l.item[i].session);
		free(l.item[i].why);
		free(l.item[i].how);
	}
	free(l.item);
	strv_release(&l.live);
	session_files_release(&l.files);
	return status;
}
