/* sandglass import: a session of an agent that we never ran. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/cmd/cmd_inner.h"
#include "app/exchange/import.h"
#include "app/front/sessions.h"
#include "base/fd.h"
#include "base/mem.h"

static int list_formats(struct cmd_ctx *ctx)
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

static const struct importer *choose(struct cmd_ctx *ctx, const char *path, struct err *err)
{
	const char *name = cmd_opt(ctx, "format");
	const struct importer *e = name ? importer_find(name) : NULL;
	CLEANUP(buf_release) struct buf head = BUF_INIT;
	if (name && !e)
		err_set(err, ERR_USAGE, "no form '%s'; 'sandglass import --list' names them all", name);
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
		err_set(err, ERR_PARSE, "'%s' is compressed: unpack it first", path);
	else if (!e)
		err_set(err, ERR_PARSE, "'%s' looks like none of the forms of 'sandglass import --list'; --format says which it is", path);
	return e;
}

static void tell(struct cmd_ctx *ctx, const struct importer *e, const char *file, const struct import_sums *n)
{
	CLEANUP(free_ptr) char *name = NULL, *id = NULL;
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	if (!session_file_name(base, &name, &id))
		id = xstrdup("s-?");
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
		cmd_json(ctx, o);
		return;
	}
	fprintf(ctx->out, "%s: %zu answers, %zu calls, %zu texts of people, %lld tokens in, %lld out\n", id, n->turns, n->calls,
		n->people, (long long)n->tokens_in, (long long)n->tokens_out);
	if (n->gaps && !ctx->quiet)
		fprintf(ctx->err, "sandglass: %zu pieces could not be read (the first in line %zu); they are marked as gaps: "
				  "events %s | grep import.gap\n",
			n->gaps, n->first_gap, id);
}

int cmd_import(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	struct import_sums sums;
	CLEANUP(free_ptr) char *file = NULL;
	if (cmd_has(ctx, "list"))
		return list_formats(ctx);
	const char *path = cmd_word(ctx, 0), *name = cmd_opt(ctx, "name");
	if (!path)
		return cmd_usage(ctx, "which file? 'sandglass import --list' names the forms");
	const struct importer *e = choose(ctx, path, &err);
	if (!e || dir_make(ctx->sessions, 0700, &err) < 0)
		return cmd_fail(ctx, &err);
	if (import_run(e, path, ctx->sessions, name ? name : e->name, &file, &sums, &err) < 0) {
		err_wrap(&err, "'%s' as %s", path, e->name);
		return cmd_fail(ctx, &err);
	}
	tell(ctx, e, file, &sums);
	return EXIT_DONE;
}
