/* Commands that run other commands, by table: how to separate their options from the command that
 * they run. An option missing from the row makes the command loose (shell.h): the next word could
 * be its value or the command. */
#include "action/shell_parse.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct wrapper {
	const char *name;
	const char *flags;  /* letters of options without a value */
	const char *values; /* letters of options with a value */
	/* long options; with "=": a value of their own word or after "=" */
	const char *const *longs;
	int operands; /* words of its own before the command */
	enum {
		SETS_ENV = 1,	/* NAME=value words may come before the command */
		OWN_RIGHTS = 2, /* changes who or where it runs: must be allowed itself */
		ADDS_WORDS = 4, /* appends words that we do not know */
		MAY_END = 8,	/* may stand without a command */
		JOINS = 16,	/* hands its words to a shell, joined by blanks */
		TEXT_OF_C = 32, /* -c TEXT is a line for a shell */
		/* without a command it reads lines for a shell from standard input */
		STDIN = 64,
	} how;
};

static const char *const no_longs[] = { NULL };
static const char *const env_longs[] = {
	"--ignore-environment", "--unset=",	    "--chdir=",	       "--null", "--debug",
	"--block-signal",	"--default-signal", "--ignore-signal", NULL
};
static const char *const sudo_longs[] = {
	"--non-interactive", "--preserve-env", "--stdin",   "--set-home", "--user=",
	"--group=",	     "--background",   "--chdir=",  "--host=",	  "--prompt=",
	"--login",	     "--shell",	       "--askpass", NULL
};
static const char *const nice_longs[] = { "--adjustment=", NULL };
static const char *const ionice_longs[] = { "--class=", "--classdata=", "--ignore", NULL };
static const char *const timeout_longs[] = { "--preserve-status", "--foreground", "--kill-after=",
					     "--signal=",	  "--verbose",	  NULL };
static const char *const stdbuf_longs[] = { "--input=", "--output=", "--error=", NULL };
static const char *const xargs_longs[] = { "--null",
					   "--no-run-if-empty",
					   "--verbose",
					   "--max-args=",
					   "--max-procs=",
					   "--max-lines=",
					   "--max-chars=",
					   "--delimiter=",
					   "--arg-file=",
					   "--interactive",
					   "--exit",
					   "--open-tty",
					   "--show-limits",
					   "--process-slot-var=",
					   NULL };
static const char *const setsid_longs[] = { "--ctty", "--fork", "--wait", NULL };
static const char *const flock_longs[] = {
	"--exclusive", "--shared",	"--nonblock", "--timeout=",
	"--wait=",     "--no-fork",	"--close",    "--conflict-exit-code=",
	"--verbose",   "--nonblocking", NULL
};
static const char *const chroot_longs[] = { "--userspec=", "--groups=", "--skip-chdir", NULL };
static const char *const setpriv_longs[] = { "--no-new-privs",
					     "--nnp",
					     "--reuid=",
					     "--regid=",
					     "--ruid=",
					     "--euid=",
					     "--rgid=",
					     "--egid=",
					     "--clear-groups",
					     "--keep-groups",
					     "--init-groups",
					     "--groups=",
					     "--inh-caps=",
					     "--ambient-caps=",
					     "--bounding-set=",
					     "--securebits=",
					     "--pdeathsig=",
					     "--selinux-label=",
					     "--apparmor-profile=",
					     "--reset-env",
					     "--landlock-access=",
					     "--landlock-rule=",
					     NULL };
static const char *const unshare_longs[] = { "--ipc",
					     "--mount",
					     "--net",
					     "--pid",
					     "--uts",
					     "--user",
					     "--cgroup",
					     "--time",
					     "--fork",
					     "--map-root-user",
					     "--map-current-user",
					     "--mount-proc",
					     "--kill-child",
					     "--keep-caps",
					     "--root=",
					     "--wd=",
					     "--setuid=",
					     "--setgid=",
					     "--propagation=",
					     "--map-user=",
					     "--map-group=",
					     "--map-users=",
					     "--map-groups=",
					     "--setgroups=",
					     "--monotonic=",
					     "--boottime=",
					     "--map-auto",
					     NULL };
