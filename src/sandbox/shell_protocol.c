#include "sandbox/shell_protocol.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/mem.h"
#include "wire/tool.h"

#define EVENTS "/sys/fs/cgroup/memory.events"
enum { LINE_MAX_LEN = 1 << 20 };

void shell_protocol_quote(struct buf *out, const char *word)
{
	buf_putc(out, '\'');
	for (const char *p = word; *p; p++)
		if (*p == '\'')
			buf_puts(out, "'\\''");
		else
			buf_putc(out, *p);
	buf_putc(out, '\'');
}

static void shell_protocol_quoted(struct buf *out, const char *before, const char *word,
				  const char *after)
{
	buf_puts(out, before);
	shell_protocol_quote(out, word);
	buf_puts(out, after);
}

static void base64_of(struct buf *out, const void *bytes, size_t len)
{
	buf_puts(out, "printf %s ");
	buf_putc(out, '\'');
	base64_append(out, bytes, len);
	buf_puts(out, "' | base64 -d");
}

static void shell_protocol_folder(struct buf *out, const struct wrap_run *r)
{
	CLEANUP(free_ptr) char *dir = mem_printf("%s/%s", r->base, r->id);
	shell_protocol_quoted(out, "d=", dir, "\n");
}

/* dd goes there, which head would read its way to. */
static void shell_protocol_skip(struct buf *out, int fd, int64_t off)
{
	const long long block = 65536;
	if (off >= block)
		buf_printf(out, "dd bs=%lld skip=%lld count=0 <&%d 2>/dev/null\n", block,
			   (long long)off / block, fd);
	if (off % block > 0)
		buf_printf(out, "head -c %lld <&%d >/dev/null\n", (long long)off % block, fd);
}

/* --- a run --- */

/* The words of the command, so that each arrives as it is: a shell sees them once, in quotes. */
static void shell_protocol_words(struct buf *out, const struct wrap_run *r)
{
	bool env = r->env && r->env->nr;
	if (env || (r->o->env && r->o->env[0]))
		buf_puts(out, "env -- ");
	for (size_t i = 0; r->env && i < r->env->nr; i++)
		shell_protocol_quoted(out, "", r->env->item[i], " ");
	for (size_t i = 0; r->o->env && r->o->env[i]; i++)
		shell_protocol_quoted(out, "", r->o->env[i], " ");
	if (r->o->pty) {
		shell_protocol_quoted(out, "", r->base, "/tool " TOOL_OPTION " tty \"$1/p\"");
		buf_printf(out, " %u %u ", r->o->cols, r->o->rows);
	}
	for (size_t i = 0; i < r->o->nr_argv; i++)
		shell_protocol_quoted(out, "", r->o->argv[i], " ");
}

/* The command itself, in a session of its own: its number is kept, then it takes the place of the
 * shell. */
static void shell_protocol_command(struct buf *out, const struct wrap_run *r, const char *input)
{
	CLEANUP(buf_release) struct buf inner = BUF_INIT;
	const char *cwd = r->o->cwd ? r->o->cwd : r->workspace;
	CLEANUP(free_ptr)
	char *full = *cwd == '/' ? mem_strdup(cwd) : mem_printf("%s/%s", r->workspace, cwd);
	/* here: what a shell says of it goes elsewhere */
	buf_printf(&inner, "echo $$ >\"$1/p\"; exec <%s >>\"$1/o\" 2>>\"$1/e\"; ", input);
	shell_protocol_quoted(&inner, "cd -- ", full, " || exit 126; exec ");
	shell_protocol_words(&inner, r);
	shell_protocol_quoted(out, "set -- $s sh -c ", buf_cstr(&inner), " sh \"$d\"\n");
	shell_protocol_quoted(out, "t=", r->base, "/tool\n");
	buf_puts(out, "if [ -x \"$t\" ]; then \"$t\" " TOOL_OPTION
		      " ends \"$d\" \"$@\"; else \"$@\"; fi");
}

/* Our tool knows a signal from a status above 128. Without it (the host has overwritten it) a shell
 * knows by its report about a child; it reports only one of two signals. */
