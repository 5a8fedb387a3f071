/* The help: topics, the types of the Lua library, and the pages of man(1). 'sandglass help' prints
 * the first two; 'help --man' makes the third from the same tables.
 *
 * A topic is laid out for a terminal, and roff_layout (roff.h) reads this layout: text in column
 * 0; rows "  TERM   TEXT" with two blanks or more between, whose text continues in lines with
 * deeper indentation; examples "  $ LINE". */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/lib/cmd.h"
#include "base/buf.h"

const char *help_topic_name(size_t i); /* NULL past the end */
/* Appends the text of a topic; false if there is none of this name. */
bool help_topic(const char *name, struct buf *out);

/* help_lua.c: the functions of agent scripts, or with @word one of them, or one table of options,
 * in full. */
int help_lua(struct cmd_ctx *ctx, const char *word);

/* --- lua_meta.c: the types that editors read (lua/meta), a block for each function, class or alias
 * --- */
struct meta_block {
	const char *at;	 /* its first line */
	const char *end; /* behind its last one */
	char *name;	 /* "sg.sandbox", "box:exec", "sg.ExecOpts"; "" for anything else */
	char *args;	 /* "(cmd, o)"; NULL for a class */
};
/* Fills the next block behind *at; false at the end. Release each. */
bool meta_next(const char **at, struct meta_block *out);
void meta_release(struct meta_block *b);
/* The text of a file of lua/meta, or NULL. Return owned. */
char *meta_text(const char *file);

/* A line of a block behind "---": its tag ("param", "field", "return", "" for text), the name
 * and the type that follow some tags, and the text. All borrow from the block. */
struct meta_line {
	const char *tag, *name, *type, *about;
	size_t tag_len, name_len, type_len, about_len;
	bool optional; /* "name?" */
};
bool meta_line_next(const char **at, const char *end, struct meta_line *out);

/* --- help_man.c ------------------------------------------------------------------------------- */
/* Appends a manual page ("sandglass", "sandglass-lua", ...); false if there is none of this
 * name. */
bool help_man(const char *name, struct buf *out);
const char *help_man_name(size_t i); /* NULL past the end */
/* help_man_guide.c: a page from a guide of the program ("ui/README.md"), and the events. */
void help_man_guide(struct buf *out, const char *file);
void help_man_events(struct buf *out);
/* help_man_lua.c: the bodies of the two that are about Lua. */
void help_man_lua(struct buf *out);
void help_man_policy(struct buf *out);
/* The fields of one class, or with NULL every class, each with a heading of its own. */
void help_man_fields(struct buf *out, const char *file, const char *class);

#endif