static const char *const nsenter_longs[] = { "--all",
					     "--target=",
					     "--mount",
					     "--uts",
					     "--ipc",
					     "--net",
					     "--pid",
					     "--cgroup",
					     "--user",
					     "--time",
					     "--setuid=",
					     "--setgid=",
					     "--preserve-credentials",
					     "--root",
					     "--wd",
					     "--no-fork",
					     NULL };
static const char *const strace_longs[] = { "--follow-forks",
					    "--output=",
					    "--trace=",
					    "--summary-only",
					    "--summary",
					    "--quiet",
					    "--attach=",
					    "--string-limit=",
					    "--relative-timestamps",
					    "--absolute-timestamps",
					    NULL };
static const char *const watch_longs[] = { "--interval=", "--differences", "--no-title", "--beep",
					   "--errexit",	  "--chgexit",	   "--color",	 "--exec",
					   "--precise",	  "--no-wrap",	   "--equexit=", NULL };
static const char *const script_longs[] = {
	"--append",  "--return",	"--flush",	     "--force",	  "--quiet",
	"--timing=", "--log-out=",	"--log-in=",	     "--log-io=", "--log-timing=",
	"--echo=",   "--output-limit=", "--logging-format=", NULL
};
static const char *const su_longs[] = {
	"--login", "--preserve-environment",   "--shell=", "--group=", "--supp-group=", "--pty",
	"--fast",  "--whitelist-environment=", "--user=",  NULL
};
static const char *const parallel_longs[] = {
	"--jobs=",     "--keep-order", "--bar",	      "--dry-run",   "--null",
	"--will-cite", "--no-notice",  "--halt=",     "--joblog=",   "--results=",
	"--colsep=",   "--delay=",     "--timeout=",  "--tag",	     "--line-buffer",
	"--ungroup",   "--xargs",      "--max-args=", "--arg-file=", "--progress",
	NULL
};
static const char *const systemd_longs[] = {
	"--user",     "--system",    "--scope",	       "--pty",
	"--pipe",     "--wait",	     "--quiet",	       "--collect",
	"--unit=",    "--property=", "--description=", "--slice=",
	"--uid=",     "--gid=",	     "--setenv=",      "--working-directory=",
	"--same-dir", "--no-block",  "--shell",	       NULL
};
static const char *const prlimit_longs[] = { "--nofile", "--nproc", "--cpu",   "--as", "--core",
					     "--fsize",	 "--data",  "--stack", NULL };

