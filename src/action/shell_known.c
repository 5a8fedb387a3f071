/* Programs whose words are data, whatever they say: `grep 'git push' README` pushes nothing. Every
 * program that is not here, nor a wrapper, a shell or an interpreter, may run what its words
 * say. */
#include "action/shell_parse.h"

#include <string.h>

bool shell_is_builtin(const char *name)
{
	static const char *const names[] = {
		"eval",	    "trap",	"cd",	    "pushd",	 "popd",   "export", "declare",
		"typeset",  "local",	"readonly", ".",	 "source", "set",    "unset",
		"shopt",    "umask",	"ulimit",   "wait",	 "jobs",   "fg",     "bg",
		"kill",	    "true",	"false",    ":",	 "exit",   "return", "break",
		"continue", "shift",	"getopts",  "let",	 "disown", "times",  "history",
		"dirs",	    "read",	"mapfile",  "readarray", "test",   "[",	     "echo",
		"printf",   "type",	"which",    "pwd",	 "help",   "logout", "suspend",
		"caller",   "complete", "compgen",  NULL
	};
	return shell_among(name, names);
}

static const char *const shell_known_plain[] = {
	"[[",	      "ack",	  "addr2line",	"apk",	      "apt-cache", "apt-file",
	"ar",	      "arch",	  "as",		"autoflake",  "b2sum",	   "base32",
	"base64",     "basename", "bat",	"bc",	      "bison",	   "black",
	"blkid",      "brew",	  "bzip2",	"c++",	      "c++filt",   "cal",
	"cargo-fmt",  "cat",	  "cc",		"chattr",     "chcon",	   "chgrp",
	"chmod",      "chown",	  "cksum",	"clang",      "clang++",   "clang-format",
	"clang-tidy", "clear",	  "cloc",	"cmp",	      "codespell", "column",
	"comm",	      "cp",	  "cpp",	"csplit",     "curl",	   "cut",
	"date",	      "dd",	  "df",		"diff",	      "diff3",	   "dig",
	"dircolors",  "dirname",  "dmesg",	"dnf",	      "dos2unix",  "dpkg",
	"dpkg-query", "dtc",	  "du",		"echo",	      "egrep",	   "eslint",
	"exa",	      "expand",	  "expr",	"eza",	      "factor",	   "fallocate",
	"fgrep",      "file",	  "flake8",	"flex",	      "fmt",	   "fold",
	"free",	      "fuser",	  "g++",	"gcc",	      "getconf",   "getent",
	"getfacl",    "gh",	  "glab",	"gofmt",      "goimports", "gpg",
	"grep",	      "groups",	  "gunzip",	"gzip",	      "hd",	   "head",
	"hexdump",    "hg",	  "host",	"hostid",     "hostname",  "http",
	"iconv",      "id",	  "identify",	"install",    "isort",	   "jest",
	"join",	      "jq",	  "ld",		"ldd",	      "link",	   "ln",
	"locale",     "locate",	  "logger",	"logname",    "look",	   "ls",
	"lsattr",     "lsblk",	  "lscpu",	"lsof",	      "lz4",	   "mail",
	"md5sum",     "mdl",	  "mkdir",	"mkfifo",     "mktemp",	   "mocha",
	"mount",      "mv",	  "mypy",	"nl",	      "nm",	   "notify-send",
	"nproc",      "nslookup", "numfmt",	"objcopy",    "objdump",   "od",
	"openssl",    "pacman",	  "paste",	"patch",      "pathchk",   "pgrep",
	"pidof",      "ping",	  "pip",	"pip3",	      "pipx",	   "pkg-config",
	"pkill",      "pr",	  "prettier",	"printenv",   "printf",	   "ps",
	"ptx",	      "pwd",	  "pwdx",	"pylint",     "pyright",   "pytest",
	"readelf",    "readlink", "realpath",	"rename",     "rev",	   "rg",
	"rm",	      "rmdir",	  "rubocop",	"ruff",	      "rustc",	   "rustfmt",
	"scp",	      "seq",	  "sha1sum",	"sha224sum",  "sha256sum", "sha384sum",
	"sha512sum",  "shasum",	  "shellcheck", "shfmt",      "shred",	   "shuf",
	"size",	      "sleep",	  "sort",	"split",      "ss",	   "stat",
	"strings",    "strip",	  "stty",	"sum",	      "svn",	   "sync",
	"tac",	      "tail",	  "tee",	"test",	      "tokei",	   "top",
	"touch",      "tput",	  "tr",		"traceroute", "tree",	   "truncate",
	"tsc",	      "tsort",	  "tty",	"uname",      "unexpand",  "uniq",
	"unix2dos",   "unlink",	  "unxz",	"unzip",      "unzstd",	   "updatedb",
	"uptime",     "users",	  "uuidgen",	"vdir",	      "vitest",	   "vmstat",
	"w",	      "wc",	  "wget",	"whereis",    "which",	   "who",
	"whoami",     "xxd",	  "xz",		"xzcat",      "yamllint",  "yes",
	"yum",	      "zcat",	  "zdiff",	"zgrep",      "zless",	   "zstd",
	"zstdcat",    "apt",	  "apt-get",	"man",	      "info",	   "apropos",
	"whatis",     "say",	  "open",	"xdg-open",   "diffstat",  "colordiff",
	"delta",      "glow",	  "fd-list",	"jsonlint",   "xmllint",   "yq",
	"toml",	      "tldr",	  "nano",	"code",	      "cmark",	   "pandoc",
};

