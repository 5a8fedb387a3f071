#include "luahost/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

/* lua_files.S holds the bytes; lua_files.inc names them. Both are made by the Makefile from lua/
 * and plugins/. */
#define LUA_FILE(symbol, path) extern const char symbol##_begin[], symbol##_end[];
#include "lua_files.inc"
#undef LUA_FILE

static const struct {
	const char *path, *begin, *end;
} library_table[] = {
#define LUA_FILE(symbol, path) { path, symbol##_begin, symbol##_end },
#include "lua_files.inc"
#undef LUA_FILE
};

/* Development only: the text stays for the life of the program. */
static const char *from_disk(const char *path, size_t *len_out)
{
	const char *dir = getenv("SANDGLASS_DATA");
	if (!dir || !*dir)
		return NULL;
	struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr)
	char *tail = mem_printf("%s%s", strncmp(path, "plugins/", 8) ? "lua/" : "", path);
	CLEANUP(free_ptr) char *full = path_join(dir, tail);
	if (file_read(full, &text, 4 << 20, &err) < 0) {
		buf_release(&text);
		return NULL;
	}
	*len_out = text.len;
	return buf_take(&text);
}

const char *library_file(const char *path, size_t *len_out)
{
	const char *text = from_disk(path, len_out);
	for (size_t i = 0; !text && i < ARRAY_LEN(library_table); i++)
		if (!strcmp(library_table[i].path, path)) {
			*len_out = (size_t)(library_table[i].end - library_table[i].begin);
			text = library_table[i].begin;
		}
	return text;
}

const char *library_path(size_t i)
{
	return i < ARRAY_LEN(library_table) ? library_table[i].path : NULL;
}

const char *library_find(const char *module, size_t *len_out)
{
	if (strncmp(module, "sandglass", 9) != 0 || (module[9] && module[9] != '.'))
		return NULL;
	CLEANUP(free_ptr) char *base = mem_strdup(module);
	for (char *p = base; *p; p++)
		if (*p == '.')
			*p = '/';
	/* profiles of inner agents lie with the plugins */
	bool agent = !strncmp(base, "sandglass/agents/", 17);
	CLEANUP(free_ptr)
	char *plain = mem_printf("%s%s.lua", agent ? "plugins" : "", agent ? base + 9 : base);
	CLEANUP(free_ptr) char *init = mem_printf("%s/init.lua", base);
	const char *text = library_file(plain, len_out);
	return text ? text : library_file(init, len_out);
}