static const char shell_protocol_ending[] =
	"\n"
	"r=$? s=0\nnow; killed\n"
	"if [ -s \"$d/s\" ]; then read -r r s <\"$d/s\"\n"
	"elif [ $r -gt 128 ] && [ $r -lt 193 ]; then\n"
	"if [ -s \"$d/w\" ] || [ $r = 130 ] || [ $r = 141 ]; then s=$((r - 128)); fi; fi\n"
	"if [ -e \"$d/h\" ]; then kill $(cat \"$d/h\"); fi\n"
	"echo \"$r $s $n $b${m:+ $l $m}\" >\"$d/t\"; mv \"$d/t\" \"$d/c\"\n"
	") </dev/null >/dev/null 2>\"$d/w\" &\nfi\n";

static void shell_protocol_begin(struct buf *out, const struct wrap_run *r)
{
	buf_puts(
		out,
		"if mkdir \"$d\" 2>/dev/null; then\n: >\"$d/o\"; : >\"$d/e\"\n"
		"if command -v setsid >/dev/null; then s=setsid; else s=; fi\n"
		/* a shell lets what it runs in the background ignore these two */
		"if env --default-signal=INT true 2>/dev/null; then s=\"env --default-signal=INT,QUIT $s\"; fi\n");
	const char *input = "/dev/null";
	if (r->in && r->in->len) {
		base64_of(out, r->in->data, r->in->len);
		buf_puts(out, " >\"$d/i\"\n");
		input = "\"$1/i\"";
	} else if (!r->in && (r->o->stdin_open || r->o->pty)) {
		buf_puts(
			out,
			"mkfifo \"$d/i\"\n( exec >\"$d/i\"; exec sleep 2147483647 ) </dev/null 2>/dev/null &\necho $! >\"$d/h\"\n");
		input = "\"$1/i\"";
	}
	/* of the box's clock, in microseconds; where date knows no parts of a second (busybox) the
	 * time since the start, in tens of milliseconds */
	buf_puts(
		out,
		"(\ntrap '' HUP\n"
		"now() { n=$(date +%s%N); case $n in *[!0-9]*|'') read -r n u </proc/uptime; n=${n%.*}${n#*.}0000;; *) n=${n%???};; esac; }\n"
		/* processes that the memory limit has killed, where the box is a control
		       * group of its own */
		"killed() { m=; if [ -r " EVENTS
		" ]; then while read -r k v; do if [ \"$k\" = oom_kill ]; then m=$v; fi; done <" EVENTS
		"; fi; }\n"
		"now; b=$n; killed; l=${m:-0}\n");
	shell_protocol_command(out, r, input);
	buf_puts(out, shell_protocol_ending);
}

/* With a terminal, in the middle of that: what our tool has answered by now. A shell is asked anew
 * after each sleep of its box: who reads on since an older time than the newest ends. */
static const char shell_protocol_answers[] =
	"read -r v <\"$d/f\"; case $v in ''|$$) ;; *) break;; esac\n"
	"for a in \"$d\"/p.say.*; do\n"
	"if [ -e \"$a\" ]; then echo \"@m${a##*.} $(base64 <\"$a\" | tr -d '\\n')\"; rm -f \"$a\"; fi\n"
	"done\n";

/* Reads on until the end file was there before nothing more came. Waits longer while nothing
 * happens. With $q seconds it ends earlier, so that a provider that answers only at the end has
 * something to answer: when there was output and then none, when there was much, or when the
 * seconds are over. */
static const char follow_begin[] = "w=1 k=0 t=0 z=\nwhile :; do\n";
static const char shell_protocol_follow[] =
	"if [ -e \"$d/c\" ]; then x=1; else x=; fi\n"
	"g=$(dd bs=262144 count=1 2>/dev/null <&3 | base64 | tr -d '\\n')\n"
	"f=$(dd bs=65536 count=1 2>/dev/null <&4 | base64 | tr -d '\\n')\n"
	"if [ -n \"$g\" ]; then echo \"@o$g\"; fi\n"
	"if [ -n \"$f\" ]; then echo \"@e$f\"; fi\n"
	"if [ -n \"$g$f\" ]; then c=$((c + (${#g} + ${#f}) / 4 * 3)); echo $c >\"$d/r\"\n"
	"w=1 k=$((k + 1)); if [ $q = 0 ] || [ $k -lt 8 ]; then continue; fi; fi\n"
	"if [ -n \"$x\" ] && [ -z \"$g$f\" ]; then echo \"@x$(cat \"$d/c\")\"; z=1; break; fi\n"
	"if [ $q -gt 0 ]; then if [ $k -ge 8 ] || [ $t -ge $q ]; then echo '@w'; break; fi\n"
	"if [ $k -gt 0 ] && [ $w -gt 3 ]; then echo '@w'; break; fi; fi\n"
	"if [ $w -lt 3 ]; then sleep 0.01; elif [ $w -lt 12 ]; then sleep 0.03; else sleep 0.1; t=$((t + 1)); fi\n"
	"w=$((w + 1))\n"
	"done\n";

