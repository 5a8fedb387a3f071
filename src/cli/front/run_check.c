/* What would fail a session after its start is refused before one exists. */
#include <unistd.h>

#include "cli/front/run_priv.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/policy_file.h"
#include "models/provider.h"

static int run_check_hold(const char *text, struct err *err)
{
	struct filter *f = NULL;
	int rc = text ? cmd_filter_text(text, &f, err) : 0;
	if (rc == 0 && f)
		rc = filter_known_before(f, err);
	filter_free(&f);
	return rc < 0 ? err_wrap(err, "--hold") : 0;
}

static int run_check_model(const json_t *o, struct err *err)
{
	const char *model = json_str(o, "model", NULL);
	struct providers *p;
	if (!model)
		return 0;
	if (providers_open(&p, NULL, json_object_get(o, "models"), json_object_get(o, "prices"),
			   err) < 0)
		return -1;
	int rc = provider_known(p, model, err);
	providers_free(&p);
	return rc;
}

static int run_check_policy(const char *path, struct err *err)
{
	struct policy *p;
	if (access(path, R_OK) != 0)
		return err_sys(err, "--policy: can't read '%s'", path);
	if (policy_file_load(path, &p, err) < 0)
		return -1;
	policy_free(&p);
	return 0;
}

int run_opts_check(const json_t *o, struct err *err)
{
	const json_t *policy = json_object_get(o, "policy");
	for (size_t i = 0; i < json_array_size(policy); i++)
		if (run_check_policy(json_string_value(json_array_get(policy, i)), err) < 0)
			return -1;
	return run_check_hold(json_str(o, "hold", NULL), err) < 0 ? -1 : run_check_model(o, err);
}

int front_run_names_model(const struct cmd_ctx *ctx, const json_t *o, struct err *err)
{
	if (cmd_has(ctx, "agent") || json_str(o, "model", NULL))
		return 0;
	return err_set(err, ERR_USAGE,
		       "missing option: --model PROVIDER:NAME\n"
		       "You can also set SANDGLASS_MODEL, or model in config.lua.");
}