/* Programs with one verb or option that runs commands: with any of these among their words they are
 * not plain. */
static const struct runner {
	const char *name;
	const char *const *runs;
} shell_known_runners[] = {
	{ "npm", (const char *const[]){ "exec", "x", "explore", "init", "create", "--script-shell",
					"config", "set", "pkg", NULL } },
	{ "pnpm", (const char *const[]){ "exec", "dlx", "create", NULL } },
	{ "yarn", (const char *const[]){ "exec", "dlx", "create", "node", NULL } },
	{ "bun", (const char *const[]){ "x", "exec", "-e", "--eval", NULL } },
	{ "cargo", (const char *const[]){ "run", "r", "watch", "--config", "xtask", NULL } },
	{ "go", (const char *const[]){ "run", "generate", "tool", "-exec", "-toolexec", NULL } },
	{ "docker",
	  (const char *const[]){ "run", "exec", "compose", "container", "create", NULL } },
	{ "podman", (const char *const[]){ "run", "exec", "compose", "container", "create",
					   "unshare", NULL } },
	{ "kubectl", (const char *const[]){ "exec", "run", "debug", NULL } },
	{ "tar", (const char *const[]){ "-I", "-F", "--to-command", "--use-compress-program",
					"--checkpoint-action", "--info-script", "--rsh-command",
					"--new-volume-script", NULL } },
	{ "zip", (const char *const[]){ "-TT", "--unzip-command", "-T", NULL } },
	{ "rsync", (const char *const[]){ "-e", "--rsh", "--rsync-path", NULL } },
	{ "sort", (const char *const[]){ "--compress-program", NULL } },
	{ "split", (const char *const[]){ "--filter", NULL } },
	{ "rg", (const char *const[]){ "--pre", "--hostname-bin", NULL } },
	{ "curl", (const char *const[]){ NULL } },
	{ "scp", (const char *const[]){ "-S", "-o", NULL } },
	{ "wget", (const char *const[]){ "-e", "--execute", "--use-askpass", NULL } },
	{ "man", (const char *const[]){ "-P", "--pager", "-H", NULL } },
	{ "gcc", (const char *const[]){ "-wrapper", NULL } },
	{ "g++", (const char *const[]){ "-wrapper", NULL } },
	{ "cc", (const char *const[]){ "-wrapper", NULL } },
	{ "hg", (const char *const[]){ "--config", NULL } },
	{ "mount", (const char *const[]){ NULL } },
	{ "apt", (const char *const[]){ "-o", "--option", NULL } },
	{ "apt-get", (const char *const[]){ "-o", "--option", NULL } },
	{ "dpkg",
	  (const char *const[]){ "--pre-invoke", "--post-invoke", "--status-logger", NULL } },
	{ "pip", (const char *const[]){ NULL } },
	{ "uv", (const char *const[]){ "run", "x", "tool", NULL } },
	{ "poetry", (const char *const[]){ "run", "shell", NULL } },
	{ "pdm", (const char *const[]){ "run", NULL } },
	{ "hatch", (const char *const[]){ "run", NULL } },
	{ "pipenv", (const char *const[]){ "run", "shell", NULL } },
	{ "pipx", (const char *const[]){ "run", "runpip", NULL } },
	{ "conda", (const char *const[]){ "run", NULL } },
	{ "bundle", (const char *const[]){ "exec", NULL } },
	{ "gh", (const char *const[]){ "alias", "extension", NULL } },
	{ "make", (const char *const[]){ "-f", "--file", "--makefile", "--eval", "-E", NULL } },
	{ "cmake", (const char *const[]){ "-E", "-P", NULL } },
	{ "ninja", (const char *const[]){ NULL } },
	{ "terraform", (const char *const[]){ NULL } },
	{ "helm", (const char *const[]){ "--post-renderer", NULL } },
	{ "mvn", (const char *const[]){ NULL } },
	{ "gradle", (const char *const[]){ "-I", NULL } },
	{ "gradlew", (const char *const[]){ "-I", NULL } },
	{ "dotnet", (const char *const[]){ "exec", "run", NULL } },
	{ "systemctl", (const char *const[]){ NULL } },
	{ "journalctl", (const char *const[]){ NULL } },
	{ "tox", (const char *const[]){ "--", "exec", NULL } },
	{ "nox", (const char *const[]){ "--", NULL } },
	{ "psql", (const char *const[]){ "-c", "-f", NULL } },
	{ "aws", (const char *const[]){ NULL } },
	{ "gcloud", (const char *const[]){ "ssh", NULL } },
	{ "pre-commit", (const char *const[]){ NULL } },
};

