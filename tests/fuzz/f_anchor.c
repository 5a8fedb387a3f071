/* The log of anchors that lies beside the sessions, whatever is in it: only a line that is signed says anything about a session, and
 * the session is what it was. '%' stands for the session's own uuid, '@' for the anchor that was made with it. */
#include <string.h>

#include "session.h"
#include "record/read/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(struct record *r)
{
	for (int i = 0; i < 3; i++)
		record_append_json(r, EV_NOTE, 0, 1, 0, 0, json_object());
}

struct told {
	enum verify_result anchor;
	unsigned failed;
};

static void on_report(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct told *t = self;
	(void)seq;
	if (!*text)
		abort();
	if (!strcmp(name, "anchor"))
		t->anchor = result;
	t->failed += result == VERIFY_FAIL && !strstr(text, "has no anchor of this session"); /* as it may be: noise has none */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct session *s;
	static struct buf own;
	static char *log, *uuid;
	struct err err = ERR_INIT;
	struct verify_totals totals;
	if (size > 1 << 13)
		return 0;
	if (!s) {
		s = fuzz_session(fill);
		CLEANUP(free_ptr) char *made = mem_printf("%s/sandglass/anchor.log", fuzz_root);
		if (file_read(made, &own, 1 << 20, &err) < 0 || own.len < 40)
			abort();
		uuid = mem_strndup(own.data + 2, 32);
		log = mem_printf("%s/fuzzed", fuzz_root);
	}
	bool whole = false;
	FILE *f = fopen(log, "we");
	for (size_t i = 0; f && i < size; i++)
		if (data[i] == '%')
			fputs(uuid, f);
		else if (data[i] == '@')
			fwrite(own.data, 1, own.len, f), whole |= i == 0;
		else
			fputc(data[i], f);
	if (!f || fclose(f) != 0)
		abort();
	struct told t = { .anchor = VERIFY_FAIL };
	if (verify_session(s, &(struct verify_opts){ .anchor = log }, on_report, &t, &totals, &err) < 0 || t.failed || (whole && t.anchor != VERIFY_OK))
		abort();
	return 0;
}
