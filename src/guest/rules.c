/* Landlock, spoken to by number: the structures of ABI 7 are written out here because the headers
 * of the oldest system we build on stop at ABI 1. The ruleset is opened by ATTACH, after the
 * workspace is mounted: a rule names what lies at a path now, not the path. Only what stays as it
 * is may be opened before (GUEST_AHEAD). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/capability.h>

#include "base/mem.h"
#include "guest/guest_priv.h"
#include "guest/sys.h"

enum { NR_CREATE = 444, NR_ADD = 445, NR_RESTRICT = 446 };
enum { RULE_PATH = 1, RULE_PORT = 2 };

struct ruleset_attr {
	uint64_t fs, net, scoped;
};
struct path_attr {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));
struct port_attr {
	uint64_t allowed, port;
};

#define BIT(n) (1ULL << (n))
static const uint64_t fs_execute = BIT(0), fs_read = BIT(2) | BIT(3), fs_list = BIT(3),
		      fs_make_node = BIT(6) | BIT(11), fs_refer = BIT(13), fs_truncate = BIT(14),
		      fs_ioctl = BIT(15);
/* write, remove dir, remove file, make dir, regular, socket, fifo, symlink */
static const uint64_t fs_change =
	BIT(1) | BIT(4) | BIT(5) | BIT(7) | BIT(8) | BIT(9) | BIT(10) | BIT(12);
/* what a rule on a file, not a directory, may grant */
static const uint64_t fs_file = BIT(0) | BIT(1) | BIT(2) | BIT(14) | BIT(15);

int inner_landlock_abi(void)
{
	long abi = syscall(NR_CREATE, NULL, 0, 1);
	return abi < 0 ? 0 : abi > 255 ? 255 : (int)abi;
}

static uint64_t fs_handled(int abi)
{
	return fs_execute | fs_read | fs_change | fs_make_node | (abi >= 2 ? fs_refer : 0) |
	       (abi >= 3 ? fs_truncate : 0) | (abi >= 5 ? fs_ioctl : 0);
}

static uint64_t fs_granted(unsigned access)
{
	return (access & GUEST_READ ? fs_read : 0) | (access & GUEST_LIST ? fs_list : 0) |
	       (access & GUEST_EXEC ? fs_execute : 0) |
	       (access & GUEST_WRITE ? fs_change | fs_refer | fs_truncate : 0) |
	       (access & GUEST_DEVICE ? fs_ioctl : 0);
}

/* 1 added, 0 the path is missing, -1 errno. */
static int add_path(int ruleset, const struct guest_attach_rule *r, uint64_t handled)
{
	CLEANUP(fd_close) int fd = open(r->path, O_PATH | O_CLOEXEC);
	struct stat st;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
	if (fstat(fd, &st) < 0)
		return -1;
	uint64_t allowed = fs_granted(r->access) & handled;
	if (!S_ISDIR(st.st_mode))
		allowed &= fs_file;
	if (!allowed)
		return 1;
	struct path_attr p = { .allowed = allowed, .fd = fd };
	return syscall(NR_ADD, ruleset, RULE_PATH, &p, 0) < 0 ? -1 : 1;
}

/* A rule holds for all below its path, so that a directory without one of its entries needs a rule
 * each for the others. Returns as add_path. */
static int add_entries(int ruleset, const struct guest_attach_rule *r, uint64_t handled)
{
	int rc = add_path(ruleset, &(struct guest_attach_rule){ GUEST_LIST, r->path }, handled);
	DIR *d = rc > 0 ? opendir(r->path) : NULL;
	for (struct dirent *e; d && rc >= 0 && (e = readdir(d));) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%s", r->path, e->d_name);
		const struct guest_attach_rule one = { r->access & (GUEST_ENTRIES - 1), path };
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, "machine-id") != 0)
			rc = add_path(ruleset, &one, handled) < 0 ? -1 : rc;
	}
	if (d)
		closedir(d);
	return rc;
}

/* Adds to @given (taken; -1: a new ruleset) and returns it. Appends the indexes of missing paths to
 * @missing. */