static const struct wrapper shell_wrap_wrappers[] = {
	{ "env", "i0v", "uC", env_longs, 0, SETS_ENV | MAY_END },
	{ "sudo", "nESHPAbkKi", "ugpCrtThDUR", sudo_longs, 0, SETS_ENV | OWN_RIGHTS | MAY_END },
	{ "doas", "nLs", "uC", no_longs, 0, OWN_RIGHTS | MAY_END },
	{ "pkexec", "", "", sudo_longs, 0, OWN_RIGHTS | MAY_END },
	{ "su", "lmpPf", "sgGwu", su_longs, 2, OWN_RIGHTS | TEXT_OF_C | STDIN | MAY_END },
	{ "runuser", "lmpPf", "sgGwu", su_longs, 0, OWN_RIGHTS | TEXT_OF_C | MAY_END },
	{ "sg", "", "", no_longs, 1, OWN_RIGHTS | TEXT_OF_C | JOINS | MAY_END },
	{ "chroot", "", "", chroot_longs, 1, OWN_RIGHTS | MAY_END },
	{ "setpriv", "d", "", setpriv_longs, 0, OWN_RIGHTS | MAY_END },
	{ "unshare", "imnpuUCTfrc", "RwSG", unshare_longs, 0, OWN_RIGHTS | MAY_END },
	{ "nsenter", "amuinpCUTFZ", "tSG", nsenter_longs, 0, OWN_RIGHTS | MAY_END },
	{ "nohup", "", "", no_longs, 0, MAY_END },
	{ "setsid", "cfw", "", setsid_longs, 0, MAY_END },
	{ "command", "p", "", no_longs, 0, MAY_END },
	{ "builtin", "", "", no_longs, 0, MAY_END },
	{ "exec", "cl", "a", no_longs, 0, MAY_END },
	{ "time", "pvaq", "fo", no_longs, 0, MAY_END },
	{ "nice", "", "n", nice_longs, 0, MAY_END },
	{ "ionice", "t", "cn", ionice_longs, 0, MAY_END },
	{ "chrt", "bfiorRadv", "TPD", no_longs, 1, MAY_END },
	{ "taskset", "a", "", no_longs, 1, MAY_END },
	{ "numactl", "la", "NmCipP", no_longs, 0, MAY_END },
	{ "prlimit", "", "", prlimit_longs, 0, MAY_END },
	{ "choom", "", "n", no_longs, 0, MAY_END },
	{ "timeout", "v", "ks", timeout_longs, 1, MAY_END },
	{ "gtimeout", "v", "ks", timeout_longs, 1, MAY_END },
	{ "stdbuf", "", "ioe", stdbuf_longs, 0, MAY_END },
	{ "unbuffer", "p", "", no_longs, 0, MAY_END },
	{ "chronic", "ve", "", no_longs, 0, MAY_END },
	{ "eatmydata", "", "", no_longs, 0, MAY_END },
	{ "fakeroot", "u", "lsib", no_longs, 0, MAY_END },
	{ "catchsegv", "", "", no_longs, 0, MAY_END },
	{ "torsocks", "iqd", "uaP", no_longs, 0, MAY_END },
	{ "proxychains", "q", "f", no_longs, 0, MAY_END },
	{ "proxychains4", "q", "f", no_longs, 0, MAY_END },
	{ "dbus-run-session", "", "", no_longs, 0, MAY_END },
	{ "dbus-launch", "", "", no_longs, 0, MAY_END },
	{ "xvfb-run", "al", "efnpsw", no_longs, 0, MAY_END },
	{ "setarch", "BFILRSTXZ3v", "", no_longs, 0, MAY_END },
	{ "linux32", "BFILRSTXZ3v", "", no_longs, 0, MAY_END },
	{ "linux64", "BFILRSTXZ3v", "", no_longs, 0, MAY_END },
	{ "rlwrap", "acinNrRv", "bCfHst", no_longs, 0, MAY_END },
	{ "systemd-run", "PStqdrG", "upE", systemd_longs, 0, MAY_END },
	{ "systemd-inhibit", "", "", no_longs, 0, MAY_END },
	{ "strace", "cCfFdhiqrtTvVxyYkwzZnAD", "abeIoOpPsSuEXU", strace_longs, 0, MAY_END },
	{ "ltrace", "bcCfhiLrStTV", "aAeFlnopPswux", no_longs, 0, MAY_END },
	{ "valgrind", "qvd", "", no_longs, 0, MAY_END },
	{ "cpulimit", "zi", "lpeP", no_longs, 0, MAY_END },
	{ "caffeinate", "dimsu", "tw", no_longs, 0, MAY_END },
	{ "direnv", "", "", no_longs, 2, MAY_END },
	{ "flock", "xsnuoFe", "wE", flock_longs, 1, MAY_END | TEXT_OF_C },
	{ "watch", "dtbegcxprw", "nqs", watch_longs, 0, JOINS | MAY_END },
	{ "script", "aefq", "tEoBITOm", script_longs, 1, TEXT_OF_C | MAY_END },
	{ "ssh", "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopPQRSWw", no_longs, 1,
	  OWN_RIGHTS | JOINS | STDIN | MAY_END },
	{ "autossh", "46AaCfGgKkMNnqsTtVvXxYy", "BbcDEeFIiJLlmOopPQRSWw", no_longs, 1,
	  OWN_RIGHTS | JOINS | STDIN | MAY_END },
	{ "xargs", "0rtpxo", "nPLsdaERJ", xargs_longs, 0, ADDS_WORDS | MAY_END },
	{ "gxargs", "0rtpxo", "nPLsdaERJ", xargs_longs, 0, ADDS_WORDS | MAY_END },
	{ "parallel", "0kutqvXmD", "janNILPS", parallel_longs, 0, ADDS_WORDS | JOINS | MAY_END },
	{ "busybox", "", "", no_longs, 0, MAY_END },
	{ "toybox", "", "", no_longs, 0, MAY_END },
};

