/* A user's keys: the name of a key, a map of keys from the configuration (first byte '{'), a line typed at the
 * console's prompt (':'). A valid name is written again as a name of the same key. Entries left out of a map are
 * reported. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ui/frame/cmdtable.h"
#include "ui/frame/keymap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(const char *text)
{
	char again[16];
	uint32_t key = key_parse(text);
	if (key == KEY_NONE_)
		return;
	key_name(key, again);
	if (!memchr(again, 0, sizeof(again)) || key_parse(again) != key)
		abort();
}

static void map(const char *text, size_t len)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	CLEANUP(json_release) json_t *o = json_parse(text, len, "keys", &err);
	if (!json_is_object(o))
		return;
	keymap_user(o, &said);
	if (said.len && said.data[said.len - 1] != '\n')
		abort();
}

static void line(const char *text)
{
	struct cmd_line l = { 0 };
	struct err err = ERR_INIT;
	if (cmd_parse(&l, text, &err) < 0) {
		if (err.code != ERR_USAGE || !*err.text)
			abort();
	} else if (!json_is_object(l.opts)) {
		abort();
	}
	cmd_line_release(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 14)
		return 0;
	CLEANUP(free_ptr) char *text = mem_strndup(size ? (const char *)data : "", size);
	if (*text == '{')
		map(text, strlen(text));
	else if (*text == ':')
		line(text + 1);
	else
		name(text);
	return 0;
}