static int open_rules(int given, const struct guest_attach_body *a, int abi, bool shared,
		      struct buf *missing, size_t *nr_missing)
{
	struct ruleset_attr attr = { .fs = fs_handled(abi) };
	if (abi >= 4 && a->flags & GUEST_TCP)
		attr.net = BIT(0) | BIT(1);
	if (abi >= 6 && a->flags & GUEST_SCOPE)
		attr.scoped = BIT(0) | BIT(1);
	size_t size = abi >= 6 ? sizeof attr : abi >= 4 ? 16 : 8;
	CLEANUP(fd_close) int fd = given >= 0 ? given : (int)syscall(NR_CREATE, &attr, size, 0);
	if (fd < 0)
		return -1;
	if (shared && given < 0 &&
	    add_path(fd, &(struct guest_attach_rule){ GUEST_READ, "/proc" }, attr.fs) < 0)
		return -1; /* the loop lists processes from inside */
	for (size_t i = 0; i < a->nr_rules; i++) {
		int rc = a->rules[i].access & GUEST_ENTRIES ? add_entries(fd, &a->rules[i], attr.fs)
							    : add_path(fd, &a->rules[i], attr.fs);
		if (rc < 0)
			return -1;
		if (rc == 0) {
			buf_u16le(missing, (uint16_t)i);
			++*nr_missing;
		}
	}
	for (size_t i = 0; attr.net && i < a->nr_ports; i++) {
		struct port_attr p = { .allowed = BIT(1), .port = a->ports[i] };
		if (syscall(NR_ADD, fd, RULE_PORT, &p, 0) < 0)
			return -1;
	}
	int out = fd;
	fd = -1;
	return out;
}

static void pack_attached(struct buf *out, int abi, bool filtered, const struct buf *missing,
			  size_t nr_missing)
{
	buf_reset(out);
	pack_u8(out, (uint8_t)abi);
	pack_u8(out, filtered);
	buf_u16le(out, (uint16_t)nr_missing);
	buf_append(out, missing->data, missing->len);
}

static void rules_attach(struct inner *g, const struct guest_attach_body *a)
{
	CLEANUP(buf_release) struct buf missing = BUF_INIT;
	int abi = inner_landlock_abi(), fd = -1;
	size_t nr_missing = 0;
	bool without = abi == 0 && a->flags & GUEST_UNCONFINED_OK;
	bool shared = g->init && !without && !(a->flags & (GUEST_TCP | GUEST_SCOPE));
	if (inner_preparing(g)) {
		inner_answer(g, g->attach_id, GS_BUSY, EBUSY, NULL, -1);
		return;
	}
	int waiting = a->flags & GUEST_ON ? g->ahead : -1;
	g->ahead = a->flags & GUEST_ON ? -1 : g->ahead;
	errno = a->flags & GUEST_ON && waiting < 0 ? EBADF : EOPNOTSUPP;
	if (!without && (abi == 0 || errno == EBADF ||
			 (fd = open_rules(waiting, a, abi, shared, &missing, &nr_missing)) < 0)) {
		inner_answer(g, g->attach_id, GS_LANDLOCK, errno, NULL, -1);
		return;
	}
	if (a->flags & GUEST_AHEAD) {
		fd_close(&g->ahead);
		g->ahead = fd;
		pack_attached(&g->attached, abi, false, &missing, nr_missing);
		inner_answer(g, g->attach_id, GS_NONE, 0, &g->attached, -1);
		buf_reset(&g->attached);
		return;
	}
	fd_close(&g->rules.fd);
	inner_filters_drop(&g->rules);
	g->rules = (struct inner_rules){
		.attached = true,
		.unconfined = without,
		.shared = shared,
		.drop_caps = g->caps && !(a->flags & GUEST_KEEP_CAPS),
		.fd = fd,
		.mem_bytes = a->mem_bytes,
		.file_bytes = a->file_bytes,
		.pids = a->pids,
	};
	if (inner_filters_take(&g->rules, a) < 0) {
		g->rules.attached = g->rules.shared = false;
		inner_answer(g, g->attach_id, GS_FILTER, errno, NULL, -1);
		return;
	}
	pack_attached(&g->attached, abi, g->rules.nr_filters > 0, &missing, nr_missing);
	if (shared)
		return;
	inner_answer(g, g->attach_id, GS_NONE, 0, &g->attached, -1);
	buf_reset(&g->attached);
}

