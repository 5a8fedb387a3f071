/* The sizes that a box must bear: output that is right byte for byte while it streams by, many
 * tiny writes, large files both ways. With LONG=1 the whole sizes (1 GB, files of BOX_FILE_MAX),
 * else such that they take a moment. Included by conformance.c. */
#ifndef DRIVERS_LARGE_H
#define DRIVERS_LARGE_H

#include <stdlib.h>

/* A prime number of bytes, so that no buffer's end falls where a piece ends. */
enum {
	PIECE = 1000003,
	PIECES = 8,
	PIECES_LONG = 1074,
	TINY = 10000,
	LARGE = (17 << 20) + 5,
	SILENCE_S = 120,
	GROWS_MB = 96
};

/* Output that is not kept: only its statistics. */
struct flow {
	bool here, lost;
	int code;
	int64_t len;
	struct hash_ctx sum;
};

static void flow_output(void *self, int stream, const void *bytes, size_t len)
{
	struct flow *f = self;
	if (stream != 1)
		return;
	hash_add(&f->sum, bytes, len);
	f->len += (int64_t)len;
}

static void flow_exit(void *self, int code, int signal, bool lost, int left)
{
	struct flow *f = self;
	(void)left;
	f->code = signal ? -signal : code;
	f->lost = lost;
	f->here = true;
}

/* As long as bytes come (of nothing at all: none) it may take its time. */
static void wait_long(const bool *here, const int64_t *len)
{
	int64_t were = -1, until = 0;
	while (!*here) {
		if (were < (len ? *len : 0)) {
			were = len ? *len : 0;
			until = clock_mono_us() + SILENCE_S * 1000000LL;
		}
		if (clock_mono_us() > until) {
			printf("Bail out! nothing happened for %d s\n", SILENCE_S);
			exit(1);
		}
		loop_turn(fx_loop, 200);
	}
}

static void flow_of(struct box *b, const char *const *words, struct flow *f)
{
	static const struct run_ops ops = { .on_output = flow_output, .on_exit = flow_exit };
	struct run_opts o = { .argv = (char *const *)(uintptr_t)words, .nr_argv = 3 };
	*f = (struct flow){ 0 };
	hash_begin(&f->sum);
	struct run *p = b->driver->run_prepare(b, &o, &ops, f);
	b->driver->run_go(p);
	wait_long(&f->here, &f->len);
	b->driver->run_free(p);
}

static bool flow_is(struct flow *f, struct hash_ctx *want, int64_t len)
{
	struct hash got, sum;
	hash_end(&f->sum, &got);
	hash_end(want, &sum);
	if (f->lost || f->code || f->len != len)
		printf("# %lld bytes of %lld, status %d%s\n", (long long)f->len, (long long)len,
		       f->code, f->lost ? ", lost" : "");
	return !f->lost && f->code == 0 && f->len == len && hash_eq(&got, &sum);
}