static const struct wrapper *wrapper_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(shell_wrap_wrappers); i++)
		if (!strcmp(shell_wrap_wrappers[i].name, name))
			return &shell_wrap_wrappers[i];
	return NULL;
}

bool shell_is_wrapper(const char *name)
{
	return wrapper_find(name) != NULL;
}

/* Results of reading a wrapper's options. */
struct wrapped {
	struct shell_part inner;
	/* xargs -I, parallel {}: words that hold it are not known; empty: none */
	struct shell_word replaced;
	const struct shell_word *text; /* -c TEXT */
	struct shell_word split;       /* env -S TEXT */
};

/* A "--long" word: 1 without a value or with "=value", 2 when the next word is its value, 0
 * unknown. */
static size_t shell_wrap_long_option(const struct wrapper *w, const struct shell_word *word)
{
	const char *eq = memchr(word->text, '=', word->len);
	size_t name = eq ? (size_t)(eq - word->text) : word->len;
	for (const char *const *l = w->longs; *l; l++) {
		size_t len = strlen(*l);
		bool value = (*l)[len - 1] == '=';
		if (name == len - value && !memcmp(word->text, *l, name))
			return value && !eq ? 2 : 1;
	}
	return eq ? 1 : 0;
}

/* A "-abc" word: how many words it takes, 0 unknown. */
static size_t short_option(const struct wrapper *w, const struct shell_word *word)
{
	for (size_t i = 1; i < word->len; i++) {
		if (strchr(w->values, word->text[i]))
			return i + 1 < word->len ? 1 : 2;
		if (!strchr(w->flags, word->text[i]) &&
		    !(!strcmp(w->name, "nice") && word->text[i] >= '0' && word->text[i] <= '9'))
			return 0;
	}
	return 1;
}

static struct shell_word shell_wrap_tail_of(const struct shell_word *w, size_t from)
{
	return (struct shell_word){ .text = w->text + from,
				    .len = w->len - from,
				    .prefix = w->len - from,
				    .suffix = w->len - from };
}

/* Options with a meaning of their own: how many words it takes, 0 if it is none of them. */
static size_t own_option(const struct wrapper *w, const struct shell_part *p, size_t i,
			 struct wrapped *out)
{
	const struct shell_word *word = &p->word[i];
	bool more = i + 1 < p->nr_words;
	if (!strcmp(w->name, "env")) {
		size_t s = word->len > 1 && word->text[1] != '-' ? strcspn(word->text, "S")
								 : word->len;
		if (shell_word_begins(word, "--split-string="))
			out->split = shell_wrap_tail_of(word, strlen("--split-string="));
		else if (s < word->len && s + 1 < word->len)
			out->split = shell_wrap_tail_of(word, s + 1);
		else if ((s < word->len || shell_word_is(word, "--split-string")) && more)
			out->split = p->word[i + 1];
		else
			return 0;
		return (s + 1 == word->len && s < word->len) ||
				       shell_word_is(word, "--split-string")
			       ? 2
			       : 1;
	}
	if (w->how & ADDS_WORDS) {
		if (shell_word_is(word, "-I") || shell_word_is(word, "-J")) {
			out->replaced = more ? p->word[i + 1] : shell_word_of("{}");
			return 2;
		}
		if (shell_word_begins(word, "-I") ||
		    (shell_word_begins(word, "-i") && !strcmp(w->name, "xargs"))) {
			out->replaced =
				word->len > 2 ? shell_wrap_tail_of(word, 2) : shell_word_of("{}");
			return 1;
		}
		if (shell_word_begins(word, "--replace")) {
			const char *eq = memchr(word->text, '=', word->len);
			out->replaced = eq ? shell_wrap_tail_of(word, (size_t)(eq - word->text) + 1)
					   : shell_word_of("{}");
			return 1;
		}
	}
	if (w->how & TEXT_OF_C) {
		bool own = word->text[1] != '-' && word->text[word->len - 1] == 'c' &&
			   strspn(word->text + 1, w->flags) + 2 == word->len;
		static const char *const longs[] = { "--command", "--session-command", NULL };
		if ((own || shell_among(word->text, longs)) && more) {
			out->text = &p->word[i + 1];
			return 2;
		}
		if (shell_word_begins(word, "--command=") ||
		    shell_word_begins(word, "--session-command=")) {
			out->split = shell_wrap_tail_of(
				word, (size_t)((const char *)memchr(word->text, '=', word->len) -
					       word->text) +
					      1);
			return 1;
		}
		if (shell_word_begins(word, "-c") && word->len > 2 && word->text[1] == 'c') {
			out->split = shell_wrap_tail_of(word, 2);
			return 1;
		}
	}
	return 0;
}

