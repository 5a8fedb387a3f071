#include "secrets/project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "base/text/utf8.h"
#include "base/text/width.h"

enum { SKILL_NAME_MAX = 64, SKILL_ABOUT_MAX = 1024 };

static const char *const project_instructions[] = { "AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md" };
static const char *const skill_dirs[] = { ".agents/skills", ".claude/skills", ".sandglass/skills" };

/* Links within the project are fine, those out of it are not. */
static int open_within(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)(flags | O_RDONLY | O_CLOEXEC |
							      O_NONBLOCK | O_NOCTTY),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	for (int i = 0; i < 8; i++) {
		int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			return fd;
	}
	return -1;
}

static int project_open_dir(const char *dir)
{
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool project_has_text(const char *dir)
{
	CLEANUP(fd_close) int fd = dir ? project_open_dir(dir) : -1;
	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(project_instructions); i++)
		if (faccessat(fd, project_instructions[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(skill_dirs); i++)
		if (faccessat(fd, skill_dirs[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

/* --- one file --------------------------------------------------------------------------------- */

static uint32_t count_hidden(const struct buf *b)
{
	uint32_t n = 0, cp;
	size_t used;
	for (size_t i = 0; i < b->len; i += used)
		if (utf8_next(b->data + i, b->len - i, &cp, &used) == UTF8_OK)
			n += text_is_hidden(cp) ||
			     (cp < ' ' && cp != '\n' && cp != '\t' && cp != '\r');
	return n;
}

/* Why it cannot be used; NULL: @out has it. */
static const char *project_read_text(int dir, const char *path, struct buf *out)
{
	CLEANUP(fd_close) int fd = open_within(dir, path, 0);
	struct err none = ERR_INIT;
	struct stat st;
	if (fd < 0)
		return errno == EXDEV	? "it leads out of the project"
		       : errno == ELOOP ? "its links go round in a circle"
					: "it can't be opened";
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "it is not a regular file";
	if (st.st_size > PROJECT_TEXT_MAX || fd_read_all(fd, out, PROJECT_TEXT_MAX, &none) < 0) {
		buf_reset(out);
		return "it is longer than 64 KiB";
	}
	if (out->len && (!utf8_valid(out->data, out->len) || memchr(out->data, 0, out->len)))
		return "it is not UTF-8 text";
	return NULL;
}

static struct project_text *project_add(struct project *p, int dir, const char *root,
					const char *path)
{
	GROW(p->item, p->nr, p->cap);
	struct project_text *t = &p->item[p->nr++];
	struct buf hex = BUF_INIT;
	struct hash h;
	*t = (struct project_text){ .path = mem_strdup(path),
				    .full = path_join(root, path),
				    .text = BUF_INIT };
	const char *why = project_read_text(dir, path, &t->text);
	t->why = why ? mem_strdup(why) : NULL;
	hash_of(buf_cstr(&t->text), t->text.len, &h);
	hex_append(&hex, h.b, HASH_LEN);
	memcpy(t->hash, buf_cstr(&hex), sizeof(t->hash));
	buf_release(&hex);
	t->trust = why ? TRUST_NONE : trust_of_text(t->full, t->text.data, t->text.len);
	t->hidden = count_hidden(&t->text);
	return t;
}

static void text_release(struct project_text *t)
{
	free(t->path);
	free(t->full);
	free(t->name);
	free(t->about);
	free(t->why);
	buf_release(&t->text);
}

static bool same_as_before(const struct project *p, const struct project_text *t)
{
	for (size_t i = 0; i + 1 < p->nr && !t->why; i++)
		if (!p->item[i].why && !p->item[i].name && !strcmp(p->item[i].hash, t->hash))
			return true;
	return false;
}

/* --- skills ----------------------------------------------------------------------------------- */

const char *skill_body(const struct project_text *t)
{
	const char *text = buf_cstr((struct buf *)(uintptr_t)&t->text);
	if (strncmp(text, "---", 3) != 0)
		return text;
	const char *end = strstr(text + 3, "\n---");
	if (!end)
		return text;
	end += 4;
	end += strcspn(end, "\n");
	return end + (*end == '\n');
}

/* A value as YAML writes one on its line: bare, or in quotes. Appends. */
static void yaml_value(const char *v, size_t len, struct buf *out)
{
	while (len && (v[len - 1] == ' ' || v[len - 1] == '\r' || v[len - 1] == '\t'))
		len--;
	char quote = len > 1 && (v[0] == '"' || v[0] == '\'') && v[len - 1] == v[0] ? v[0] : 0;
	for (size_t i = quote != 0; i < len - (quote != 0); i++) {
		if (quote && i + 2 < len &&
		    ((quote == '"' && v[i] == '\\') || (v[i] == quote && v[i + 1] == quote)))
			i++;
		buf_putc(out, v[i] < ' ' && v[i] >= 0 ? ' ' : v[i]);
	}
}

/* "KEY: value" of the front matter; folded and indented lines are joined. Returns owned, NULL when
 * it is not there. */
static char *project_front(const struct project_text *t, const char *key)
{
	const char *p = buf_cstr((struct buf *)(uintptr_t)&t->text), *end = skill_body(t);
	size_t len = strlen(key);
	struct buf out = BUF_INIT;
	bool inside = false;
	for (; p < end; p += strcspn(p, "\n") + 1) {
		size_t n = strcspn(p, "\n"), blank = strspn(p, " ");
		if (!inside && !strncmp(p, key, len) && p[len] == ':') {
			const char *v = p + len + 1;
			v += strspn(v, " ");
			size_t left = n - (size_t)(v - p);
			inside = true;
			if (left && (*v == '>' || *v == '|'))
				continue;
			yaml_value(v, left, &out);
		} else if (inside && blank && blank < n) {
			if (out.len)
				buf_putc(&out, ' ');
			yaml_value(p + blank, n - blank, &out);
		} else if (inside) {
			break;
		}
	}
	return inside ? buf_take(&out) : NULL;
}

static bool good_name(const char *name)
{
	size_t n = strlen(name);
	return n && n <= SKILL_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == n;
}

static void read_skill(struct project *p, int dir, const char *root, const char *path,
		       const char *folder)
{
	struct project_text *t = project_add(p, dir, root, path);
	const char *why = NULL;
	CLEANUP(free_ptr) char *name = project_front(t, "name");
	t->name = mem_strdup(folder);
	t->about = project_front(t, "description");
	if (t->why)
		return;
	if (!name || !t->about || !*t->about)
		why = "its front matter has no name or no description";
	else if (!good_name(folder) || strcmp(name, folder) != 0)
		why = "its name differs from its directory's (lower-case letters, digits, and -)";
	else if (strlen(t->about) > SKILL_ABOUT_MAX)
		why = "its description is longer than 1024 bytes";
	for (size_t i = 0; !why && i + 1 < p->nr; i++)
		if (p->item[i].name && !p->item[i].why && !strcmp(p->item[i].name, folder))
			why = "there is another skill of that name";
	t->why = why ? mem_strdup(why) : NULL;
}

static int project_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_skills(struct project *p, int dir, const char *root, const char *where)
{
	struct strv names = STRV_INIT;
	int fd = open_within(dir, where, O_DIRECTORY);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	if (!d) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) && names.nr < PROJECT_SKILLS_MAX)
		if (e->d_name[0] != '.')
			strv_push(&names, e->d_name);
	closedir(d);
	if (names.nr)
		qsort(names.item, names.nr, sizeof(*names.item), project_by_name);
	for (size_t i = 0; i < names.nr; i++) {
		CLEANUP(free_ptr) char *path = mem_printf("%s/%s/SKILL.md", where, names.item[i]);
		CLEANUP(fd_close) int file = open_within(dir, path, 0);
		if (file >= 0 || errno == EXDEV)
			read_skill(p, dir, root, path, names.item[i]);
	}
	strv_release(&names);
}

/* --- all of it -------------------------------------------------------------------------------- */

void project_read(struct project *out, const char *dir)
{
	char root[PATH_MAX];
	*out = (struct project){ 0 };
	CLEANUP(fd_close) int fd = realpath(dir, root) ? project_open_dir(root) : -1;
	if (fd < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(project_instructions); i++) {
		if (faccessat(fd, project_instructions[i], F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		struct project_text *t = project_add(out, fd, root, project_instructions[i]);
		if (same_as_before(out, t)) {
			text_release(t);
			out->nr--;
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(skill_dirs); i++)
		read_skills(out, fd, root, skill_dirs[i]);
}

void project_release(struct project *p)
{
	for (size_t i = 0; i < p->nr; i++)
		text_release(&p->item[i]);
	free(p->item);
	*p = (struct project){ 0 };
}