/* The most memory that this process had so far. */
static int64_t peak_kb(void)
{
	char line[256];
	long long kb = -1;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmHWM: %lld kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

/* Every byte there is, no two pieces alike. */
static uint8_t *noise(size_t len)
{
	uint8_t *bytes = mem_alloc(len);
	random_bytes(bytes, len);
	for (size_t i = 0; i < 256 && i < len; i++)
		bytes[i] = (uint8_t)i;
	return bytes;
}

static bool write_file(struct box *b, const char *path, const void *bytes, size_t len)
{
	struct answer a = { 0 };
	b->driver->write(b, path, bytes, len, 0644, fx_done, &a);
	wait_long(&a.here, NULL);
	if (!a.result)
		printf("# %s\n", a.err.text);
	bool good = a.result != NULL;
	json_release(&a.result);
	return good;
}

static void much_output(struct box *b, bool has_shell)
{
	int n = getenv("LONG") ? PIECES_LONG : PIECES;
	CLEANUP(free_ptr) uint8_t *piece = noise(PIECE);
	CLEANUP(free_ptr)
	char *sh = mem_printf("i=0; while [ $i -lt %d ]; do cat piece; echo $i; i=$((i + 1)); done",
			      n);
	CLEANUP(free_ptr)
	char *py = mem_printf(
		"import sys; out = sys.stdout.buffer.write; b = open('piece', 'rb').read()\n"
		"for i in range(%d): out(b + b'%%d\\n' %% i)",
		n);
	const char *const words[] = { has_shell ? "sh" : "python", "-c", has_shell ? sh : py };
	struct hash_ctx want;
	struct flow f;
	int64_t len = 0;
	bool there = write_file(b, "piece", piece, PIECE);
	hash_begin(&want);
	for (int i = 0; i < n; i++) {
		char nr[16];
		int digits = snprintf(nr, sizeof(nr), "%d\n", i);
		hash_add(&want, piece, PIECE);
		hash_add(&want, nr, (size_t)digits);
		len += PIECE + digits;
	}
	int64_t before = peak_kb();
	flow_of(b, words, &f);
	ok(flow_is(&f, &want, len) && there,
	   "%d MB of output, any bytes, are the same byte for byte", n);
	int64_t grown = (peak_kb() - before) / 1024;
	ok(grown <= GROWS_MB, "and stream by: %lld MB of memory more", (long long)grown);
}

static void tiny_writes(struct box *b, bool has_shell)
{
	const char *const sh[] = { "sh", "-c",
				   "i=0; while [ $i -lt 10000 ]; do echo $i; i=$((i + 1)); done" };
	const char *const py[] = {
		"python", "-c",
		"import sys\n"
		"for i in range(10000): sys.stdout.write('%d\\n' % i); sys.stdout.flush()"
	};
	struct hash_ctx want;
	struct flow f;
	int64_t len = 0;
	hash_begin(&want);
	for (int i = 0; i < TINY; i++) {
		char nr[16];
		int digits = snprintf(nr, sizeof(nr), "%d\n", i);
		hash_add(&want, nr, (size_t)digits);
		len += digits;
	}
	flow_of(b, has_shell ? sh : py, &f);
	ok(flow_is(&f, &want, len), "%d tiny writes come whole and in order", TINY);
}

static json_t *read_file(struct box *b, const char *path, struct buf *got)
{
	struct answer a = { 0 };
	b->driver->read(b, path, BOX_FILE_MAX, fx_done, &a);
	wait_long(&a.here, NULL);
	if (!a.result || !json_get_bytes(json_object_get(a.result, "data"), got))
		printf("# %s\n", a.result ? "no bytes" : a.err.text);
	return a.result;
}

/* A driver's own limit (of a frame, of an answer) must not cut files up to BOX_FILE_MAX. A cut
 * beyond that is reported. */
static void large_file(struct box *b, bool has_shell)
{
	size_t len = getenv("LONG") ? BOX_FILE_MAX : LARGE;
	CLEANUP(free_ptr) uint8_t *bytes = noise(len);
	CLEANUP(buf_release) struct buf got = BUF_INIT, hex = BUF_INIT;
	const char *const sh[] = { "sh", "-c", "sha256sum <large; printf x >>large" };
	static const char sum[] =
		"import hashlib; print(hashlib.sha256(open('large', 'rb').read()).hexdigest()); "
		"open('large', 'ab').write(b'x')";
	const char *const py[] = { "python", "-c", sum };
	struct run_opts o = { .argv = (char *const *)(uintptr_t)(has_shell ? sh : py),
			      .nr_argv = 3 };
	struct ran r = { 0 };
	struct hash h;
	ok(write_file(b, "large", bytes, len), "a file of %zu MB, any bytes, is written",
	   len >> 20);
	json_t *answer = read_file(b, "large", &got);
	ok(got.len == len && memcmp(got.data, bytes, len) == 0, "and read, byte for byte");
	json_release(&answer);
	struct run *p = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(p);
	wait_long(&r.here, NULL);
	b->driver->run_free(p);
	hash_of(bytes, len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	ok(strncmp(buf_cstr(&r.out), buf_cstr(&hex), hex.len) == 0,
	   "a command finds the same bytes");
	fx_ran_release(&r);
	answer = read_file(b, "large", &got);
	ok(json_int(answer, "size", -1) == (int64_t)len + 1 &&
		   got.len == (len < BOX_FILE_MAX ? len + 1 : len) &&
		   memcmp(got.data, bytes, len) == 0,
	   len < BOX_FILE_MAX ? "and adds to them"
			      : "a larger file is cut there, with its full size");
	json_release(&answer);
}

#endif
