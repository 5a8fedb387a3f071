#include "cli/front/front_looks.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/config.h"
#include "luahost/lua_file.h"
#include "base/mem.h"
#include "base/paths.h"

/* themes/NAME.lua of the user, else of the system; run once in a Lua host. */
static json_t *theme_load(void *self, const char *name, struct err *err)
{
	CLEANUP(free_ptr) char *tail = mem_printf("themes/%s.lua", name);
	CLEANUP(free_ptr) char *own = paths_config(tail);
	CLEANUP(free_ptr) char *system = mem_printf("/etc/xdg/sandglass/%s", tail);
	json_t *data = NULL;
	(void)self;
	if (!*name || strchr(name, '/') || name[0] == '.') {
		(void)!err_set(err, ERR_NOENT, "expected a theme name, got '%s'", name);
		return NULL;
	}
	const char *path = access(own, F_OK) == 0 ? own : access(system, F_OK) == 0 ? system : NULL;
	if (!path)
		(void)!err_set(
			err, ERR_NOENT,
			"theme '%s' not found: auto, dark, light, dark-hc, light-hc, mono, or '%s'",
			name, own);
	else if (lua_file_read("theme", path, &data, err) < 0)
		return NULL;
	if (data)
		json_object_del(data, "t"); /* the frame's time */
	return data;
}

/* "fleet.X" -> {"fleet": {"X": ..}} */
static json_t *by_screen(const json_t *flat)
{
	json_t *out = json_object();
	const char *name;
	json_t *verb;
	json_object_foreach((json_t *)(uintptr_t)flat, name, verb)
	{
		const char *dot = strchr(name, '.');
		if (!dot || !dot[1])
			continue;
		CLEANUP(free_ptr) char *screen = mem_strndup(name, (size_t)(dot - name));
		if (!json_object_get(out, screen))
			json_put(out, screen, json_object());
		json_put(json_object_get(out, screen), dot + 1, json_incref(verb));
	}
	return out;
}

static void read_config(struct looks *l, struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	struct config *c;
	if (config_open(&c, ctx, &err) < 0) {
		cmd_tell_error(ctx, NULL, &err);
		return;
	}
	CLEANUP(json_release) json_t *map = config_below(c, "map");
	CLEANUP(free_ptr) char *bell = config_value(c, "notify.bell");
	CLEANUP(free_ptr) char *coach = config_value(c, "coach");
	CLEANUP(free_ptr) char *arm = config_value(c, "approvals.arm_ms");
	CLEANUP(free_ptr) char *next = config_value(c, "approvals.next");
	config_to_env(c, "ascii", "SANDGLASS_ASCII");
	config_to_env(c, "sync", "SANDGLASS_SYNC");
	l->arm_ms = arm ? (int)strtol(arm, NULL, 10) : 0;
	l->no_hints = coach && strcmp(coach, "false") == 0;
	l->no_next = next && strcmp(next, "false") == 0;
	l->theme = config_value(c, "theme");
	l->pager = config_value(c, "pager");
	l->keys = by_screen(map);
	l->quiet = bell && strcmp(bell, "false") == 0;
	config_close(&c);
}

void looks_open(struct looks *l, struct cmd_ctx *ctx, struct console_opts *o)
{
	const char *colour = cmd_opt(ctx, "color");
	*l = (struct looks){ 0 };
	read_config(l, ctx);
	if (colour && strcmp(colour, "never") == 0) {
		free(l->theme);
		l->theme = mem_strdup("mono");
	} else if (colour && strcmp(colour, "always") == 0) {
		unsetenv("NO_COLOR");
	}
	o->theme = l->theme;
	o->theme_load = theme_load;
	o->pager = l->pager;
	o->keys = l->keys;
	o->quiet = l->quiet;
	o->arm_ms = l->arm_ms;
	o->no_next = l->no_next;
	if (l->no_hints)
		o->hints = CONSOLE_HINTS_NONE;
}

void looks_release(struct looks *l)
{
	free(l->theme);
	free(l->pager);
	json_decref(l->keys);
}
