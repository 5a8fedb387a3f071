/* secret: the known secrets by name. A value goes in and never comes out. */
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/lib/cmd.h"
#include "cli/lib/config.h"
#include "secrets/secret_source.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/secrets.h"

/* One line from the terminal, not shown, or all of standard input; a line break at the end does not
 * count. */
static int cmd_secret_read_value(struct cmd_ctx *ctx, const char *name, struct buf *out,
				 struct err *err)
{
	struct termios was, quiet;
	bool tty = isatty(0) && tcgetattr(0, &was) == 0;
	int rc = 0;
	if (tty) {
		fprintf(ctx->err, "value of %s (not shown): ", name);
		fflush(ctx->err);
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
		tcsetattr(0, TCSAFLUSH, &quiet);
		char c = 0;
		while (out->len <= SECRET_LONGEST && read(0, &c, 1) == 1 && c != '\n')
			buf_putc(out, c);
		tcsetattr(0, TCSAFLUSH, &was);
		fputc('\n', ctx->err);
	} else {
		rc = fd_read_all(0, out, SECRET_LONGEST + 2, err);
	}
	if (out->len && out->data[out->len - 1] == '\n')
		out->len -= out->len > 1 && out->data[out->len - 2] == '\r' ? 2 : 1;
	return rc;
}

static int cmd_secret_set(struct cmd_ctx *ctx, const char *name, struct err *err)
{
	CLEANUP(secret_wipe_buf) struct buf value = BUF_INIT;
	if (!secret_name_ok(name))
		return err_set(err, ERR_USAGE,
			       "expected a secret name of letters, digits, '_', '-', and '.'");
	if (cmd_secret_read_value(ctx, name, &value, err) < 0 ||
	    secret_store_set(name, value.data, value.len, err) < 0)
		return -1;
	if (!ctx->quiet && !ctx->json)
		fprintf(ctx->out, "kept: %s\n", name);
	return 0;
}

static void cmd_secret_show(struct cmd_ctx *ctx, const char *name, const char *source,
			    const char *what, const char *wrong)
{
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "name", name);
		json_put_str(o, "source", source);
		json_put_str(o, "where", what);
		json_put_str(o, "wrong", wrong);
		cmd_json(ctx, o);
		return;
	}
	fprintf(ctx->out, "%-24s %-8s ", name, source ? source : "-");
	cmd_print_safe(ctx->out, wrong ? wrong : what, strlen(wrong ? wrong : what), false);
	fputc('\n', ctx->out);
}

/* @read: the value is read (and forgotten), so that one knows that it can be. */
static bool cmd_secret_look(struct cmd_ctx *ctx, const json_t *conf, const char *name, bool read)
{
	struct secret_source s;
	struct err err = ERR_INIT;
	CLEANUP(secret_wipe_buf) struct buf value = BUF_INIT;
	if (secret_find(conf, name, &s, &err) < 0) {
		cmd_secret_show(ctx, name, NULL, NULL, err.text);
		return false;
	}
	bool good = !read || secret_read(&s, &value, &err) == 0;
	cmd_secret_show(ctx, name, secret_kind_name(s.kind), s.what ? s.what : s.argv.item[0],
			good ? NULL : err.text);
	secret_source_release(&s);
	return good;
}

static int cmd_secret_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int cmd_secret_list(struct cmd_ctx *ctx, const json_t *conf)
{
	struct strv names = STRV_INIT;
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)conf, key, v) strv_push(&names, key);
	secret_store_list(&names);
	secret_ambient(&names);
	if (names.nr)
		qsort(names.item, names.nr, sizeof(*names.item), cmd_secret_by_name);
	for (size_t i = 0; i < names.nr; i++)
		if (!i || strcmp(names.item[i], names.item[i - 1]) != 0)
			cmd_secret_look(ctx, conf, names.item[i], false);
	if (!names.nr && !ctx->json && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: secret: no secrets\nStore one with 'sandglass secret set NAME'.\n");
	strv_release(&names);
	return EXIT_DONE;
}

int cmd_secret(struct cmd_ctx *ctx)
{
	const char *verb = cmd_word(ctx, 0) ? cmd_word(ctx, 0) : "ls", *name = cmd_word(ctx, 1);
	struct err err = ERR_INIT;
	struct config *c;
	if (!strcmp(verb, "set") || !strcmp(verb, "add"))
		return !name ? cmd_usage(ctx, "set: missing argument: NAME")
		       : cmd_secret_set(ctx, name, &err) < 0 ? cmd_fail(ctx, &err)
							     : EXIT_DONE;
	if (!strcmp(verb, "rm"))
		return !name ? cmd_usage(ctx, "rm: missing argument: NAME")
		       : secret_store_remove(name, &err) < 0 ? cmd_fail(ctx, &err)
							     : EXIT_DONE;
	if (strcmp(verb, "ls") != 0 && strcmp(verb, "test") != 0)
		return cmd_usage(ctx, "expected set, ls, test, or rm, got '%s'", verb);
	if (!strcmp(verb, "test") && !name)
		return cmd_usage(ctx, "test: missing argument: NAME");
	if (config_open(&c, ctx, &err) < 0)
		return cmd_fail(ctx, &err);
	CLEANUP(json_release) json_t *conf = config_object(c, "secrets");
	config_close(&c);
	if (!strcmp(verb, "ls"))
		return cmd_secret_list(ctx, conf);
	return cmd_secret_look(ctx, conf, name, true) ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