/* --compress-prog for --compress-program; -ave for -e; tar's first word may have no dash. */
static bool shell_known_shortened(const struct shell_word *w, const char *option, bool first)
{
	size_t len = strcspn(w->text, "=");
	if (option[1] == '-')
		return len > 3 && len <= strlen(option) && shell_word_begins(w, "--") &&
		       !memcmp(w->text, option, len);
	bool letters = shell_word_begins(w, "-") ? w->len > 1 && w->text[1] != '-' : first;
	return letters && strlen(option) == 2 && memchr(w->text, option[1], w->len);
}

static bool runs_some(const struct runner *r, const struct shell_part *p)
{
	for (size_t i = 1; i < p->nr_words; i++)
		for (const char *const *t = r->runs; *t; t++) {
			const struct shell_word *w = &p->word[i];
			size_t len = strlen(*t);
			bool option = (*t)[0] == '-';
			if (shell_word_is(w, *t) ||
			    (option && w->len > len && !memcmp(w->text, *t, len) &&
			     (w->text[len] == '=' || (*t)[1] != '-')) ||
			    (option && shell_known_shortened(w, *t, i == 1)))
				return true;
		}
	return false;
}

/* make takes variables that are commands. */
static bool sets_command(const struct shell_part *p)
{
	for (size_t i = 1; i < p->nr_words; i++)
		if (shell_assignment(p->word[i].text, p->word[i].len) &&
		    memchr(p->word[i].text, ' ', p->word[i].len))
			return true;
	return false;
}

bool shell_is_tool(const char *name)
{
	static const char *const names[] = {
		"git",	    "npm",	    "pnpm",    "yarn",	     "bun",	"npx",	  "cargo",
		"go",	    "make",	    "gmake",   "cmake",	     "ninja",	"meson",  "mvn",
		"gradle",   "dotnet",	    "tox",     "nox",	     "pip",	"pip3",	  "uv",
		"poetry",   "pdm",	    "hatch",   "pipenv",     "bundle",	"docker", "podman",
		"pytest",   "jest",	    "mocha",   "vitest",     "eslint",	"rake",	  "just",
		"prettier", "pylint",	    "rubocop", "pre-commit", "gradlew", "mvnw",	  "ctest",
		"task",	    "sphinx-build", "direnv",  NULL
	};
	return shell_among(name, names);
}

bool shell_is_plain(const struct shell_part *p)
{
	const char *name = shell_base(&p->word[0]);
	for (size_t i = 0; i < ARRAY_LEN(shell_known_runners); i++)
		if (!strcmp(shell_known_runners[i].name, name))
			return !runs_some(&shell_known_runners[i], p) &&
			       !(!strcmp(name, "make") && sets_command(p));
	for (size_t i = 0; i < ARRAY_LEN(shell_known_plain); i++)
		if (!strcmp(shell_known_plain[i], name))
			return true;
	return false;
}
