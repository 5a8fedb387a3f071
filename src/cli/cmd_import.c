/* sandglass import: a session of an agent that we never ran. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/lib/cmd_priv.h"
#include "exchange/import.h"
#include "sessions/sessions.h"
#include "base/fd.h"
#include "base/mem.h"

static int cmd_import_list_formats(struct cmd_ctx *ctx)
{
	const struct importer *e;
	for (size_t i = 0; (e = importer_at(i)); i++) {
		if (!ctx->json) {
			fprintf(ctx->out, "%-12s %s\n", e->name, e->about);
			continue;
		}
		json_t *o = json_object();
		json_put_str(o, "format", e->name);
		json_put_str(o, "about", e->about);
		cmd_json(ctx, o);
	}
	return EXIT_DONE;
}

static bool is_compressed(const char *head, size_t len)
{
	static const char *const magic[] = { "\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd\x37zXZ", "BZh" };
	for (size_t i = 0; i < ARRAY_LEN(magic); i++)
		if (len > strlen(magic[i]) && !memcmp(head, magic[i], strlen(magic[i])))
			return true;
	return false;
}

static const struct importer *cmd_import_choose(struct cmd_ctx *ctx, const char *path,
						struct err *err)
{
	const char *name = cmd_opt(ctx, "format");
	const struct importer *e = name ? importer_find(name) : NULL;
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	if (name && !e)
		err_set(err, ERR_USAGE,
			"unknown format '%s'\n'sandglass import --list' names the formats.", name);
	int fd = !name || e ? file_open(path, err) : -1;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	if (!f)
		return NULL;
	buf_reserve(&head, 65537);
	head.len = fread(head.data, 1, 65536, f);
	head.data[head.len] = 0;
	fclose(f);
	if (!e)
		e = importer_sniff(buf_cstr(&head), head.len);
	if (!e && is_compressed(buf_cstr(&head), head.len))
		err_set(err, ERR_PARSE, "'%s' is compressed\nDecompress it first.", path);
	else if (!e)
		err_set(err, ERR_PARSE,
			"'%s': unknown format\nName the format with --format; 'sandglass import --list' names them.",
			path);
	return e;
}

/* @earlier: an imported session of the same origin, with another state of its file; may be NULL. */
static void cmd_import_tell(struct cmd_ctx *ctx, const struct importer *e, const char *file,
			    const struct import_sums *n, const char *earlier)
{
	CLEANUP(free_ptr) char *name = NULL, *id = NULL;
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	if (!session_file_name(base, &name, &id))
		id = mem_strdup("s-?");
	if (ctx->json) {
		json_t *o = json_object();
		json_put(o, "session", json_string(id));
		json_put_str(o, "format", e->name);
		json_put_bytes(o, "file", file, strlen(file));
		json_put_int(o, "turns", (int64_t)n->turns);
		json_put_int(o, "calls", (int64_t)n->calls);
		json_put_int(o, "people", (int64_t)n->people);
		json_put_int(o, "tokens_in", n->tokens_in);
		json_put_int(o, "tokens_out", n->tokens_out);
		json_put_int(o, "gaps", (int64_t)n->gaps);
		json_put_int(o, "first_gap", (int64_t)n->first_gap);
		json_put_int(o, "kept", (int64_t)n->kept);
		json_put_int(o, "files", (int64_t)n->files);
		json_put_str(o, "earlier", earlier);
		cmd_json(ctx, o);
		return;
	}
	fprintf(ctx->out,
		"%s: %zu answers, %zu calls, %zu user messages, %lld tokens in, %lld out\n", id,
		n->turns, n->calls, n->people, (long long)n->tokens_in, (long long)n->tokens_out);
	if (n->files > 1)
		fprintf(ctx->out, "  with the files of %zu subagent%s\n", n->files - 1,
			n->files == 2 ? "" : "s");
	if (earlier)
		fprintf(ctx->err,
			"sandglass: import: %s is an earlier state of this session; its answers count in both\n",
			earlier);
	if (n->gaps && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: import: %zu parts unreadable, the first in line %zu; they are marked as gaps\n'sandglass events %s --filter kind:import.gap' lists them.\n",
			n->gaps, n->first_gap, id);
}

/* Sessions that were imported before. */
struct before {
	struct cmd_ctx *ctx;
	bool again; /* --force */
	char *earlier;
};

/* The body of session.start's "imported"; NULL. New reference. */
static json_t *imported_from(const char *path)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	struct session *s = NULL;
	struct event ev;
	json_t *from = NULL;
	if (session_open(&s, path, &none) < 0)
		return NULL;
	if (session_event(s, 1, &ev, &arena, &none) == 0 && ev.body) {
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &none);
		from = json_incref(json_object_get(body, "imported"));
	}
	session_close(&s);
	return from;
}

/* The same bytes: refused. Another state of the same session: named. */
static int check_before(void *self, const json_t *from, struct err *err)
{
	struct before *b = self;
	struct session_files files = SESSION_FILES_INIT;
	const char *hash = json_str(from, "hash", ""), *origin = json_str(from, "origin", NULL),
		   *format = json_str(from, "format", "");
	int rc = session_files_list(&files, b->ctx->sessions, err);
	for (size_t i = 0; rc == 0 && i < files.nr; i++) {
		CLEANUP(json_release) json_t *had = imported_from(files.item[i].path);
		const char *id = files.item[i].id;
		if (had && !strcmp(json_str(had, "hash", "-"), hash) && !b->again)
			rc = err_set(
				err, ERR_EXISTS,
				"already imported as %s\nImport it again with --force; its model calls then count twice.",
				id);
		else if (had && origin && !b->earlier &&
			 !strcmp(json_str(had, "origin", ""), origin) &&
			 !strcmp(json_str(had, "format", ""), format))
			b->earlier = mem_strdup(id);
	}
	session_files_release(&files);
	return rc;
}

int cmd_import(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	struct import_sums sums;
	CLEANUP(free_ptr) char *file = NULL;
	if (cmd_has(ctx, "list"))
		return cmd_import_list_formats(ctx);
	const char *path = cmd_word(ctx, 0), *name = cmd_opt(ctx, "name");
	if (!path)
		return cmd_usage(
			ctx,
			"missing argument: FILE\n'sandglass import --list' names the formats.");
	const struct importer *e = cmd_import_choose(ctx, path, &err);
	if (!e || dir_make(ctx->sessions, 0700, &err) < 0)
		return cmd_fail(ctx, &err);
	struct before before = { .ctx = ctx, .again = cmd_has(ctx, "force") };
	int rc = import_run(e, path, ctx->sessions, name ? name : e->name, check_before, &before,
			    &file, &sums, &err);
	CLEANUP(free_ptr) char *earlier = before.earlier;
	if (rc < 0) {
		err_wrap(&err, "'%s' as %s", path, e->name);
		return cmd_fail(ctx, &err);
	}
	cmd_import_tell(ctx, e, file, &sums, earlier);
	return EXIT_DONE;
}
