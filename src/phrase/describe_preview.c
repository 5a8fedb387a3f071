#include <string.h>

#include "phrase/describe.h"
#include "base/mem.h"

static void describe_preview_files_sum(const json_t *o, struct buf *out)
{
	int64_t nr = (int64_t)json_array_size(json_object_get(o, "files")) + json_int(o, "more", 0);
	if (nr == 0)
		buf_puts(out, "no file changed");
	else
		buf_printf(out, "%lld file%s +%lld -%lld", (long long)nr, nr == 1 ? "" : "s",
			   (long long)json_int(o, "added", 0),
			   (long long)json_int(o, "removed", 0));
}

static void describe_preview_sum(const json_t *o, struct buf *out)
{
	const char *end = json_str(o, "end", "");
	int64_t ms = json_int(o, "dur_us", 0) / 1000;
	if (!strcmp(end, "failed")) {
		buf_printf(out, "failed: %s", json_str(o, "why", "?"));
		return;
	}
	if (!strcmp(end, "cancelled")) {
		buf_puts(out, "cancelled: the action was decided during the dry run");
		return;
	}
	if (!strcmp(end, "timeout"))
		buf_puts(out, "stopped");
	else if (json_object_get(o, "signal"))
		buf_printf(out, "signal %lld", (long long)json_int(o, "signal", 0));
	else
		buf_printf(out, "exit %lld", (long long)json_int(o, "code", 0));
	buf_printf(out, " after %lld.%03lld s, ", (long long)(ms / 1000), (long long)(ms % 1000));
	describe_preview_files_sum(o, out);
}

const char *describe_preview_reason(const char *word)
{
	static const struct {
		const char *word, *text;
	} known[] = {
		{ "network", "it tried to use the network" },
		{ "local", "it tried to reach a server in the sandbox, which was frozen" },
		{ "tmp", "it wrote to /tmp, which a dry run discards" },
		{ "procs", "it left processes running; the dry run ended them" },
		{ "time", "it ran longer than 30 s" },
		{ "output", "it printed more than a dry run keeps" },
		{ "blind",
		  "it had no network; this isolation level can't show whether it tried to use one" },
		{ "partial", "only the workspace was copied; changes elsewhere are not seen" },
		{ "hash_only", "some file contents are recorded as hash only" },
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].word, word))
			return known[i].text;
	return word;
}

static void describe_preview_hosts(const json_t *o, struct buf *out)
{
	const json_t *net = json_object_get(o, "net"), *list = json_object_get(net, "hosts");
	for (size_t i = 0; i < json_array_size(list); i++)
		buf_printf(out, "%s%s:%lld", i ? ", " : ": ",
			   json_str(json_array_get(list, i), "host", "?"),
			   (long long)json_int(json_array_get(list, i), "port", 0));
	if (json_int(net, "refused", 0))
		buf_printf(out, "; connections refused: %lld",
			   (long long)json_int(net, "refused", 0));
	if (json_int(net, "names", 0))
		buf_printf(out, "; failed name lookups: %lld",
			   (long long)json_int(net, "names", 0));
}

static void describe_preview_incomplete(const json_t *o, const char *between, struct buf *out)
{
	const json_t *list = json_object_get(o, "incomplete");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));
		if (!word)
			continue;
		buf_printf(out, "%sincomplete: %s", between, describe_preview_reason(word));
		if (!strcmp(word, "network"))
			describe_preview_hosts(o, out);
	}
}

void describe_preview(const json_t *o, struct buf *out)
{
	describe_preview_sum(o, out);
	describe_preview_incomplete(o, "; ", out);
}

static void describe_preview_one_file(const json_t *f, struct buf *out)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	const char *repo = json_str(f, "repo", ""), *what = json_str(f, "what", "text");
	json_get_bytes(json_object_get(f, "path"), &path);
	buf_printf(out, "\n  %s %s%s", json_str(f, "op", "M"),
		   !strcmp(repo, ":home") ? "/home/agent" : repo, *repo ? "/" : "");
	buf_append(out, path.data, path.len);
	if (!strcmp(what, "text"))
		buf_printf(out, " +%lld -%lld", (long long)json_int(f, "added", 0),
			   (long long)json_int(f, "removed", 0));
	else if (strcmp(what, "none") != 0)
		buf_printf(out, " %s", what);
}

void describe_preview_long(const json_t *o, struct buf *out)
{
	long long of = (long long)json_int(o, "of", 0), seq = (long long)json_int(o, "preview", 0);
	const json_t *files = json_object_get(o, "files");
	const char *end = json_str(o, "end", "");
	buf_printf(out, "dry run of #%lld: ", of);
	describe_preview_sum(o, out);
	describe_preview_incomplete(o, "\n  ", out);
	for (size_t i = 0; i < json_array_size(files); i++)
		describe_preview_one_file(json_array_get(files, i), out);
	if (json_int(o, "more", 0))
		buf_printf(out, "\n  and %lld more", (long long)json_int(o, "more", 0));
	if (json_int(o, "out_bytes", 0) + json_int(o, "err_bytes", 0))
		buf_printf(out, "\nits output: 'sandglass out %lld'", seq);
	if (!strcmp(end, "ok") && !json_flag(o, "cut", false))
		buf_printf(out, "\nstill pending; to apply this result: 'sandglass apply %lld'",
			   of);
	buf_puts(out, "\n");
}
