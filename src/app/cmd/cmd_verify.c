/* sandglass verify: is the record what was written? */
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/front/sessions.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/read/verify.h"

struct report {
	struct cmd_ctx *ctx;
	struct buf junit;
	bool damaged; /* what was written is not what is there; else a check failed */
};

static const char *const result_word[] = { [VERIFY_OK] = "ok", [VERIFY_FAIL] = "FAIL", [VERIFY_SKIP] = "skip" };
static const char *const result_json[] = { [VERIFY_OK] = "ok", [VERIFY_FAIL] = "failed", [VERIFY_SKIP] = "skipped" };

static void xml(struct buf *out, const char *text)
{
	CLEANUP(buf_release) struct buf safe = BUF_INIT;
	cmd_safe(&safe, text, strlen(text), false);
	for (const char *s = buf_cstr(&safe); *s; s++)
		switch (*s) {
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, *s);
		}
}

static void junit_case(struct report *r, const char *name, enum verify_result result, const char *text)
{
	buf_puts(&r->junit, "    <testcase classname=\"record\" name=\"");
	xml(&r->junit, name);
	buf_puts(&r->junit, "\">");
	if (result == VERIFY_FAIL)
		buf_puts(&r->junit, "<failure message=\"");
	else if (result == VERIFY_SKIP)
		buf_puts(&r->junit, "<skipped message=\"");
	else
		buf_puts(&r->junit, "<system-out>");
	xml(&r->junit, text);
	buf_puts(&r->junit, result == VERIFY_OK ? "</system-out></testcase>\n" : "\"/></testcase>\n");
}

static void on_check(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct report *r = self;
	/* these two are about what was done, the others about whether the record can be believed */
	if (result == VERIFY_FAIL && strcmp(name, "order") != 0 && strcmp(name, "closed") != 0)
		r->damaged = true;
	junit_case(r, name, result, text);
	if (r->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "check", name);
		json_put_str(o, "result", result_json[result]);
		json_put_str(o, "text", text);
		if (seq)
			json_put_int(o, "seq", (int64_t)seq);
		cmd_json(r->ctx, o);
		return;
	}
	if (r->ctx->quiet && result != VERIFY_FAIL)
		return;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	cmd_safe(&b, text, strlen(text), false);
	fprintf(r->ctx->out, "  %-4s  %-11s %s", result_word[result], name, buf_cstr(&b));
	if (seq)
		fprintf(r->ctx->out, " (first at #%llu)", (unsigned long long)seq);
	fputc('\n', r->ctx->out);
}

static int write_junit(struct report *r, const char *file, const struct verify_totals *t, struct err *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_printf(&b,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"sandglass verify\" "
		   "tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n",
		   t->ok + t->failed + t->skipped, t->failed, t->skipped);
	buf_append(&b, r->junit.data, r->junit.len);
	buf_puts(&b, "  </testsuite>\n</testsuites>\n");
	return file_write_atomic(file, b.data, b.len, 0644, err);
}

static void verdict(struct report *r, struct session *s, const struct verify_totals *t)
{
	const char *word = t->failed ? r->damaged ? "damaged" : "failed" : "verified";
	if (r->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(s));
		json_put_str(o, "verdict", word);
		json_put_int(o, "events", (int64_t)t->events);
		json_put_int(o, "segments", (int64_t)t->segments);
		json_put_int(o, "objects", (int64_t)t->objects);
		json_put_int(o, "messages", (int64_t)t->messages);
		json_put_int(o, "checkpoints", (int64_t)t->checkpoints);
		json_put_int(o, "redacted", (int64_t)t->redacted);
		json_put_int(o, "ok", t->ok);
		json_put_int(o, "failed", t->failed);
		json_put_int(o, "skipped", t->skipped);
		if (t->first_bad)
			json_put_int(o, "first_bad", (int64_t)t->first_bad);
		cmd_json(r->ctx, o);
		return;
	}
	fprintf(r->ctx->out, "%s %s: %u ok, %u failed, %u skipped; %llu events", session_id(s), word, t->ok, t->failed,
		t->skipped, (unsigned long long)t->events);
	if (t->redacted)
		fprintf(r->ctx->out, ", %llu redacted", (unsigned long long)t->redacted);
	if (t->first_bad)
		fprintf(r->ctx->out, "; first bad event #%llu", (unsigned long long)t->first_bad);
	fputc('\n', r->ctx->out);
}

static int options(struct cmd_ctx *ctx, struct verify_opts *o, uint8_t key[SIGN_KEY_LEN], struct err *err)
{
	const char *hex = cmd_opt(ctx, "key");
	o->anchor = cmd_opt(ctx, "anchor");
	if (hex && !hex_parse(hex, strlen(hex), key, SIGN_KEY_LEN))
		return err_set(err, ERR_USAGE, "--key wants %d hexadecimal digits, not '%s'", 2 * SIGN_KEY_LEN, hex);
	o->key = hex ? key : NULL;
	return 0;
}

int cmd_verify(struct cmd_ctx *ctx)
{
	struct session *s;
	struct err err = ERR_INIT;
	struct verify_opts o = { 0 };
	struct verify_totals t = { 0 };
	struct report r = { .ctx = ctx };
	uint8_t key[SIGN_KEY_LEN];
	uint64_t seq;
	if (options(ctx, &o, key, &err) < 0 || session_open_ref(ctx, cmd_word(ctx, 0), &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	int status;
	if (verify_session(s, &o, on_check, &r, &t, &err) < 0 ||
	    (cmd_opt(ctx, "junit") && write_junit(&r, cmd_opt(ctx, "junit"), &t, &err) < 0)) {
		status = cmd_fail(ctx, &err);
	} else {
		verdict(&r, s, &t);
		status = !t.failed ? EXIT_DONE : r.damaged ? EXIT_DAMAGED : EXIT_UNSUCCESSFUL;
	}
	buf_release(&r.junit);
	session_close(&s);
	return status;
}
