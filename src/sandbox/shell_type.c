/* Part of shell.c: commands as they are typed into the terminal, with a mark that ends each. */
#include <stdio.h>
#include <string.h>

#include "sandbox/shell_priv.h"
#include "sandbox/shell.h"
#include "base/hash.h"
#include "base/mem.h"

/* --- typing --- */

static void type_char(struct buf *out, unsigned char c)
{
	if (c == '\'')
		buf_puts(out, "'\\''");
	else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
		buf_putc(out, QUOTE_NEXT);
		buf_putc(out, (char)c);
	} else
		buf_putc(out, (char)c);
}

/* Makes the prompt ours: it is set by typing, not in the environment, where every command would see
 * it. In one line with a command this undoes what the command has changed of what the prompt
 * depends on (prompt, hooks, line editor, input, output), and keeps its status. (eval : since
 * bash's parser is in disorder after an eval with an open quote.) */
void type_mark(const struct box_shell *s, struct buf *out)
{
	CLEANUP(free_ptr)
	char *prompt = mem_printf("%s:${__sg_s:-$?}:%u:$$%c", s->mark, s->turn, s->mark[0]);
	buf_puts(
		out,
		"{ __sg_s=$? __sg_o=$-; set +xe; eval :; } 2>/dev/null; [ -t 0 ] || exec </dev/tty; [ -t 2 ] || exec 2>/dev/tty; ");
	buf_puts(
		out,
		"{ unset PS1 PS2 TMOUT; PS2=; [ \"${BASH_VERSION-}\" ] && { unset PS0 PROMPT_COMMAND; set +H +o vi +o emacs; ");
	buf_printf(out, "PROMPT_COMMAND='{ PS1='\\''%s'\\''; } 2>/dev/null'; }; PS1='%s'; ", prompt,
		   prompt);
	buf_puts(
		out,
		"__sg_r() { return $1; }; case $__sg_o in *x*) set -x; esac; __sg_r $__sg_s; } 2>/dev/null\n");
}

/* Bash dies of a line editor that is turned on (set -o vi) in an eval of its own lines; in lines
 * that it reads from a file it does not. */
static bool turns_editor(const char *cmd)
{
	return (strstr(cmd, "vi") || strstr(cmd, "emacs")) &&
	       (strstr(cmd, "set") || strstr(cmd, "shopt"));
}

/* eval 'CMD': one command for the shell however many lines it has, so there is one prompt at its
 * end, and a syntax error in it is its own. Long lines: the quotes are closed, the line continued,
 * the quotes opened again. */
void box_shell_type(const char *cmd, struct buf *out)
{
	bool file = turns_editor(cmd);
	buf_puts(out, "{ __sg_p=$? __sg_s=; __sg_r $__sg_p; } 2>/dev/null; ");
	size_t line = out->len + 8;
	buf_puts(out, file ? "__sg_c='" : "eval '");
	for (const unsigned char *p = (const unsigned char *)cmd; *p; p++) {
		if (line >= PIECE_MAX && (*p & 0xc0) != 0x80 && *p != '\n') {
			buf_puts(out, "'\\\n'");
			line = 1;
		}
		type_char(out, *p);
		line = *p == '\n' ? 0 : line + 4;
	}
	buf_puts(out, "'; ");
	if (file)
		buf_puts(
			out,
			"if [ \"${BASH_VERSION-}\" ]; then eval '. /dev/fd/9 9<<<\"eval \\\"\\$__sg_c\\\"\"'; "
			"else eval \"$__sg_c\"; fi; ");
}

/* The input of an interpreter (plugins/pyodide): the mark and the turn, base64 in lines, a full
 * stop after the last. It starts on a line of its own, because an unread line may precede it. */
void type_code(const struct box_shell *s, const char *code, struct buf *out)
{
	CLEANUP(buf_release) struct buf b64 = BUF_INIT;
	base64_append(&b64, code, strlen(code));
	buf_printf(out, "\n%s:%u:", s->mark + 1, s->turn);
	for (size_t at = 0; at < b64.len; at += PIECE_MAX) {
		buf_append(out, b64.data + at, b64.len - at < PIECE_MAX ? b64.len - at : PIECE_MAX);
		buf_putc(out, '\n');
	}
	buf_puts(out, ".\n");
}

void sandbox_shell_type(struct box_shell *s, const void *bytes, size_t len)
{
	if (s->run && !s->ended)
		s->driver->run_stdin(s->run, bytes, len, false);
}

void sandbox_shell_turn(struct box_shell *s, enum run_turn what)
{
	if (s->run && !s->ended && s->driver->run_turn)
		s->driver->run_turn(s->run, what, what == TURN_BEGINS ? s->mark : NULL);
}

void sandbox_shell_begun(struct box_shell *s)
{
	sandbox_shell_turn(s, TURN_READY);
}

void type_command(struct box_shell *s, const struct buf *b)
{
	s->forged = false;
	s->looked = 0;
	sandbox_shell_turn(s, TURN_BEGINS);
	sandbox_shell_type(s, b->data, b->len);
}
