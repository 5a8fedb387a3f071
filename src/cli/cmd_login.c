/* login: which logins of vendors' programs sandboxes may use. Tokens are never shown; `login_token`
 * hands one to a supervisor of ours. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd.h"
#include "login/login.h"
#include "base/clock.h"
#include "base/mem.h"

static const char *login_state(const json_t *login, int64_t *expires_us)
{
	struct login_token t = { 0 };
	struct err none = ERR_INIT;
	*expires_us = 0;
	if (json_str(login, "secret", NULL))
		return "kept as a secret";
	if (login_read(login, &t, &none) < 0)
		return "LOGIN";
	*expires_us = t.expires_us;
	login_token_wipe(&t);
	return *expires_us && *expires_us < clock_wall_us() ? "expired" : "valid";
}

static void login_row(struct cmd_ctx *ctx, const json_t *login)
{
	int64_t expires;
	const char *state = login_state(login, &expires);
	if (ctx->json) {
		json_t *o = json_copy((json_t *)(uintptr_t)login);
		json_put_str(o, "state", state);
		if (expires)
			json_put_int(o, "expires_us", expires);
		cmd_json(ctx, o);
		return;
	}
	fprintf(ctx->out, "%-10s %-8s %-30s ", json_str(login, "name", ""),
		json_str(login, "plan", "-"), json_str(login, "account", "-"));
	fprintf(ctx->out, "%s\n", state);
}

static int login_list(struct cmd_ctx *ctx)
{
	size_t rows = 0;
	for (size_t i = 0; login_kind_at(i); i++) {
		CLEANUP(json_release) json_t *login = login_added(login_kind_at(i)->name);
		if (!login)
			continue;
		login_row(ctx, login);
		rows++;
	}
	if (rows == 0 && !ctx->json && !ctx->quiet)
		fprintf(ctx->err,
			"sandglass: login: no logins\nAdd one with 'sandglass login add NAME'.\n");
	return EXIT_DONE;
}

static bool cmd_login_agrees(struct cmd_ctx *ctx, const struct login_kind *k, const json_t *login)
{
	char answer[16] = "";
	fprintf(ctx->err,
		"login of '%s': %s%s%s, plan %s\n%s\nSandboxes get a placeholder; the token stays on this host. Use it for sandboxes? (y/n) ",
		k->name, json_str(login, "account", "account not known"),
		json_str(login, "organization", NULL) ? ", " : "",
		json_str(login, "organization", ""), json_str(login, "plan", "not known"),
		k->terms);
	fflush(ctx->err);
	return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static int login_new(struct cmd_ctx *ctx, const struct login_kind *k)
{
	CLEANUP(json_release) json_t *login = NULL;
	struct err err = ERR_INIT;
	if (login_add(k, cmd_opt(ctx, "file"), cmd_opt(ctx, "secret"), &login, &err) < 0)
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "add: %s\nLog in first: %s", err.text,
				     k->again);
	if (!cmd_has(ctx, "yes") && !isatty(0))
		return cmd_usage(
			ctx,
			"add: consent is missing: standard input is not a terminal\nGive it with --yes.");
	if (!cmd_has(ctx, "yes") && !cmd_login_agrees(ctx, k, login))
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "add: cancelled; no login added");
	json_put_int(login, "agreed_us", clock_wall_us());
	if (login_keep(k->name, login, &err) < 0)
		return cmd_fail(ctx, &err);
	if (!ctx->quiet)
		login_row(ctx, login);
	return EXIT_DONE;
}

static void login_names(struct buf *out)
{
	for (size_t i = 0; login_kind_at(i); i++)
		buf_printf(out, "%s%s", i ? ", " : "", login_kind_at(i)->name);
}

int cmd_login(struct cmd_ctx *ctx)
{
	const char *verb = cmd_word(ctx, 0), *name = verb ? cmd_word(ctx, 1) : NULL;
	struct err err = ERR_INIT;
	if (!verb || !strcmp(verb, "ls"))
		return name ? cmd_usage(ctx, "ls: unexpected argument: NAME") : login_list(ctx);
	if (strcmp(verb, "add") != 0 && strcmp(verb, "rm") != 0)
		return cmd_usage(ctx, "expected ls, add, or rm, got '%s'", verb);
	CLEANUP(buf_release) struct buf names = BUF_INIT;
	login_names(&names);
	if (!name)
		return cmd_usage(ctx, "missing argument: NAME (%s)", buf_cstr(&names));
	const struct login_kind *k = login_kind_find(name);
	if (!k)
		return cmd_usage(ctx, "unknown login '%s'; known: %s", name, buf_cstr(&names));
	if (!strcmp(verb, "add"))
		return login_new(ctx, k);
	if (login_remove(name, &err) < 0)
		return cmd_fail(ctx, &err);
	return EXIT_DONE;
}

/* One line of JSON on standard output, for a supervisor: {"token","expires_us"} or {"error"}. */
int cmd_login_token(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	if (isatty(1)) /* never onto a screen */
		return cmd_usage(ctx, "only a supervisor can run this");
	fflush(ctx->out);
	if (login_broker(cmd_word(ctx, 0), cmd_opt(ctx, "refused"), 1, &err) == 0)
		return EXIT_DONE;
	CLEANUP(json_release) json_t *said = json_object();
	json_put_str(said, "error", err.text);
	CLEANUP(free_ptr) char *line = json_dump_str(said);
	fprintf(ctx->out, "%s\n", line);
	return EXIT_DONE;
}
