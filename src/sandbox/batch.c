#include "sandbox/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "sandbox/shell_protocol.h"

/* The first byte is rare, so that little is held back; '@' ends it. */
enum { MARK_FIRST = 0x1e, CODE_MAX = 8 };

/* The mark comes on its input and is a variable of this shell only: no command finds it among words
 * or variables. */
static const char sandbox_batch_runner[] =
	"IFS= read -r m; stop=$1; [ $2 = 1 ] || exec </dev/null; shift 2\n"
	"for c; do\n"
	"sh -c \"$c\"; r=$?\n"
	"printf '\\036%s %d@' \"$m\" $r >&2; printf '\\036%s %d@' \"$m\" $r\n"
	"if [ $stop = 1 ] && [ $r -ne 0 ]; then break; fi\n"
	"done\n"
	"exit $r\n";

struct part {
	int code;
	uint64_t end[2];
};

struct several {
	struct action *action;
	struct strv argv;
	char mark[40], first[40]; /* as printed; as sent */
	size_t mark_len;
	struct buf held[2]; /* may be the beginning of a mark */
	size_t done[2];	    /* marks seen */
	struct part *part;
	size_t nr;
};

bool command_batch_text(const json_t *list, struct buf *out)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *text = json_array_get(list, i);
		if (!json_is_string(text) ||
		    strlen(json_string_value(text)) != json_string_length(text))
			return false;
		buf_puts(out, i ? "\nsh -c " : "sh -c ");
		shell_protocol_quote(out, json_string_value(text));
	}
	return json_array_size(list) > 0;
}

struct several *command_batch_new(struct action *a)
{
	const struct action_spec *spec = action_spec(a);
	const json_t *list = json_object_get(spec->args, "batch");
	CLEANUP(buf_release) struct buf whole = BUF_INIT;
	if (!command_batch_text(list, &whole) || spec->argv.nr != 3 ||
	    strcmp(spec->argv.item[2], buf_cstr(&whole)) != 0)
		return NULL; /* the last: another text was put in its place */
	struct several *b = NEW(struct several);
	uint8_t random[16];
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	random_bytes(random, sizeof(random));
	hex_append(&hex, random, sizeof(random));
	b->action = a;
	b->mark_len =
		(size_t)snprintf(b->mark, sizeof(b->mark), "%c%s ", MARK_FIRST, buf_cstr(&hex));
	b->nr = json_array_size(list);
	b->part = mem_calloc(b->nr, sizeof(*b->part));
	snprintf(b->first, sizeof(b->first), "%s\n", buf_cstr(&hex));
	bool stop = json_flag(spec->args, "stop", false),
	     input = spec->stdin_len || json_flag(spec->args, "stdin", false);
	const char *const first[] = {
		"sh", "-c", sandbox_batch_runner, "sh", stop ? "1" : "0", input ? "1" : "0"
	};
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		strv_push(&b->argv, first[i]);
	for (size_t i = 0; i < b->nr; i++)
		strv_push(&b->argv, json_string_value(json_array_get(list, i)));
	return b;
}

void command_batch_free(struct several **bp)
{
	struct several *b = *bp;
	*bp = NULL;
	if (!b)
		return;
	strv_release(&b->argv);
	buf_release(&b->held[0]);
	buf_release(&b->held[1]);
	free(b->part);
	free(b);
}

char *const *command_batch_argv(const struct several *b, size_t *nr_out)
{
	*nr_out = b->argv.nr;
	return b->argv.item;
}

const char *command_batch_input(const struct several *b)
{
	return b->first;
}

static void sandbox_batch_ended(struct several *b, int i, enum record_stream s, int code)
{
	size_t k = b->done[i]++;
	if (k >= b->nr)
		return;
	b->part[k].code = code;
	b->part[k].end[i] = action_output_mark(b->action, s);
}

/* How many bytes at the end of @p could be the beginning of a mark. */
static size_t sandbox_batch_unfinished(const struct several *b, const char *p, size_t len)
{
	size_t most = b->mark_len + CODE_MAX, from = len > most ? len - most : 0;
	for (size_t at = from; at < len; at++) {
		size_t n = len - at, same = n < b->mark_len ? n : b->mark_len;
		if (p[at] == MARK_FIRST && !memcmp(p + at, b->mark, same) &&
		    !memchr(p + at, '@', n))
			return n;
	}
	return 0;
}

void command_batch_output(struct several *b, enum record_stream s, const void *bytes, size_t len)
{
	int i = s == STREAM_ERR;
	struct buf *held = &b->held[i];
	buf_append(held, bytes, len);
	for (;;) {
		const char *p =
			held->len ? memmem(held->data, held->len, b->mark, b->mark_len) : NULL;
		const char *at = p ? memchr(p, '@', held->len - (size_t)(p - held->data)) : NULL;
		if (!at)
			break;
		if (p > held->data)
			action_output(b->action, s, held->data, (size_t)(p - held->data));
		int code = atoi(p + b->mark_len);
		buf_drop(held, (size_t)(at + 1 - held->data));
		sandbox_batch_ended(b, i, s, code);
	}
	size_t keep = sandbox_batch_unfinished(b, held->data, held->len);
	if (held->len > keep)
		action_output(b->action, s, held->data, held->len - keep);
	buf_drop(held, held->len - keep);
}

json_t *command_batch_end(struct several *b)
{
	json_t *list = json_array();
	for (int i = 0; i < 2; i++)
		if (b->held[i].len)
			action_output(b->action, i ? STREAM_ERR : STREAM_OUT, b->held[i].data,
				      b->held[i].len);
	size_t nr = b->done[0] < b->done[1] ? b->done[0] : b->done[1];
	for (size_t k = 0; k < nr && k < b->nr; k++) {
		static const char *const name[] = { "out", "err" };
		json_t *o = json_object();
		json_put_int(o, "code", b->part[k].code);
		for (int i = 0; i < 2; i++)
			json_put(o, name[i],
				 json_pack("[II]", (json_int_t)(k ? b->part[k - 1].end[i] : 0),
					   (json_int_t)b->part[k].end[i]));
		json_array_append_new(list, o);
	}
	return list;
}
