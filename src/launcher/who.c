#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "launcher/launcher_priv.h"

/* The files are read by hand: a static program cannot load the resolver's modules, and a uid that
 * only a directory service knows lies below the range that we take from. */
struct line {
	char *field[7];
};

static bool next_line(char **text, struct line *out)
{
	char *line = strsep(text, "\n");
	if (!line)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(out->field); i++) {
		char *f = line ? strsep(&line, ":") : NULL;
		out->field[i] = f ? f : (char *)(uintptr_t) "";
	}
	return true;
}

static unsigned long launcher_who_number(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);
	return *s && !*end ? n : ~0UL;
}

static bool user_named(const char *name, struct who *out)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read("/etc/passwd", &text, 16 << 20, &ignored) < 0)
		return false;
	char *rest = text.data;
	for (struct line l; next_line(&rest, &l);)
		if (strcmp(l.field[0], name) == 0 && launcher_who_number(l.field[2]) < UINT32_MAX &&
		    launcher_who_number(l.field[2]) > 0) {
			out->uid = (uid_t)launcher_who_number(l.field[2]);
			out->gid = (gid_t)launcher_who_number(l.field[3]);
			return out->gid != 0;
		}
	return false;
}

/* The first uid from @from on with @run unused ones after it. */
static uid_t launcher_who_unused(uid_t from, uid_t run)
{
	CLEANUP(buf_release) struct buf passwd = BUF_INIT;
	CLEANUP(buf_release) struct buf subuid = BUF_INIT;
	struct err ignored = ERR_INIT;
	bool has_passwd = file_read("/etc/passwd", &passwd, 16 << 20, &ignored) == 0;
	bool has_subuid = file_read("/etc/subuid", &subuid, 16 << 20, &ignored) == 0;
	unsigned long at = from;
	for (bool moved = true; moved;) {
		moved = false;
		CLEANUP(free_ptr)
		char *p = has_passwd ? mem_strndup(passwd.data, passwd.len) : NULL;
		CLEANUP(free_ptr)
		char *s = has_subuid ? mem_strndup(subuid.data, subuid.len) : NULL;
		char *rest = p;
		for (struct line l; rest && next_line(&rest, &l);) {
			unsigned long uid = launcher_who_number(l.field[2]);
			if (*l.field[0] && uid >= at && uid < at + run) {
				at = uid + 1;
				moved = true;
			}
		}
		rest = s;
		for (struct line l; rest && next_line(&rest, &l);) {
			unsigned long first = launcher_who_number(l.field[1]),
				      nr = launcher_who_number(l.field[2]);
			if (!*l.field[0] || first > UINT32_MAX || nr > UINT32_MAX)
				continue;
			if (first < at + run && at < first + nr) {
				at = first + nr;
				moved = true;
			}
		}
	}
	return at + run < UINT32_MAX - 1 ? (uid_t)at : 0;
}

int who_find(uid_t wanted, struct who *out, struct err *err)
{
	*out = (struct who){ .root = geteuid() == 0, .uid = getuid(), .gid = getgid() };
	if (!out->root)
		return 0;
	if (wanted)
		out->uid = wanted, out->gid = (gid_t)wanted;
	else if (!user_named("sandglass", out))
		out->uid = launcher_who_unused(WHO_FIRST_UID, 1), out->gid = (gid_t)out->uid;
	if (out->uid == 0)
		return err_set(err, ERR_UNSUPPORTED, "no unused uid from %d up; set one as box_uid",
			       WHO_FIRST_UID);
	/* several sessions must not share a uid: what ends one of these boxes kills by uid */
	out->spare = launcher_who_unused(WHO_FIRST_UID + 1 + (uid_t)(getpid() % 4096) * WHO_SPARE,
					 WHO_SPARE);
	return 0;
}
