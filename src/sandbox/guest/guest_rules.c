/* The default rights of a command in a sandbox. Everything in the sandbox's mount tree is ours, so
 * / may be listed; paths not named here can be seen and not opened. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/guest/guest_priv.h"
#include "sandbox/common/seccomp.h"

enum {
	RX = GUEST_READ | GUEST_EXEC,
	RW = GUEST_READ | GUEST_WRITE,
	ALL = GUEST_READ | GUEST_WRITE | GUEST_EXEC,
};

static const struct guest_rule guest_rules_defaults[] = {
	{ "/", GUEST_LIST },
	{ "/usr", RX },
	{ "/bin", RX },
	{ "/sbin", RX },
	{ "/lib", RX },
	{ "/lib32", RX },
	{ "/lib64", RX },
	{ "/etc", GUEST_READ },
	{ "/proc", GUEST_READ },
	{ "/run", GUEST_READ },
	{ "/var", GUEST_READ },
	{ "/workspace", ALL },
	{ "/tmp", ALL },
	{ "/var/tmp", ALL },
	{ "/dev/shm", ALL },
	{ "/home/agent", ALL },
	{ "/dev/null", RW | GUEST_DEVICE },
	{ "/dev/zero", RW | GUEST_DEVICE },
	{ "/dev/full", RW | GUEST_DEVICE },
	{ "/dev/random", RW | GUEST_DEVICE },
	{ "/dev/urandom", RW | GUEST_DEVICE },
	{ "/dev/tty", RW | GUEST_DEVICE },
	{ "/dev/ptmx", RW | GUEST_DEVICE },
	{ "/dev/pts", RW | GUEST_DEVICE },
};

static const struct guest_rule guest_rules_common[] = {
	{ "/usr", RX },
	{ "/bin", RX },
	{ "/sbin", RX },
	{ "/lib", RX },
	{ "/lib32", RX },
	{ "/lib64", RX },
	{ "/etc", GUEST_READ },
	{ "/proc", GUEST_READ },
	{ "/dev/null", RW | GUEST_DEVICE },
	{ "/dev/zero", RW },
	{ "/dev/full", RW },
	{ "/dev/random", GUEST_READ },
	{ "/dev/urandom", GUEST_READ },
	{ "/dev/tty", RW | GUEST_DEVICE },
	{ "/dev/ptmx", RW | GUEST_DEVICE },
	{ "/dev/pts", RW | GUEST_DEVICE },
};

size_t guest_rules_shared(const struct guest_rule **out)
{
	*out = guest_rules_common;
	return ARRAY_LEN(guest_rules_common);
}

/* The workspace and the home directory are mounted last. */
static bool guest_rules_wanted(const struct guest_attach *a, const struct guest_rule *r)
{
	bool late = strcmp(r->path, "/workspace") == 0 || strcmp(r->path, "/home/agent") == 0;
	return a->part == ATTACH_WHOLE || (a->part == ATTACH_REST) == late;
}

static unsigned guest_rules_flags_of(const struct guest_attach *a)
{
	return (a->tcp ? GUEST_TCP : 0U) | (a->scope ? GUEST_SCOPE : 0U) |
	       (a->unconfined_ok ? GUEST_UNCONFINED_OK : 0U) |
	       (a->keep_caps ? GUEST_KEEP_CAPS : 0U) |
	       (a->part == ATTACH_AHEAD ? GUEST_AHEAD : 0U) |
	       (a->part == ATTACH_REST ? GUEST_ON : 0U);
}

static void guest_rules_pack_filters(const struct guest_attach *a, struct buf *out)
{
	pack_u8(out, a->filters ? SECCOMP_PROGRAMS : 0);
	for (size_t i = 0; a->filters && i < SECCOMP_PROGRAMS; i++) {
		buf_u16le(out, (uint16_t)(a->filters[i].len / GUEST_FILTER_STEP));
		buf_append(out, a->filters[i].data, a->filters[i].len);
	}
}

void guest_rules_pack(const struct guest_attach *a, struct buf *out, const char ***rules_out,
		      size_t *nr_out)
{
	const struct guest_rule *base = a->rules ? a->rules : guest_rules_defaults;
	size_t nr_base = a->rules ? a->nr_rules : ARRAY_LEN(guest_rules_defaults),
	       all = nr_base + a->nr_extra, nr = 0;
	assert(all <= GUEST_MAX_RULES);
	const struct guest_rule **rule = mem_calloc(all + 1, sizeof *rule);
	const char **paths = mem_calloc(all + 1, sizeof *paths);
	for (size_t i = 0; i < all; i++) {
		const struct guest_rule *r = i < nr_base ? &base[i] : &a->extra[i - nr_base];
		if (guest_rules_wanted(a, r))
			rule[nr++] = r;
	}
	pack_u8(out, (uint8_t)guest_rules_flags_of(a));
	buf_u64le(out, (uint64_t)a->limits.mem_bytes);
	buf_u64le(out, (uint64_t)a->limits.disk_bytes);
	buf_u32le(out, (uint32_t)a->limits.pids);
	buf_u16le(out, (uint16_t)nr);
	for (size_t i = 0; i < nr; i++) {
		pack_u8(out, (uint8_t)rule[i]->access);
		pack_str(out, rule[i]->path);
		paths[i] = rule[i]->path;
	}
	free(rule);
	buf_u16le(out, (uint16_t)a->nr_ports);
	for (size_t i = 0; i < a->nr_ports; i++)
		buf_u16le(out, a->ports[i]);
	guest_rules_pack_filters(a, out);
	*rules_out = paths;
	*nr_out = nr;
}
