#include "wire/guest.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

const char *guest_step_text(unsigned step)
{
	static const char *const text[GS_LAST_] = {
		[GS_NONE] = "nothing failed",
		[GS_PROTOCOL] = "the request makes no sense here",
		[GS_NO_RULES] = "the workspace is not attached yet",
		[GS_FORK] = "can't start a process",
		[GS_PIPE] = "can't create a pipe",
		[GS_PTY] = "can't open a terminal",
		[GS_SESSION] = "can't start a session",
		[GS_STDIO] = "can't connect standard streams",
		[GS_LIMITS] = "can't set limits",
		[GS_PRIVS] = "can't give up privileges",
		[GS_LANDLOCK] = "can't enter landlock rules",
		[GS_CWD] = "can't enter the working directory",
		[GS_EXEC] = "can't run the command",
		[GS_SOCKET] = "can't open a socket",
		[GS_BIND] = "can't listen on the port",
		[GS_CONNECT] = "can't connect to the port",
		[GS_PROC] = "can't list processes",
		[GS_TRACE] = "its executed programs can't be watched",
		[GS_OFFLINE] = "can't keep it off the network",
		[GS_FILTER] = "can't enter the system call filter",
		[GS_BUSY] = "commands are about to start",
	};
	return step < GS_LAST_ && text[step] ? text[step] : "something failed";
}

static const char *unpack_bytes(struct unpack *u, size_t len)
{
	const char *p = u->p;
	if (u->bad || u->left < len) {
		u->bad = true;
		return NULL;
	}
	u->p += len;
	u->left -= len;
	return p;
}

uint8_t unpack_u8(struct unpack *u)
{
	const char *p = unpack_bytes(u, 1);
	return p ? (uint8_t)*p : 0;
}

uint16_t unpack_u16(struct unpack *u)
{
	const char *p = unpack_bytes(u, 2);
	return p ? get_u16le(p) : 0;
}

uint32_t unpack_u32(struct unpack *u)
{
	const char *p = unpack_bytes(u, 4);
	return p ? get_u32le(p) : 0;
}

uint64_t unpack_u64(struct unpack *u)
{
	const char *p = unpack_bytes(u, 8);
	return p ? get_u64le(p) : 0;
}

const char *unpack_str(struct unpack *u)
{
	size_t len = unpack_u32(u);
	const char *p = unpack_bytes(u, len);
	const char *end = unpack_bytes(u, 1);
	if (!p || !end || *end != '\0' || memchr(p, '\0', len)) {
		u->bad = true;
		return "";
	}
	return p;
}

bool unpack_done(const struct unpack *u)
{
	return !u->bad && u->left == 0;
}

void pack_u8(struct buf *b, uint8_t v)
{
	buf_putc(b, (char)v);
}

void pack_str(struct buf *b, const char *s)
{
	size_t len = strlen(s);
	buf_u32le(b, (uint32_t)len);
	buf_append(b, s, len + 1);
}

/* A counted list of strings as an array that ends with NULL; NULL and bad if the count cannot be
 * true. */
static const char **unpack_strings(struct unpack *u, size_t *nr_out)
{
	size_t nr = unpack_u32(u);
	if (nr > GUEST_MAX_STRINGS || nr * 5 > u->left) {
		u->bad = true;
		return NULL;
	}
	const char **v = mem_calloc(nr + 1, sizeof *v);
	for (size_t i = 0; i < nr; i++)
		v[i] = unpack_str(u);
	*nr_out = nr;
	return v;
}

int guest_prepare_unpack(const char *body, size_t len, struct guest_prepare_body *out,
			 struct err *err)
{
	struct unpack u = { .p = body, .left = len };
	struct guest_prepare_body b = { 0 };
	b.flags = unpack_u16(&u);
	b.cols = unpack_u16(&u);
	b.rows = unpack_u16(&u);
	b.xpixel = unpack_u16(&u);
	b.ypixel = unpack_u16(&u);
	b.cwd = unpack_str(&u);
	b.argv = unpack_strings(&u, &b.nr_argv);
	if (!u.bad)
		b.env = unpack_strings(&u, &b.nr_env);
	if (!unpack_done(&u) || b.nr_argv == 0) {
		guest_prepare_release(&b);
		*out = (struct guest_prepare_body){ 0 };
		return err_set(err, ERR_PARSE, "invalid prepare frame");
	}
	*out = b;
	return 0;
}

