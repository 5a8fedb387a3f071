#include "wire/guest.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Exactly @len bytes on the heap, so that a sanitizer sees every read past the end. */
static char *exact(const struct buf *b, size_t len)
{
	char *p = malloc(len ? len : 1);
	memcpy(p, b->data, len);
	return p;
}

static void test_prepare(void)
{
	struct buf b = BUF_INIT;
	struct guest_prepare_body out;
	struct err err = ERR_INIT;
	buf_u16le(&b, GUEST_PTY | GUEST_FDS);
	buf_u16le(&b, 80);
	buf_u16le(&b, 24);
	buf_u16le(&b, 800);
	buf_u16le(&b, 480);
	pack_str(&b, "src");
	buf_u32le(&b, 2);
	pack_str(&b, "echo");
	pack_str(&b, "");
	buf_u32le(&b, 1);
	pack_str(&b, "A=b");
	is_int(guest_prepare_unpack(b.data, b.len, &out, &err), 0, "a prepare frame");
	ok(out.flags == (GUEST_PTY | GUEST_FDS) && out.cols == 80 && out.rows == 24 && out.xpixel == 800 && out.ypixel == 480, "numbers");
	is_str(out.cwd, "src", "directory");
	ok(out.nr_argv == 2 && strcmp(out.argv[0], "echo") == 0 && !*out.argv[1] && !out.argv[2], "arguments");
	ok(out.nr_env == 1 && strcmp(out.env[0], "A=b") == 0 && !out.env[1], "environment");
	guest_prepare_release(&out);
	int good = 0;
	for (size_t i = 0; i < b.len; i++) {
		char *p = exact(&b, i);
		good += guest_prepare_unpack(p, i, &out, &err) == 0;
		free(p);
	}
	is_int(good, 0, "no shorter one is");
	buf_putc(&b, 'x');
	is_int(guest_prepare_unpack(b.data, b.len, &out, &err), -1, "nor a longer one");
	b.data[10] = 1; /* the length of the directory's name */
	is_int(guest_prepare_unpack(b.data, b.len - 1, &out, &err), -1, "nor one whose string has no end");
	buf_reset(&b);
	buf_u16le(&b, 0);
	buf_u32le(&b, 0);
	pack_str(&b, "");
	buf_u32le(&b, UINT32_MAX);
	is_int(guest_prepare_unpack(b.data, b.len, &out, &err), -1, "nor one with four thousand million arguments");
	buf_reset(&b);
	buf_u16le(&b, 0);
	buf_u32le(&b, 0);
	pack_str(&b, "");
	buf_u32le(&b, 0);
	buf_u32le(&b, 0);
	is_int(guest_prepare_unpack(b.data, b.len, &out, &err), -1, "nor one without any");
	buf_release(&b);
}

static void test_attach(void)
{
	struct buf b = BUF_INIT;
	struct guest_attach_body out;
	struct err err = ERR_INIT;
	pack_u8(&b, GUEST_TCP);
	buf_u64le(&b, 1ULL << 40);
	buf_u64le(&b, 2);
	buf_u32le(&b, 3);
	buf_u16le(&b, 2);
	pack_u8(&b, GUEST_READ);
	pack_str(&b, "/usr");
	pack_u8(&b, GUEST_WRITE);
	pack_str(&b, "/workspace");
	buf_u16le(&b, 1);
	buf_u16le(&b, 3128);
	pack_u8(&b, 1);
	buf_u16le(&b, 2);
	buf_append(&b, "0123456789abcdef", 16);
	is_int(guest_attach_unpack(b.data, b.len, &out, &err), 0, "an attach frame");
	ok(out.flags == GUEST_TCP && out.mem_bytes == 1ULL << 40 && out.file_bytes == 2 && out.pids == 3, "limits");
	ok(out.nr_rules == 2 && out.rules[1].access == GUEST_WRITE && strcmp(out.rules[1].path, "/workspace") == 0,
	   "rules");
	ok(out.nr_ports == 1 && out.ports[0] == 3128, "ports");
	ok(out.nr_filters == 1 && out.filters[0].steps == 2 && memcmp(out.filters[0].code, "0123456789abcdef", 16) == 0,
	   "filters");
	guest_attach_release(&out);
	int good = 0;
	for (size_t i = 0; i < b.len; i++) {
		char *p = exact(&b, i);
		good += guest_attach_unpack(p, i, &out, &err) == 0;
		free(p);
	}
	is_int(good, 0, "no shorter one is");
	buf_release(&b);
}

static void test_ended(void)
{
	struct guest_ended_body e = { .code = 7,
				      .step = GS_CWD,
				      .sys = 2,
				      .left = 4,
				      .cpu_us = 5,
				      .max_bytes = 1ULL << 33,
				      .oom = 6 },
				out;
	struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	guest_ended_pack(&b, &e);
	is_int(guest_ended_unpack(b.data, b.len, &out, &err), 0, "an ended frame");
	ok(out.code == 7 && out.step == GS_CWD && out.sys == 2 && out.left == 4 && out.cpu_us == 5 &&
		   out.max_bytes == 1ULL << 33 && out.oom == 6,
	   "comes back as it was");
	is_int(guest_ended_unpack(b.data, b.len - 1, &out, &err), -1, "a short one does not");
	buf_release(&b);
	for (unsigned i = 0; i < GS_LAST_; i++)
		if (strcmp(guest_step_text(i), "something failed") == 0)
			ok(false, "step %u has no text", i);
	is_str(guest_step_text(200), "something failed", "an unknown step");
}

int main(void)
{
	test_prepare();
	test_attach();
	test_ended();
	return done_testing();
}
