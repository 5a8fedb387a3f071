#include "cli/front/inner_sandbox.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/run_priv.h"
#include "base/mem.h"
#include "cli/lib/cmd.h"

bool inner_sandbox_own(const json_t *o)
{
	const char *backend = json_str(o, "backend", "process");
	return strcmp(backend, "process") != 0 && strcmp(backend, "host") != 0;
}

static void inner_sandbox_word(struct strv *args, const char *name, const char *value)
{
	strv_push(args, name);
	strv_push(args, value);
}

/* NAME=VALUE each; a value of digits is a number, as a script would write it. Returns owned. */
static json_t *inner_sandbox_options(struct cmd_ctx *ctx, struct err *err)
{
	CLEANUP(json_release) json_t *list = opt_list(ctx, "option");
	json_t *options = json_object();
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *pair = json_string_value(json_array_get(list, i));
		const char *eq = strchr(pair, '='), *value = eq ? eq + 1 : "";
		if (!eq || eq == pair || !*value) {
			json_decref(options);
			err_set(err, ERR_USAGE, "--option: expected NAME=VALUE, got '%s'", pair);
			return NULL;
		}
		CLEANUP(free_ptr) char *name = mem_strndup(pair, (size_t)(eq - pair));
		if (strlen(value) < 10 && strspn(value, "0123456789") == strlen(value))
			json_put_int(options, name, strtoll(value, NULL, 10));
		else
			json_put_str(options, name, value);
	}
	return options;
}

static int inner_sandbox_path(struct strv *args, const char *option, const char *path,
			      struct err *err)
{
	char full[PATH_MAX];
	if (!realpath(path, full))
		return err_sys(err, "%s '%s'", option, path);
	inner_sandbox_word(args, option, full);
	return 0;
}

int inner_sandbox_take(struct cmd_ctx *ctx, json_t *o, struct strv *args, struct err *err)
{
	const char *image = cmd_opt(ctx, "image"), *build = cmd_opt(ctx, "build");
	struct stat st;
	if (image && build)
		return err_set(err, ERR_USAGE, "--image and --build exclude each other");
	if ((image || build) && !inner_sandbox_own(o)) {
		if (cmd_opt(ctx, "backend"))
			return err_set(err, ERR_USAGE,
				       "--%s: the backend '%s' has no images; try "
				       "--backend container",
				       image ? "image" : "build", cmd_opt(ctx, "backend"));
		json_put_str(o, "backend", "container");
	}
	if (build && inner_sandbox_path(args, "--build", build, err) < 0)
		return -1;
	if (image && strchr(image, '/') && stat(image, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (inner_sandbox_path(args, "--image_dir", image, err) < 0)
			return -1;
	} else if (image) {
		inner_sandbox_word(args, "--image", image);
	}
	CLEANUP(json_release) json_t *options = inner_sandbox_options(ctx, err);
	if (!options)
		return -1;
	if (json_object_size(options) && !inner_sandbox_own(o))
		return err_set(err, ERR_USAGE, "--option: the backend '%s' has no options",
			       json_str(o, "backend", "process"));
	if (json_object_size(options)) {
		CLEANUP(free_ptr) char *text = json_dump_str(options);
		inner_sandbox_word(args, "--options", text);
	}
	return 0;
}
