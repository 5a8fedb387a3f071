/* The ten rows of the manual's table of filters. */
static const char *const manual_rows[] = {
	"is:pending",
	"kind:exec is:error since:1h",
	"agent:fix cmd~\"\\bcurl\\b|\\bwget\\b\"",
	"rm -rf",
	"\"permission denied\" and not tool:browser",
	"kind:write path:src/*.c lines>10",
	"verdict:deny,held by:human or rule:net.*",
	"(kind:model cost>$0.10) or (kind:exec dur>30s)",
	"id:2..4 !@noisy",
	"is:edited risk:high box!=b9",
};

static const char *saved_text(void *self, const char *name)
{
	(void)self;
	if (!strcmp(name, "noisy"))
		return "kind:read or tool:ls";
	return !strcmp(name, "loop") ? "@loop" : NULL;
}
static const struct filter_saved saved = { saved_text, NULL };
