/* Input of a client to the control socket, and of a user at a prompt (input that starts with ':'). Beyond not
 * crashing: an accepted line can be written again with the same meaning. */
#include <stdlib.h>
#include <string.h>

#include "control/registry.h"
#include "wire/control.h"
#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct command_line *a)
{
	struct command_line b = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *words = command_line_words(a);
	CLEANUP(json_release) json_t *opts = command_line_opts(a);
	if (!a->command)
		return;
	int rc = command_line_from_json(&b, words, opts, &err);
	if (rc < 0 || a->command != b.command || a->words.nr != b.words.nr)
		abort();
	command_line_release(&b);
}

static void typed(const uint8_t *data, size_t size)
{
	struct command_line l = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	char *text = malloc(size + 1);
	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = 0;
	if (command_parse_text(&l, text, &err) == 0)
		same(&l);
	else if (err.code != ERR_USAGE || !err.text[0])
		abort();
	command_line_release(&l);
	free(text);
}

static void one_frame(const struct frame *f)
{
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *body = json_parse(f->body, f->len, "control frame", &err);
	if (!json_is_object(body))
		return;
	if (f->type == CONTROL_HELLO) {
		int v = control_agree(body);
		if (v < 0 || v > CONTROL_VERSION)
			abort();
	} else if (f->type == CONTROL_COMMAND) {
		struct command_line l = COMMAND_LINE_INIT;
		if (command_line_from_json(&l, json_object_get(body, "words"), json_object_get(body, "opts"), &err) ==
		    0)
			same(&l);
		else if (err.code != ERR_USAGE || !err.text[0])
			abort();
		command_line_release(&l);
	} else if (f->type == CONTROL_REPLY) {
		json_t *result = NULL;
		if (control_reply_read(body, &result, &err) < 0 && err.code == ERR_NONE)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *in = (const char *)data;
	size_t used = 0;
	struct frame f;
	struct err err = ERR_INIT;
	if (size && data[0] == ':') {
		typed(data, size);
		return 0;
	}
	while (size && frame_parse(in, size, CONTROL_MAX_BODY, &f, &used, &err) > 0) {
		one_frame(&f);
		in += used;
		size -= used;
	}
	return 0;
}