void guest_prepare_release(struct guest_prepare_body *b)
{
	free(b->argv);
	free(b->env);
	b->argv = b->env = NULL;
}

static void unpack_ports(struct unpack *u, struct guest_attach_body *b)
{
	b->nr_ports = unpack_u16(u);
	if (b->nr_ports * 2 > u->left)
		u->bad = true;
	else
		b->ports = mem_calloc(b->nr_ports + 1, sizeof *b->ports);
	for (size_t i = 0; i < b->nr_ports && !u->bad; i++)
		b->ports[i] = unpack_u16(u);
}

static void unpack_filters(struct unpack *u, struct guest_attach_body *b)
{
	b->nr_filters = unpack_u8(u);
	u->bad |= b->nr_filters > GUEST_FILTERS;
	for (size_t i = 0; i < b->nr_filters && !u->bad; i++) {
		struct guest_filter *f = &b->filters[i];
		f->steps = unpack_u16(u);
		size_t len = (size_t)f->steps * GUEST_FILTER_STEP;
		f->code = u->p;
		if (f->steps < 1 || f->steps > GUEST_FILTER_MAX || len > u->left) {
			u->bad = true;
			return;
		}
		u->p += len;
		u->left -= len;
	}
}

int guest_attach_unpack(const char *body, size_t len, struct guest_attach_body *out,
			struct err *err)
{
	struct unpack u = { .p = body, .left = len };
	struct guest_attach_body b = { 0 };
	b.flags = unpack_u8(&u);
	b.mem_bytes = unpack_u64(&u);
	b.file_bytes = unpack_u64(&u);
	b.pids = unpack_u32(&u);
	b.nr_rules = unpack_u16(&u);
	if (b.nr_rules > GUEST_MAX_RULES)
		u.bad = true;
	else
		b.rules = mem_calloc(b.nr_rules + 1, sizeof *b.rules);
	for (size_t i = 0; i < b.nr_rules && !u.bad; i++) {
		b.rules[i].access = unpack_u8(&u);
		b.rules[i].path = unpack_str(&u);
	}
	unpack_ports(&u, &b);
	unpack_filters(&u, &b);
	if (!unpack_done(&u)) {
		guest_attach_release(&b);
		*out = (struct guest_attach_body){ 0 };
		return err_set(err, ERR_PARSE, "invalid attach frame");
	}
	*out = b;
	return 0;
}

void guest_attach_release(struct guest_attach_body *b)
{
	free(b->rules);
	free(b->ports);
	b->rules = NULL;
	b->ports = NULL;
}

void guest_ended_pack(struct buf *out, const struct guest_ended_body *e)
{
	buf_u16le(out, e->code);
	pack_u8(out, e->signal);
	pack_u8(out, e->step);
	buf_u32le(out, e->sys);
	buf_u32le(out, e->left);
	buf_u64le(out, e->cpu_us);
	buf_u64le(out, e->max_bytes);
	buf_u32le(out, e->oom);
}

int guest_ended_unpack(const char *body, size_t len, struct guest_ended_body *out, struct err *err)
{
	struct unpack u = { .p = body, .left = len };
	struct guest_ended_body e = {
		.code = unpack_u16(&u),
	};
	e.signal = unpack_u8(&u);
	e.step = unpack_u8(&u);
	e.sys = unpack_u32(&u);
	e.left = unpack_u32(&u);
	e.cpu_us = unpack_u64(&u);
	e.max_bytes = unpack_u64(&u);
	e.oom = unpack_u32(&u);
	if (!unpack_done(&u))
		return err_set(err, ERR_PARSE, "invalid ended frame");
	*out = e;
	return 0;
}
