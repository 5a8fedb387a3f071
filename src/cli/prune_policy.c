#include "cli/prune_policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "catalog/choice.h"
#include "cli/lib/config.h"
#include "sessions/labels.h"

static int prune_policy_number(const struct config *c, const char *name, int64_t *out,
			       struct err *err)
{
	CLEANUP(free_ptr) char *text = config_value(c, name);
	char *end;
	if (!text)
		return 0;
	*out = strtoll(text, &end, 10);
	return *end || end == text || *out < 0
		       ? err_set(err, ERR_USAGE, "setting %s: expected a positive number, got '%s'",
				 name, text)
		       : 1;
}

static int prune_policy_labels(const struct config *c, json_t **out, struct err *err)
{
	CLEANUP(free_ptr) char *text = config_value(c, "keep.label");
	size_t i;
	json_t *wish, *labels = text ? json_parse(text, strlen(text), "keep.label", err) : NULL;
	*out = labels;
	if (text && !labels)
		return -1;
	json_array_foreach(labels, i, wish) if (labels_wish_check(json_string_value(wish), err) <
						0) return err_wrap(err, "setting keep.label");
	return 0;
}

int prune_policy_read(struct prune_policy *out, struct cmd_ctx *ctx, struct err *err)
{
	struct config *c;
	int64_t bytes = 0;
	*out = (struct prune_policy){ 0 };
	if (config_open(&c, ctx, err) < 0)
		return -1;
	int rc = prune_policy_number(c, "keep.days", &out->days, err);
	int sized = rc < 0 ? -1 : prune_policy_number(c, "keep.size_bytes", &bytes, err);
	out->by_size = sized > 0;
	out->bytes = (uint64_t)bytes;
	rc = sized < 0 ? -1 : prune_policy_labels(c, &out->labels, err);
	config_close(&c);
	if (rc < 0)
		prune_policy_release(out);
	return rc;
}

void prune_policy_release(struct prune_policy *p)
{
	json_decref(p->labels);
	*p = (struct prune_policy){ 0 };
}

bool prune_policy_any(const struct prune_policy *p)
{
	return p->days > 0 || p->by_size;
}

bool prune_policy_keeps(const struct prune_policy *p, const struct catalog *c,
			const struct session_file *f)
{
	size_t i;
	json_t *wish;
	json_array_foreach(p->labels, i, wish)
	{
		const struct session_choice w = { .label = { json_string_value(wish) },
						  .labels = 1 };
		if (session_choice_takes(&w, c, f))
			return true;
	}
	return false;
}

char *prune_policy_names(const struct prune_policy *p)
{
	return mem_printf("setting%s %s%s%s", p->days && p->by_size ? "s" : "",
			  p->days ? "keep.days" : "", p->days && p->by_size ? " and " : "",
			  p->by_size ? "keep.size" : "");
}