static bool shell_wrap_assigns(const struct shell_word *w)
{
	return shell_assignment(w->text, w->dynamic ? w->prefix : w->len) > 0;
}

#define NOT_UNDERSTOOD SIZE_MAX

/* Index of the first word of the command that @p runs; nr_words = there is none. */
static size_t wrapped_at(const struct wrapper *w, const struct shell_part *p, struct wrapped *out)
{
	size_t i = 1;
	int operands = w->operands;
	for (; i < p->nr_words; i++) {
		const struct shell_word *word = &p->word[i];
		if (word->dynamic && word->prefix == 0)
			break;
		if (shell_word_is(word, "--")) {
			i++;
			break;
		}
		bool option = word->text[0] == '-' && word->len > 1;
		if (!option && (w->how & SETS_ENV) && shell_wrap_assigns(word)) {
			strv_push_bytes(&out->inner.env, word->text, word->len);
			continue;
		}
		/* su root -c TEXT: options may come after operands where those are few */
		if (!option) {
			if (!(w->how & TEXT_OF_C) || operands-- <= 0)
				break;
			continue;
		}
		size_t takes = word->dynamic ? 0 : own_option(w, p, i, out);
		if (!takes && word->dynamic)
			takes = word->text[1] == '-' && memchr(word->text, '=', word->prefix) ? 1
											      : 0;
		if (!takes && !word->dynamic)
			takes = word->text[1] == '-' ? shell_wrap_long_option(w, word)
						     : short_option(w, word);
		if (!takes || i + takes > p->nr_words)
			return NOT_UNDERSTOOD;
		i += takes - 1;
	}
	while ((w->how & SETS_ENV) && i < p->nr_words && shell_wrap_assigns(&p->word[i])) {
		strv_push_bytes(&out->inner.env, p->word[i].text, p->word[i].len);
		i++;
	}
	if (!(w->how & TEXT_OF_C))
		i += (size_t)w->operands;
	return i < p->nr_words ? i : p->nr_words;
}

static bool word_holds(const struct shell_word *w, const struct shell_word *part)
{
	return part->len && !part->dynamic && memmem(w->text, w->len, part->text, part->len);
}

/* The words from @i on, as they will be when it runs. */
static void inner_words(const struct wrapper *w, const struct shell_part *p, size_t i,
			struct wrapped *out)
{
	bool parallel = !strcmp(w->name, "parallel"), placed = out->replaced.len > 0;
	for (; i < p->nr_words; i++) {
		struct shell_word word = p->word[i];
		if (parallel && shell_word_begins(&word, ":::"))
			break;
		bool unknown = word_holds(&word, &out->replaced) ||
			       (parallel && memmem(word.text, word.len, "{", 1));
		if (unknown) {
			word.dynamic = word.splits = true;
			word.prefix = word.suffix = 0;
			placed = true;
		}
		shell_part_push(&out->inner, &word);
	}
	if ((w->how & ADDS_WORDS) && !placed) {
		struct shell_word more = shell_word_unknown("[standard input]");
		shell_part_push(&out->inner, &more);
	}
}

/* A shell inside reads our here-document. */
static void inner_here(const struct wrapper *w, const struct shell_part *p,
		       struct shell_part *inner)
{
	for (size_t k = 0; k < p->nr_redirects; k++)
		if (p->redirect[k].kind == SHELL_HERE && !(w->how & ADDS_WORDS)) {
			GROW(inner->redirect, inner->nr_redirects, inner->cap_redirects);
			inner->redirect[inner->nr_redirects++] = p->redirect[k];
		}
}

