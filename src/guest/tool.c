#include "guest/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "guest/guest_priv.h"
#include "wire/guest.h"
#include "wire/keeper.h"
#include "wire/manifest.h"
#include "wire/plan.h"
#include "wire/tool.h"

static int open_root(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "can't open '%s'", path) : fd;
}

static int tool_list(char **arg, struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT, all = BUF_INIT;
	CLEANUP(fd_close) int root = open_root(arg[0], err);
	struct hash h;
	if (root < 0 || fd_read_all(0, &in, 8, err) < 0 || manifest_make(root, &all, err) < 0)
		return -1;
	hash_of(buf_cstr(&all), all.len, &h);
	buf_append(out, h.b, 8);
	if (in.len != 8 || memcmp(in.data, h.b, 8) != 0)
		buf_append(out, all.data, all.len);
	return 0;
}

/* A file that its owner may not read is opened for the moment. -1: there is none. */
static int tool_open_file(int root, const char *path, struct stat *st)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int fd = beneath_open(root, path, strlen(path), flags);
	if (fd < 0 && errno == EACCES) {
		CLEANUP(fd_close) int at = beneath_open(root, path, strlen(path), O_PATH);
		CLEANUP(free_ptr) char *proc = mem_printf("/proc/self/fd/%d", at);
		if (at < 0 || fstat(at, st) < 0 || !S_ISREG(st->st_mode) ||
		    chmod(proc, (st->st_mode & 07777) | 0400) < 0)
			return -1;
		fd = open(proc, flags | O_CLOEXEC);
		(void)!chmod(proc, st->st_mode & 07777);
	}
	if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode)))
		fd_close(&fd);
	return fd;
}

