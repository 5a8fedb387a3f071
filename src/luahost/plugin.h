/* A plugin in its Lua host: a file without hands that turns requests into HTTP and answers into
 * replies. It is asked; its functions never wait, so every question is answered in turn. A plugin
 * that dies answers what is open with an error and is started again for the next question. */
#ifndef LUAHOST_PLUGIN_H
#define LUAHOST_PLUGIN_H

#include "base/json.h"

struct super;
struct plugin;

/* @value NULL: @why says what went wrong. Both borrowed. */
typedef void plugin_fn(void *self, const json_t *value, const char *why);

/* @name: of a file below plugins/@folder ("models", "sandboxes"), of one that the user has added
 * (plugin_own.h), or a path that ends in .lua. The file is read at once; ERR_NOENT if there is
 * none. */
NODISCARD int plugin_open(struct plugin **out, struct super *s, const char *folder,
			  const char *name, struct err *err);
void plugin_free(struct plugin **p); /* no callback runs afterwards */
/* Asks function @fn for call @call; @args is taken. @done may be NULL. Never calls back from
 * inside. */
void plugin_ask(struct plugin *p, const char *fn, uint64_t call, json_t *args, plugin_fn *done,
		void *self);
void plugin_forget(struct plugin *p, void *self); /* questions of @self are no longer answered */
/* The file's description of itself, without its functions. @done at once if it is known. */
void plugin_face(struct plugin *p, plugin_fn *done, void *self);

#endif