static void tell_news(struct buf *out, const struct strv *words)
{
	buf_puts(out, "if [ -n \"$z\" ]; then echo \"@m$(\"$b/tool\" " TOOL_OPTION);
	for (size_t i = 0; i < words->nr; i++)
		shell_protocol_quoted(out, " ", words->item[i], "");
	buf_puts(out, " 2>/dev/null | base64 | tr -d '\n')\"; fi\n");
}

void shell_protocol_exec(struct buf *out, const struct wrap_run *r)
{
	buf_puts(out, "(\n");
	shell_protocol_quoted(out, "b=", r->base, "\nmkdir -p \"$b\"\n");
	if (r->done && *r->done)
		buf_printf(out, "for i in %s; do rm -f \"$b/$i\"/*; done\n", r->done);
	shell_protocol_folder(out, r);
	shell_protocol_begin(out, r);
	buf_puts(out, "if [ ! -e \"$d/o\" ]; then sleep 0.2; fi\n"
		      "if [ ! -e \"$d/o\" ] || [ ! -e \"$d/e\" ]; then echo '@l'; else\n"
		      "exec 3<\"$d/o\" 4<\"$d/e\"\n");
	shell_protocol_skip(out, 3, r->out_off);
	shell_protocol_skip(out, 4, r->err_off);
	buf_printf(out, "q=%d c=%lld\n", r->poll_s * 10, (long long)(r->out_off + r->err_off));
	buf_puts(out, r->o->pty ? "echo $$ >\"$d/f\"\n" : "");
	buf_puts(out, follow_begin);
	buf_puts(out, r->o->pty ? shell_protocol_answers : "");
	buf_puts(out, shell_protocol_follow);
	if (r->news && r->news->nr)
		tell_news(out, r->news);
	buf_puts(out, "fi\n)\n");
}

static void wait_for_number(struct buf *out)
{
	buf_puts(
		out,
		"i=0\nwhile [ $i -lt 100 ] && [ ! -s \"$d/p\" ]; do sleep 0.05; i=$((i + 1)); done\n");
}

/* To its group; without "--", which the kill of dash and of busybox does not know. */
void shell_protocol_signal(struct buf *out, const struct wrap_run *r, int signo)
{
	buf_puts(out, "(\n");
	shell_protocol_folder(out, r);
	wait_for_number(out);
	buf_printf(
		out,
		"if [ -s \"$d/p\" ] && [ ! -e \"$d/c\" ]; then p=$(cat \"$d/p\"); kill -%d -$p 2>/dev/null || kill -%d $p "
		"2>/dev/null\n%sfi\necho '@.'\n)\n",
		signo, signo,
		signo == SIGSTOP ? ""
				 : "if [ -e \"$d/z\" ]; then rm -f \"$d/z\"; kill -CONT -$p; fi\n");
}

void shell_protocol_resize(struct buf *out, const struct wrap_run *r, unsigned cols, unsigned rows)
{
	buf_puts(out, "(\n");
	shell_protocol_folder(out, r);
	wait_for_number(out);
	buf_printf(
		out,
		"if [ ! -e \"$d/c\" ]; then stty cols %u rows %u <\"/proc/$(cat \"$d/p\")/fd/0\" 2>/dev/null; fi\n",
		cols, rows);
	buf_puts(out, "echo '@.'\n)\n");
}

/* Who makes the file $k first writes, detached: the text may be cut off, and be sent again, which
 * waits for that end then. */
static void input_once(struct buf *out, unsigned nr, const struct buf *ask, const void *bytes,
		       size_t len)
{
	buf_printf(out, "k=\"$d/i.%u\"\nrm -f \"$d/i.%u\" \"$d/i.%u.d\"\n", nr, nr - 1, nr - 1);
	buf_puts(out, "if ( set -C; : >\"$k\" ) 2>/dev/null; then\n");
	if (ask && ask->len) {
		base64_of(out, ask->data, ask->len);
		buf_puts(out, " >\"$d/p.asks\"; mv \"$d/p.asks\" \"$d/p.ask\"\n");
	}
	buf_puts(out, "( trap '' HUP; if [ -p \"$d/i\" ] && [ ! -e \"$d/c\" ]; then ");
	base64_of(out, bytes, len);
	buf_puts(
		out,
		" >\"$d/i\"; fi; : >\"$k.d\" ) </dev/null >/dev/null 2>&1 &\nfi\n"
		"w=0.01; while [ ! -e \"$k.d\" ] && [ ! -e \"$d/c\" ]; do sleep $w; w=0.05; done\n");
}