void inner_attach(struct inner *g)
{
	struct guest_attach_body a;
	struct err err = ERR_INIT;
	g->attach_waits = false;
	if (guest_attach_unpack(g->attach.data, g->attach.len, &a, &err) < 0) {
		g->over = true;
		return;
	}
	rules_attach(g, &a);
	guest_attach_release(&a);
}

/* Limits only ever go down. */
static long rules_lower(int what, uint64_t soft, uint64_t hard)
{
	struct rlimit64 now;
	long rc = sys4(SYS_prlimit64, 0, what, NULL, &now);
	if (rc < 0)
		return rc;
	struct rlimit64 want = { .rlim_max = hard < now.rlim_max ? hard : now.rlim_max };
	want.rlim_cur = soft < want.rlim_max ? soft : want.rlim_max;
	if (want.rlim_cur == now.rlim_cur && want.rlim_max == now.rlim_max)
		return 0;
	return sys4(SYS_prlimit64, 0, what, &want, NULL);
}

/* Capabilities denied to every command of a sandbox: the guest has lowered these for itself, and
 * children inherit. */
int inner_lower_limits(void)
{
	return rules_lower(RLIMIT_CORE, 0, 0) < 0 || rules_lower(RLIMIT_NOFILE, 4096, 4096) < 0 ||
			       rules_lower(RLIMIT_MEMLOCK, 0, 0) < 0 ||
			       rules_lower(RLIMIT_MSGQUEUE, 0, 0) < 0 ||
			       rules_lower(RLIMIT_RTPRIO, 0, 0) < 0 ||
			       rules_lower(RLIMIT_NICE, 0, 0) < 0 ||
			       rules_lower(RLIMIT_SIGPENDING, 256, 256) < 0
		       ? -1
		       : 0;
}

static long enter_limits(const struct inner_rules *r)
{
	long rc = rules_lower(RLIMIT_NOFILE, 1024, 1024); /* the guest itself needs more */
	if (rc == 0 && r->mem_bytes)
		rc = rules_lower(RLIMIT_AS, r->mem_bytes, r->mem_bytes);
	if (rc == 0 && r->file_bytes)
		rc = rules_lower(RLIMIT_FSIZE, r->file_bytes, r->file_bytes);
	if (rc == 0 && r->pids)
		rc = rules_lower(RLIMIT_NPROC, r->pids, r->pids);
	return rc;
}

static long drop_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	return sys2(SYS_capset, &head, none);
}

static long enter_domain(const struct inner_rules *r, unsigned *step_out)
{
	long rc;
	*step_out = GS_PRIVS;
	if (r->drop_caps && (rc = drop_caps()) < 0)
		return rc;
	*step_out = GS_LANDLOCK;
	if (!r->unconfined && (rc = sys2(NR_RESTRICT, r->fd, 0)) < 0)
		return rc;
	*step_out = GS_FILTER;
	return inner_filters_enter(r);
}

/* no_new_privs is inherited from the guest, so nothing given up here comes back at exec. */
long inner_rules_enter(const struct inner_rules *r, unsigned *step_out)
{
	long rc = enter_limits(r);
	*step_out = GS_LIMITS;
	return rc < 0 || r->shared ? rc : enter_domain(r, step_out);
}

void inner_confine(struct inner *g)
{
	unsigned step;
	long rc = enter_domain(&g->rules, &step);
	if (rc < 0) {
		g->rules.attached = false;
		inner_answer(g, g->attach_id, step, (int)-rc, NULL, -1);
	} else if (g->attached.len) {
		inner_answer(g, g->attach_id, GS_NONE, 0, &g->attached, -1);
	}
	buf_reset(&g->attached);
}
