/* The used part of the user's own git configuration: how contents are stored and which files are
 * ignored. Programs that it names are never run, so the rest is ignored. Runs in the merge child
 * only. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/gitchild.h"

static const char *const content_key[] = {
	"core.autocrlf",	  "core.eol", "core.attributesfile", "core.excludesfile",
	"core.precomposeunicode",
};

static void add_quoted(struct buf *out, const char *s)
{
	buf_putc(out, '"');
	for (; *s; s++)
		if (*s == '\n')
			buf_puts(out, "\\n");
		else if (*s == '"' || *s == '\\')
			buf_printf(out, "\\%c", *s);
		else
			buf_putc(out, *s);
	buf_putc(out, '"');
}

/* "~/x" as it is meant for the user, whose home is not ours. */
static char *home_path(const char *value, const char *home)
{
	return home && !strncmp(value, "~/", 2) ? mem_printf("%s/%s", home, value + 2)
						: mem_strdup(value);
}

static void collect_keys(git_config *c, const char *home, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(content_key); i++) {
		git_config_entry *e = NULL;
		if (git_config_get_entry(&e, c, content_key[i]) < 0)
			continue;
		CLEANUP(free_ptr)
		char *value = e->value ? home_path(e->value, home) : mem_strdup("true");
		buf_printf(out, "\t%s = ", strchr(content_key[i], '.') + 1);
		add_quoted(out, value);
		buf_putc(out, '\n');
		git_config_entry_free(e);
	}
}

static void default_file(git_config *c, const char *key, const char *dir, const char *name,
			 struct buf *out)
{
	git_config_entry *e = NULL;
	if (git_config_get_entry(&e, c, key) == 0) {
		git_config_entry_free(e);
		return;
	}
	CLEANUP(free_ptr) char *path = mem_printf("%s/git/%s", dir, name);
	if (access(path, R_OK) < 0)
		return;
	buf_printf(out, "\t%s = ", strchr(key, '.') + 1);
	add_quoted(out, path);
	buf_putc(out, '\n');
}

static void add_level(git_config *c, const char *path, git_config_level_t level)
{
	if (path && access(path, R_OK) == 0)
		git_config_add_file_ondisk(c, path, level, NULL, 0);
}

int user_config_read(struct target *t, struct err *err)
{
	const json_t *u = json_object_get(t->request, "user");
	const char *home = json_str(u, "home", NULL), *xdg = json_str(u, "xdg", NULL),
		   *global = json_str(u, "global", NULL);
	git_config *c = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	t->config = -1;
	if (!u || git_config_new(&c) < 0)
		return 0;
	CLEANUP(free_ptr)
	char *dir = xdg ? mem_strdup(xdg) : home ? mem_printf("%s/.config", home) : NULL;
	CLEANUP(free_ptr) char *first = dir ? mem_printf("%s/git/config", dir) : NULL;
	CLEANUP(free_ptr) char *second = home ? mem_printf("%s/.gitconfig", home) : NULL;
	if (!json_flag(u, "no_system", false))
		add_level(c, json_str(u, "system", "/etc/gitconfig"), GIT_CONFIG_LEVEL_SYSTEM);
	if (!global)
		add_level(c, first, GIT_CONFIG_LEVEL_XDG);
	add_level(c, global ? global : second, GIT_CONFIG_LEVEL_GLOBAL);
	buf_puts(&text, "[core]\n");
	collect_keys(c, home, &text);
	if (dir)
		default_file(c, "core.excludesfile", dir, "ignore", &text);
	if (dir)
		default_file(c, "core.attributesfile", dir, "attributes", &text);
	git_config_free(c);
	t->config = memfd_create("user-config", MFD_CLOEXEC);
	if (t->config < 0)
		return err_sys(err, "can't keep the user's configuration");
	return fd_write_all(t->config, text.data, text.len, err);
}

int user_config_use(struct target *t, struct err *err)
{
	git_config *c = NULL;
	CLEANUP(free_ptr) char *path = mem_printf("/proc/self/fd/%d", t->config);
	if (t->config < 0)
		return 0;
	if (git_repository_config(&c, t->repo) < 0)
		return ws_git_err(err, "can't read the repository's configuration");
	int rc = git_config_add_file_ondisk(c, path, GIT_CONFIG_LEVEL_GLOBAL, t->repo, 1);
	git_config_free(c);
	return rc < 0 ? ws_git_err(err, "can't use the user's configuration") : 0;
}