static void get_one(int root, const char *path, uint64_t from, uint64_t want, struct buf *out)
{
	struct stat st;
	CLEANUP(fd_close) int fd = tool_open_file(root, path, &st);
	struct manifest_entry e = { .path = path };
	pack_u8(out, fd >= 0);
	if (fd < 0)
		return;
	manifest_stat(&e, &st);
	manifest_put(out, &e);
	size_t at = out->len;
	buf_u64le(out, 0);
	buf_reserve(out, want);
	uint64_t got = 0;
	while (got < want) {
		ssize_t n = pread(fd, out->data + out->len, want - got, (off_t)(from + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (uint64_t)n;
		out->len += (size_t)n;
	}
	for (int i = 0; i < 8; i++)
		out->data[at + (size_t)i] = (char)(got >> (8 * i));
}

static int tool_news(char **arg, struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	CLEANUP(fd_close) int root = open_root(arg[0], err);
	uint64_t since = strtoull(arg[2], NULL, 10), max = strtoull(arg[3], NULL, 10);
	struct manifest_at at = { 0 };
	struct manifest_entry e;
	struct hash h;
	uint8_t known[8];
	if (root < 0 || manifest_make(root, &all, err) < 0)
		return -1;
	hash_of(buf_cstr(&all), all.len, &h);
	buf_append(out, h.b, 8);
	if (hex_parse(arg[1], strlen(arg[1]), known, 8) && memcmp(known, h.b, 8) == 0)
		return 0;
	if (all.len + 16 > max)
		return err_set(err, ERR_FULL, "the list has %zu bytes, more than requested",
			       all.len);
	buf_u64le(out, all.len);
	buf_append(out, all.data, all.len);
	while (manifest_next(buf_cstr(&all), all.len, &at, &e, err) > 0) {
		bool fits = e.size < max && out->len + e.size + strlen(e.path) + 128 < max;
		if (e.kind == MANIFEST_FILE && e.ctime_ns > since && fits)
			get_one(root, e.path, 0, e.size, out);
	}
	return err->code ? -1 : 0;
}

/* The root, and the request about it: @u reads @in. */
static int open_asked(const char *path, struct buf *in, struct unpack *u, struct err *err)
{
	int root = open_root(path, err);
	if (root >= 0 && fd_read_all(0, in, TOOL_MAX_IN, err) < 0)
		fd_close(&root);
	*u = (struct unpack){ .p = buf_cstr(in), .left = in->len };
	return root;
}

static int tool_get(char **arg, struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	struct unpack u;
	CLEANUP(fd_close) int root = open_asked(arg[0], &in, &u, err);
	if (root < 0)
		return -1;
	while (u.left && !u.bad) {
		const char *path = unpack_str(&u);
		uint64_t from = unpack_u64(&u), want = unpack_u64(&u);
		if (u.bad || !plan_path_ok(path, strlen(path)) || want > TOOL_MAX_IN)
			return err_set(err, ERR_PARSE, "invalid request: path or size");
		get_one(root, path, from, want, out);
	}
	return 0;
}

/* -1: it cannot be read to its end. */
static int tool_sum_of(int fd, struct hash *out)
{
	char bytes[64 << 10];
	struct hash_ctx c;
	ssize_t n;
	hash_begin(&c);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			hash_add(&c, bytes, (size_t)n);
	hash_end(&c, out);
	return n < 0 ? -1 : 0;
}

static void sum_one(int root, const char *path, struct buf *out)
{
	struct stat st, after;
	struct hash h;
	struct manifest_entry e = { .path = path }, then = { .path = path };
	CLEANUP(fd_close) int fd = tool_open_file(root, path, &st);
	bool good = fd >= 0 && tool_sum_of(fd, &h) == 0 && fstat(fd, &after) == 0;
	if (good) {
		manifest_stat(&e, &st);
		manifest_stat(&then, &after);
		good = e.size == then.size && e.mtime_ns == then.mtime_ns &&
		       e.ctime_ns == then.ctime_ns;
	}
	pack_u8(out, good);
	if (!good)
		return;
	manifest_put(out, &e);
	buf_append(out, h.b, HASH_LEN);
}

static int tool_sum(char **arg, struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	struct unpack u;
	CLEANUP(fd_close) int root = open_asked(arg[0], &in, &u, err);
	if (root < 0)
		return -1;
	while (u.left && !u.bad) {
		const char *path = unpack_str(&u);
		if (u.bad || !plan_path_ok(path, strlen(path)))
			return err_set(err, ERR_PARSE, "invalid request: path");
		sum_one(root, path, out);
	}
	return 0;
}

/* A file without a name; on a disk where the system call filter refuses memory that no cgroup
 * counts. */
static int open_scratch(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = memfd_create("contents", MFD_CLOEXEC);
	return fd >= 0 ? fd : open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static int tool_apply(char **arg, struct buf *out, struct err *err)
{
	char head[8];
	CLEANUP(free_ptr) char *plan = NULL;
	CLEANUP(fd_close) int root = open_root(arg[0], err), mem = open_scratch();
	size_t done;
	(void)out;
	if (root < 0 || fd_read_full(0, head, 8, err) < 0)
		return -1;
	uint64_t len = get_u64le(head);
	if (len > TOOL_MAX_IN || mem < 0)
		return err_set(err, ERR_PARSE, "can't read the plan");
	plan = mem_alloc(len + 1);
	if (fd_read_full(0, plan, len, err) < 0)
		return -1;
	char bytes[64 << 10];
	ssize_t n;
	while ((n = read(0, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && fd_write_all(mem, bytes, (size_t)n, err) < 0)
			return -1;
	return plan_run(root, plan, len, &mem, 1, &done, err);
}

static int tool_look(char **arg, struct buf *out, struct err *err)
{
	bool file = strcmp(arg[1], "file") == 0, dir = strcmp(arg[1], "dir") == 0;
	const int flags = dir ? O_RDONLY | O_DIRECTORY : file ? O_RDONLY : O_PATH | O_NOFOLLOW;
	size_t max = strtoull(arg[2], NULL, 10);
	struct stat st;
	CLEANUP(json_release) json_t *said = json_object();
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(fd_close)
	int fd = open(arg[0], flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY));
	if (fd < 0)
		return err_sys(err, "can't open '%s'", arg[0]);
	if (fstat(fd, &st) < 0 || (file && !S_ISREG(st.st_mode)))
		return err_set(err, ERR_INVALID, "'%s' is not a file", arg[0]);
	keeper_put_stat(said, &st);
	int own = dir ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (dir && keeper_put_entries(said, own, err) < 0)
		return -1;
	json_dump_buf(said, &text);
	buf_u32le(out, (uint32_t)text.len);
	buf_append(out, text.data, text.len);
	for (size_t got = 0; file && got < max;) {
		size_t want = max - got < 1 << 20 ? max - got : 1 << 20;
		buf_reserve(out, want);
		ssize_t n = read(fd, out->data + out->len, want);
		if (n <= 0)
			break;
		out->len += (size_t)n;
		got += (size_t)n;
	}
	return 0;
}

static int tool_make_parents(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	CLEANUP(free_ptr)
	char *dir = slash && slash > path ? mem_strndup(path, (size_t)(slash - path)) : NULL;
	return dir && access(dir, F_OK) < 0 ? dir_make(dir, 0755, err) : 0;
}

static int tool_put(char **arg, struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	CLEANUP(json_release) json_t *said = json_object();
	struct stat st;
	if (fd_read_all(0, &in, TOOL_MAX_IN, err) < 0 || tool_make_parents(arg[0], err) < 0)
		return -1;
	bool created = access(arg[0], F_OK) < 0;
	CLEANUP(fd_close)
	int fd = open(arg[0], O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't write '%s'", arg[0]);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_DENIED, "'%s' is not a regular file", arg[0]);
	if (ftruncate(fd, 0) < 0 ||
	    (*arg[1] != '-' && fchmod(fd, (mode_t)strtoul(arg[1], NULL, 8) & 01777) < 0))
		return err_sys(err, "can't write '%s'", arg[0]);
	if (fd_write_all(fd, buf_cstr(&in), in.len, err) < 0)
		return -1;
	json_put_int(said, "size", (int64_t)in.len);
	json_put_flag(said, "created", created);
	json_dump_buf(said, out);
	return 0;
}

static int tool_remove_all(char **arg, struct buf *out, struct err *err)
{
	(void)out;
	return dir_remove(arg[0], err);
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **arg, struct buf *out, struct err *err);
} tool_verbs[] = {
	{ "list", 1, tool_list }, { "get", 1, tool_get },   { "apply", 1, tool_apply },
	{ "look", 3, tool_look }, { "write", 2, tool_put }, { "remove", 1, tool_remove_all },
	{ "news", 4, tool_news }, { "sum", 1, tool_sum },
};

/* Returns on failure only. */
static int become_offline(char **argv)
{
	long rc = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : inner_offline();
	if (rc < 0) {
		fprintf(stderr, "can't keep it off the network: %s\n", strerror((int)-rc));
		return 126;
	}
	execvp(argv[0], argv);
	int why = errno;
	fprintf(stderr, "%s: %s\n", argv[0], strerror(why));
	return why == ENOENT || why == ENOTDIR ? 127 : 126;
}

int tool_answer(int argc, char **argv, struct buf *out)
{
	struct err err = ERR_INIT;
	hash_init();
	err_set(&err, ERR_USAGE, "unknown verb");
	pack_u8(out, 0);
	for (size_t i = 0; i < ARRAY_LEN(tool_verbs) && argc > 0; i++)
		if (strcmp(argv[0], tool_verbs[i].name) == 0 && argc == 1 + tool_verbs[i].args) {
			err = ERR_INIT;
			tool_verbs[i].run(argv + 1, out, &err);
		}
	if (err.code) {
		buf_reset(out);
		pack_u8(out, (uint8_t)err.code);
		buf_puts(out, err.text);
	}
	return err.code ? 1 : 0;
}

int tool_main(int argc, char **argv)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct err lost = ERR_INIT;
	if (argc > 1 && strcmp(argv[0], "offline") == 0)
		return become_offline(argv + 1);
	if (argc > 2 && strcmp(argv[0], "ends") == 0)
		return tool_ends(argv + 1);
	if (argc > 4 && strcmp(argv[0], "tty") == 0)
		return tool_tty(argv + 1);
	if (argc == 3 && strcmp(argv[0], "connect") == 0)
		return tool_connect(argv[1], argv[2]);
	int status = tool_answer(argc, argv, &out);
	return fd_write_all(1, out.data, out.len, &lost) < 0 ? 1 : status;
}