void shell_protocol_input(struct buf *out, const struct wrap_run *r, unsigned nr,
			  const struct buf *ask, const void *bytes, size_t len, bool eof)
{
	buf_puts(out, "(\n");
	shell_protocol_folder(out, r);
	/* the command's own text may be on its way yet */
	buf_puts(
		out,
		"i=0\nwhile [ $i -lt 100 ] && [ ! -e \"$d/h\" ] && [ ! -e \"$d/c\" ]; do sleep 0.05; i=$((i + 1)); done\n");
	if (len)
		input_once(out, nr, ask, bytes, len);
	if (eof)
		buf_puts(out,
			 "if [ -e \"$d/h\" ]; then kill $(cat \"$d/h\"); rm -f \"$d/h\"; fi\n");
	buf_puts(out, "echo '@.'\n)\n");
}

void shell_protocol_kill_all(struct buf *out, const char *base)
{
	shell_protocol_quoted(
		out, "(\nfor f in ", base,
		"/*/p; do if [ -s \"$f\" ] && [ ! -e \"${f%p}c\" ]; then kill -9 -$(cat \"$f\") 2>/dev/null; fi; "
		"done\necho '@.'\n)\n");
}

void shell_protocol_setup(struct buf *out, const char *base, const char *workspace)
{
	shell_protocol_quoted(out, "(\nb=", base, "\n");
	shell_protocol_quoted(out, "w=", workspace, "\n");
	buf_puts(
		out,
		"umask 077; mkdir -p \"$b\"; umask 022\n"
		"mkdir -p \"$w\" 2>/dev/null || sudo -n sh -c \"mkdir -p '$w' && chown $(id -u):$(id -g) '$w'\" 2>/dev/null\n"
		"if [ ! -w \"$w\" ]; then sudo -n chown $(id -u):$(id -g) \"$w\" 2>/dev/null; fi\n"
		"m=; for t in base64 dd tr cat stat head sed mkfifo env xargs sleep; do command -v $t >/dev/null || m=\"$m $t\"; done\n"
		"if [ ! -w \"$w\" ]; then echo \"@!$w can't be created or written by user $(id -u)\"\n"
		"elif [ ! -w \"$b\" ]; then echo \"@!$b can't be written by user $(id -u)\"\n"
		"else t=; for f in /dev/ptmx /dev/pts/ptmx; do if [ -c $f ] && ( : <>$f ) 2>/dev/null; then t=1; fi; done\n"
		"if [ -z \"$t\" ]; then echo '@t'; fi\n"
		"if command -v gzip >/dev/null; then echo '@z'; fi\n"
		"echo \"@i$(id -u) $(date +%s)$m\"; echo '@.'; fi\n)\n");
}

/* --- files --- */

void shell_protocol_read(struct buf *out, const char *path, size_t from, size_t max)
{
	shell_protocol_quoted(out, "(\nf=", path, "\n");
	buf_puts(
		out,
		"if [ ! -e \"$f\" ]; then if [ -r \"${f%/*}/.\" ] || [ ! -e \"${f%/*}\" ]; then echo '@n'; else echo '@!cannot be "
		"looked at'; fi\n"
		"elif [ ! -f \"$f\" ]; then echo '@!is not a regular file'\n"
		"elif [ ! -r \"$f\" ]; then echo '@!permission denied'\n"
		"else echo \"@s$(stat -L -c '%f %s %i %z' -- \"$f\")\"\nexec 3<\"$f\"\n");
	shell_protocol_skip(out, 3, (int64_t)from);
	buf_printf(
		out,
		"head -c %zu <&3 |\n"
		"while b=$(dd bs=262144 count=1 2>/dev/null | base64 | tr -d '\\n'); [ -n \"$b\" ]; do echo \"@d$b\"; done; echo '@.'; fi\n)\n",
		max);
}

void shell_protocol_part(struct buf *out, const char *base, const char *id, unsigned part,
			 const void *bytes, size_t len)
{
	shell_protocol_quoted(out, "(\nb=", base, "\nmkdir -p \"$b\" && ");
	base64_of(out, bytes, len);
	buf_printf(out, " >\"$b/%s.%u\" && echo '@.' || echo '@!write failed'\n)\n", id, part);
}

