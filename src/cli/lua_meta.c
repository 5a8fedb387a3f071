/* lua/meta: what editors know about the library, taken apart for users. */
#include <ctype.h>
#include <string.h>

#include "cli/help.h"
#include "luahost/library.h"
#include "base/mem.h"

static const char *lua_meta_line_end(const char *at)
{
	return strchrnul(at, '\n');
}

void meta_release(struct meta_block *b)
{
	free(b->name);
	free(b->args);
}

/* "function Box:exec(cmd, o) end", "---@class sg.Result" or "---@alias sg.Time number|string". */
static void lua_meta_name_of(struct meta_block *b, const char *line)
{
	const char *end = lua_meta_line_end(line);
	bool alias = !strncmp(line, "---@alias ", 10);
	if (!strncmp(line, "function ", 9)) {
		const char *name = line + 9, *open = memchr(name, '(', (size_t)(end - name));
		const char *close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;
		if (!close)
			return;
		free(b->name);
		b->name = mem_strndup(name, (size_t)(open - name));
		b->name[0] = (char)tolower((unsigned char)b->name[0]); /* handles are variables */
		b->args = mem_strndup(open, (size_t)(close - open) + 1);
	} else if ((alias || !strncmp(line, "---@class ", 10)) && !*b->name) {
		size_t n = strcspn(line + 10, " :\n");
		free(b->name);
		b->name = mem_strndup(line + 10, n);
	}
}

bool meta_next(const char **at, struct meta_block *out)
{
	const char *p = *at;
	while (*p == '\n')
		p++;
	if (!*p)
		return false;
	*out = (struct meta_block){ .at = p, .name = mem_strdup("") };
	/* functions may come in a row, and after their class */
	for (bool ends = false; *p && *p != '\n' && !ends;) {
		ends = !strncmp(p, "function ", 9) || !strncmp(p, "local ", 6);
		lua_meta_name_of(out, p);
		p = lua_meta_line_end(p);
		p += *p == '\n';
		out->end = p;
	}
	*at = p;
	return true;
}

char *meta_text(const char *file)
{
	size_t len;
	CLEANUP(free_ptr) char *path = mem_printf("meta/%s", file);
	const char *text = library_file(path, &len);
	return text ? mem_strndup(text, len) : NULL;
}

/* The length of a type: up to a blank that is in no bracket and behind no "," ":" or "|". */
static size_t type_len(const char *p, size_t len)
{
	int depth = 0;
	bool quoted = false;
	size_t i = 0;
	for (; i < len; i++) {
		if (p[i] == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		depth += (strchr("({[<", p[i]) != NULL) - (strchr(")}]>", p[i]) != NULL);
		if (p[i] == ' ' && depth == 0 && !(i && strchr(",:|", p[i - 1])))
			break;
	}
	return i;
}

static void lua_meta_skip_blanks(const char **p, const char *end)
{
	while (*p < end && **p == ' ')
		++*p;
}

static const char *lua_meta_bite(const char **p, const char *end, size_t n, size_t *len)
{
	const char *at = *p;
	*len = n;
	*p += n;
	lua_meta_skip_blanks(p, end);
	return at;
}

bool meta_line_next(const char **at, const char *end, struct meta_line *out)
{
	while (*at < end && strncmp(*at, "---", 3) != 0)
		*at = lua_meta_line_end(*at) + 1;
	if (*at >= end)
		return false;
	const char *p = *at + 3, *stop = lua_meta_line_end(p);
	*at = stop + 1;
	*out = (struct meta_line){ .tag = p };
	if (p < stop && *p == '@') {
		p++;
		out->tag = lua_meta_bite(&p, stop, strcspn(p, " \n"), &out->tag_len);
		bool named = !strncmp(out->tag, "param", 5) || !strncmp(out->tag, "field", 5) ||
			     !strncmp(out->tag, "alias", 5);
		if (named) {
			size_t n = *p == '[' ? strcspn(p, "]\n") + 1 : strcspn(p, " \n");
			out->name = lua_meta_bite(&p, stop, n, &out->name_len);
			out->optional = out->name_len && out->name[out->name_len - 1] == '?';
			out->name_len -= out->optional;
		}
		if (named || !strncmp(out->tag, "return", 6))
			out->type = lua_meta_bite(&p, stop, type_len(p, (size_t)(stop - p)),
						  &out->type_len);
		/* of a return value: its name comes after its type */
		if (!named && out->type_len) {
			out->name = lua_meta_bite(&p, stop, strcspn(p, "#\n"), &out->name_len);
			while (out->name_len && out->name[out->name_len - 1] == ' ')
				out->name_len--;
		}
		if (p < stop && *p == '#')
			lua_meta_bite(&p, stop, 1, &out->about_len);
	}
	lua_meta_skip_blanks(&p, stop);
	out->about = p;
	out->about_len = (size_t)(stop - p);
	return true;
}