/* sudo -s and sudo -i without a command. */
static bool starts_shell(const struct wrapper *w, const struct shell_part *p)
{
	static const char *const options[] = { "-s", "-i", "--shell", "--login", NULL };
	bool any = false;
	for (size_t i = 1; (w->how & OWN_RIGHTS) && i < p->nr_words; i++)
		any |= !p->word[i].dynamic && shell_among(p->word[i].text, options);
	return any && (!strcmp(w->name, "sudo") || !strcmp(w->name, "doas"));
}

static void not_understood(struct shell *s, struct shell_part *p, int depth)
{
	for (size_t i = 1; i < p->nr_words; i++)
		if (p->word[i].dynamic)
			shell_opaque(s, "options of a command that runs another one");
	shell_look_loose(s, p, depth);
}

void shell_look_wrapper(struct shell *s, struct shell_part *p, int depth)
{
	const struct wrapper *w = wrapper_find(shell_base(&p->word[0]));
	struct wrapped found = { .inner = { .flags = p->flags & SHELL_REACHES } };
	if (shell_word_is(&p->word[0], "command") && p->nr_words > 1 &&
	    (shell_word_is(&p->word[1], "-v") || shell_word_is(&p->word[1], "-V")))
		return; /* asks where it is */
	size_t i = wrapped_at(w, p, &found);
	if (i == NOT_UNDERSTOOD) {
		shell_part_release(&found.inner);
		not_understood(s, p, depth);
		return;
	}
	if (found.text || found.split.len) {
		const struct shell_word *text = found.text ? found.text : &found.split;
		shell_part_release(&found.inner);
		p->flags |= w->how & OWN_RIGHTS ? 0 : SHELL_LOOKED;
		if (found.text || (w->how & TEXT_OF_C) || i == p->nr_words) {
			shell_look_text(s, text, 1, depth);
			return;
		}
		/* env -S 'git' push: its words and ours are one command */
		shell_look_text(s, text, 1, depth);
		p->flags |= SHELL_LOOSE;
		return;
	}
	if (i == p->nr_words) {
		shell_part_release(&found.inner); /* `env`, `exec >log`: nothing inside */
		if (w->how & STDIN || starts_shell(w, p))
			shell_look_stdin(s, p, depth);
		else if (!strcmp(w->name, "parallel") && p->nr_words == 1)
			shell_look_stdin(s, p, depth);
		else if (w->how & ADDS_WORDS)
			p->flags |= SHELL_LOOSE; /* parallel ::: 'git push' */
		return;
	}
	if (!(w->how & OWN_RIGHTS))
		p->flags |= SHELL_LOOKED;
	if (!strcmp(w->name, "ssh") || !strcmp(w->name, "parallel") || !strcmp(w->name, "script"))
		p->flags |= SHELL_LOOSE; /* -o ProxyCommand=..., words after ::: */
	inner_words(w, p, i, &found);
	bool one_text = (w->how & JOINS) && found.inner.nr_words > 0;
	for (size_t k = 0; one_text && k < found.inner.nr_words; k++)
		one_text = !found.inner.word[k].dynamic;
	if (one_text || ((w->how & JOINS) && !(w->how & ADDS_WORDS))) {
		shell_look_text(s, found.inner.word, found.inner.nr_words, depth);
		shell_part_release(&found.inner);
		return;
	}
	if (!strcmp(w->name, "setarch") && found.inner.nr_words > 1 &&
	    shell_is_arch(&found.inner.word[0])) {
		memmove(found.inner.word, found.inner.word + 1,
			--found.inner.nr_words * sizeof(*found.inner.word));
	}
	inner_here(w, p, &found.inner);
	shell_look(s, &found.inner, depth + 1);
}

bool shell_is_arch(const struct shell_word *w)
{
	static const char *const names[] = { "x86_64",	"i386", "i686",	   "linux32", "linux64",
					     "aarch64", "arm",	"uname26", NULL };
	return !w->dynamic && shell_among(w->text, names);
}