void shell_protocol_write(struct buf *out, const char *base, const char *id, unsigned parts,
			  bool packed, const char *path, int mode)
{
	shell_protocol_quoted(out, "(\nb=", base, "\n");
	shell_protocol_quoted(out, "f=", path, "\nset --\n");
	buf_printf(out,
		   "i=0\nwhile [ $i -lt %u ]; do set -- \"$@\" \"$b/%s.$i\"; i=$((i + 1)); done\n",
		   parts, id);
	/* sent twice, the parts are gone: the mark says that it was done */
	buf_printf(out, "k=\"$b/%s.done\"\n", id);
	buf_puts(
		out,
		"if [ -e \"$k\" ]; then echo '@.'\nelif [ -d \"$f\" ]; then echo '@!is a directory'\n"
		"elif m=$( { mkdir -p -- \"${f%/*}/\" && umask 022 && ");
	buf_puts(out, packed ? "cat -- \"$@\" | gzip -dc >\"$f\"" : "cat -- \"$@\" >\"$f\"");
	if (mode >= 0)
		buf_printf(out, " && chmod %o -- \"$f\"", (unsigned)mode & 07777);
	buf_puts(
		out,
		"; } 2>&1 ); then : >\"$k\"; rm -f -- \"$@\"; echo '@.'; else echo \"@!${m##*: }\"; fi\n)\n");
}

void shell_protocol_stat(struct buf *out, const char *path)
{
	shell_protocol_quoted(out, "(\nf=", path, "\n");
	buf_puts(
		out,
		"if [ -e \"$f\" ] || [ -L \"$f\" ]; then echo \"@s$(stat -c '%f %s' -- \"$f\")\"; echo '@.'; else echo '@n'; fi\n)\n");
}

void shell_protocol_list(struct buf *out, const char *path)
{
	shell_protocol_quoted(out, "(\nf=", path, "\n");
	buf_puts(
		out,
		"if [ ! -e \"$f\" ]; then echo '@n'; elif [ ! -d \"$f\" ]; then echo '@!is not a directory'\n"
		"elif ! cd -- \"$f\" 2>/dev/null; then echo '@!permission denied'; else\n"
		"set --\nfor i in .[!.]* ..?* *; do if [ -e \"$i\" ] || [ -L \"$i\" ]; then set -- \"$@\" \"$i\"; fi; done\n"
		"if [ $# -gt 0 ]; then\n"
		"printf '%s\\0' \"$@\" | xargs -0 stat -c '%f %s' -- | sed 's/^/@s/'\n"
		"printf '%s\\0' \"$@\" | base64 | sed 's/^/@d/'\nfi\necho '@.'; fi\n)\n");
}

/* --- what comes back --- */

static void shell_protocol_one_line(struct wrap_reader *r)
{
	struct buf *l = &r->line;
	while (l->len && l->data[l->len - 1] == '\r')
		l->data[--l->len] = 0;
	if (l->len > 1 && l->data[0] == '@')
		r->on_line(r->self, l->data[1], l->data + 2, l->len - 2);
	else if (l->len)
		r->on_line(r->self, 0, buf_cstr(l), l->len);
}

void shell_protocol_feed(struct wrap_reader *r, const void *bytes, size_t len)
{
	const char *p = bytes, *end = p + len;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((nl ? nl : end) - p);
		if (r->line.len + n > LINE_MAX_LEN)
			r->too_long = true;
		else
			buf_append(&r->line, p, n);
		p += n;
		if (!nl)
			return;
		p++;
		if (!r->too_long)
			shell_protocol_one_line(r);
		r->too_long = false;
		buf_reset(&r->line);
	}
}

void shell_protocol_reader_release(struct wrap_reader *r)
{
	buf_release(&r->line);
}

static const char *shell_protocol_kind_of(unsigned mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "dir" : S_ISLNK(mode) ? "link" : "other";
}

json_t *shell_protocol_stat_of(const char *text)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 16);
	if (end == text || *end != ' ')
		return NULL;
	json_t *o = json_object();
	json_put_str(o, "kind", shell_protocol_kind_of((unsigned)mode));
	json_put_int(o, "mode", (int64_t)(mode & 07777));
	json_put_int(o, "size", strtoll(end + 1, NULL, 10));
	return o;
}
