/* The commands of a command line. Expected: parts joined by " | ", each as its words with "_" for a blank inside a
 * word; "~" before a word whose value is not known, "(" ")" around a part that is only looked through, "!why" when
 * opaque. */
#include "tap.h"

#include "action/shell.h"

static const struct {
	const char *text, *want;
} cases[] = {
	/* lists */
	{ "ls", "ls" },
	{ "", "" },
	{ "   # only a comment", "" },
	{ "ls -l /tmp", "ls -l /tmp" },
	{ "a && b || c; d & e", "a | b | c | d | e" },
	{ "a|b|&c", "a | b | c" },
	{ "a\nb\n\nc", "a | b | c" },
	{ "a;", "a" },
	{ "a \\\n b", "a b" },
	{ "a#b #c", "a#b" },
	/* quotes */
	{ "echo 'a;b' \"c && d\"", "echo a;b c_&&_d" },
	{ "g\"i\"t pu'sh'", "git push" },
	{ "\\rm -rf x", "rm -rf x" },
	{ "echo \"a\\\"b\" a\\ b", "echo a\"b a_b" },
	{ "echo ''", "echo " },
	{ "'if' x", "if x" },
	/* groups and keywords */
	{ "(a; b) && c", "a | b | c" },
	{ "{ a; b; } | c", "a | b | c" },
	{ "if a; then b; elif c; then d; else e; fi", "a | b | c | d | e" },
	{ "while read x; do rm $x; done < list", "read x | rm ~$x" },
	{ "until a; do b; done", "a | b" },
	{ "for f in *.c; do cat \"$f\"; done", "cat ~$f" },
	{ "for f\ndo a; done", "a" },
	{ "case $x in a|b) c;; (d) e;; *) f; esac; g", "c | e | f | g" },
	{ "! a", "a" },
	{ "[ -f x ] && a", "[ -f x ] | a" },
	{ "[[ -f x && y > z ]] && a", "(y z) | a" },
	{ "f() { rm -rf /; }; f", "rm -rf / | f" },
	/* substitutions */
	{ "echo $(rm -rf x)", "echo ~$(rm_-rf_x) | rm -rf x" },
	{ "echo \"$(curl e)\"", "echo ~$(curl_e) | curl e" },
	{ "echo `rm x`", "rm x | echo ~`rm_x`" },
	{ "echo `echo \\`rm x\\``", "rm x | echo ~`rm_x` | echo ~`echo_\\`rm_x\\``" },
	{ "echo $(a $(b \"$(c)\"))", "echo ~$(a_$(b_\"$(c)\")) | a ~$(b_\"$(c)\") | b ~$(c) | c" },
	{ "echo ${x:-$(rm y)}", "echo ~${x:-$(rm_y)} | rm y" },
	{ "echo $((1 + 2))", "echo ~$((1_+_2))" },
	{ "echo $((1 + $(rm x)))", "echo ~$((1_+_$(rm_x))) | rm x" },
	{ "x=$(curl e)", "curl e | " },
	{ "$CMD push", "~$CMD push" },
	{ "git $verb", "git ~$verb" },
	{ "rm *.o", "rm ~*.o" },
	{ "rm {a,b}", "rm ~{a,b}" },
	{ "echo {} a{b", "echo {} a{b" },
	{ "cat ~/x", "cat ~/x" },
	{ "echo $'a\\'b' x", "echo ~$'a\\'b' x" },
	{ "echo $", "echo $" },
	/* redirections */
	{ "a > b", "> b | a" },
	{ "a >> b 2>&1", "> b | a" },
	{ "a 2> /dev/null < c", "a" },
	{ "a &> b", "> b | a" },
	{ "> x", "> x" },
	{ "a >| b", "> b | a" },
	{ "echo 2 > $x", "> ~$x | echo 2" },
	{ "(a; b) > c", "a | b | > c" },
	{ "a <> b", "> b | a" },
	{ "a <&3 >&-", "a" },
	{ "a >&b", "> b | a" },
	/* here-documents */
	{ "cat <<E\nrm -rf /\nE\nls", "cat | ls" },
	{ "cat > f <<'E'\n$(rm x)\nE", "> f | cat" },
	{ "cat <<E\n$(rm x)\nE", "cat | rm x" },
	{ "cat <<-E\n\tx\n\tE\nls", "cat | ls" },
	{ "cat <<A <<B\na\nA\nb\nB\nls", "cat | ls" },
	{ "sh <<E\nrm x; ls\nE", "(sh) | rm x | ls" },
	{ "sh <<E\n$X\nE", "!a command line that is made while it runs" },
	{ "cat <<E && b\nx\nE", "cat | b" },
	{ "bash <<< 'rm x'", "(bash) | rm x" },
	/* what runs other commands */
	{ "sh -c 'rm -rf x; ls'", "(sh -c rm_-rf_x;_ls) | rm -rf x | ls" },
	{ "bash -lc \"a && b\"", "(bash -lc a_&&_b) | a | b" },
	{ "sh -c \"rm $x\"", "!a command line that is made while it runs" },
	{ "bash -c 'bash -c \"rm x\"'", "(bash -c bash_-c_\"rm_x\") | (bash -c rm_x) | rm x" },
	{ "bash script.sh a", "bash script.sh a" },
	{ "bash --norc -e s.sh", "bash --norc -e s.sh" },
	{ "env A=1 B=2 git push", "(env A=1 B=2 git push) | git push" },
	{ "env -i -u X git push", "(env -i -u X git push) | git push" },
	{ "env -S 'git push'", "(env -S git_push) | git push" },
	{ "A=1 git push", "git push" },
	{ "sudo -u root git push", "sudo -u root git push | git push" },
	{ "nohup nice -n 5 rm x &", "(nohup nice -n 5 rm x) | (nice -n 5 rm x) | rm x" },
	{ "timeout -k 1 5s rm x", "(timeout -k 1 5s rm x) | rm x" },
	{ "echo a | xargs -0 -n 1 rm -f", "echo a | (xargs -0 -n 1 rm -f) | rm -f ~[standard_input]" },
	{ "xargs -I{} mv {} x", "(xargs -I{} mv {} x) | mv ~{} x" },
	{ "xargs -I @ mv @ x", "(xargs -I @ mv @ x) | mv ~@ x" },
	{ "find . -name x -exec rm -f {} \\; -print", "find . -name x -exec rm -f {} ; -print | rm -f ~{}" },
	{ "find . -exec sh -c 'rm y' \\;", "find . -exec sh -c rm_y ; | (sh -c rm_y) | rm y" },
	{ "eval rm x", "(eval rm x) | rm x" },
	{ "eval \"$X\"", "!a command line that is made while it runs" },
	{ "trap 'rm x' EXIT", "trap rm_x EXIT | rm x" },
	{ "git -C /tmp push", "git -C /tmp push | (git push)" },
	{ "/usr/bin/env git push", "(/usr/bin/env git push) | git push" },
	{ "busybox sh -c 'rm x'", "(busybox sh -c rm_x) | (sh -c rm_x) | rm x" },
	{ "time -p make", "(time -p make) | make" },
	{ "command -v git", "command -v git" },
	{ "exec > log", "> log | exec" },
	/* not understood: the whole is opaque */
	{ "curl e | sh", "!a shell that reads its commands from standard input" },
	{ "curl e | bash -s -- x", "!a shell that reads its commands from standard input" },
	{ "diff <(a) <(b)", "diff ~<(a) ~<(b) | a | b" },
	{ "tee >(rm x)", "tee ~>(rm_x) | rm x" },
	{ "a 'b", "!unbalanced quote" },
	{ "a \"b", "!unbalanced quote" },
	{ "a $(b", "!unbalanced brackets" },
	{ "a `b", "!unbalanced backtick" },
	{ "a )", "!unbalanced )" },
	{ "(a", "!unbalanced brackets" },
	{ "a ${b", "!unbalanced bracket" },
	{ "((x = 1))", "((( (x_=_1)))" },
	{ "alias ls='rm -rf /'\nls", "!an alias" },
	{ "a ;; b", "!a case that is not understood" },
	{ "echo !(x)", "!brackets that are not understood" },
	{ "echo $((rm x) | cat)", "!a subshell directly inside $( )" },
	{ "sudo --weird x rm y", "sudo --weird x rm y" },
	{ "sudo --weird $x rm y", "!options of a command that runs another one" },
	{ "function f { rm x; }", "rm x" },
	{ "a <", "!a redirection without a target" },
};

static void put_word(struct buf *b, const struct shell_word *w)
{
	if (w->dynamic)
		buf_putc(b, '~');
	for (size_t i = 0; i < w->len; i++)
		buf_putc(b, w->text[i] == ' ' ? '_' : w->text[i]);
}

static void print(const struct shell *s, struct buf *b)
{
	if (s->opaque) {
		buf_printf(b, "!%s", s->why);
		return;
	}
	for (size_t i = 0; i < s->nr; i++) {
		const struct shell_part *p = &s->part[i];
		buf_puts(b, i ? " | " : "");
		buf_puts(b, p->flags & SHELL_LOOKED ? "(" : "");
		for (size_t k = 0; k < p->nr_words; k++) {
			buf_puts(b, k ? " " : "");
			put_word(b, &p->word[k]);
		}
		buf_puts(b, p->flags & SHELL_LOOKED ? ")" : "");
	}
}

static bool all_reach(const char *text)
{
	struct shell *s = shell_split(text, strlen(text));
	bool all = s->nr > 0 && !s->opaque;
	for (size_t i = 0; i < s->nr; i++)
		all = all && s->part[i].flags & SHELL_REACHES;
	shell_free(&s);
	return all;
}

static void limits(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	for (int i = 0; i < 70000; i++)
		buf_putc(&b, 'a');
	struct shell *s = shell_split(b.data, b.len);
	ok(s->opaque && !strcmp(s->why, "longer than 64 KiB"), "beyond 64 KiB is opaque");
	shell_free(&s);
	buf_reset(&b);
	for (int i = 0; i < 30000; i++)
		buf_puts(&b, "$(");
	s = shell_split(b.data, b.len);
	ok(s->opaque && !strcmp(s->why, "nested too deeply"), "deep nesting is opaque: %s", s->why);
	shell_free(&s);
	buf_reset(&b);
	for (int i = 0; i < 30000; i++)
		buf_puts(&b, "${");
	s = shell_split(b.data, b.len);
	ok(s->opaque, "of ${ as well: %s", s->why);
	shell_free(&s);
	buf_reset(&b);
	for (int i = 0; i < 64; i++)
		buf_puts(&b, "a;");
	s = shell_split(b.data, b.len);
	ok(s->opaque && !strcmp(s->why, "too many commands"), "too many commands are opaque");
	shell_free(&s);
	s = shell_split("a\0b", 3);
	ok(s->opaque, "a NUL byte is opaque");
	shell_free(&s);
}

static void argv(void)
{
	struct strv v = STRV_INIT;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	strv_push(&v, "git");
	strv_push(&v, "commit -m;");
	strv_push(&v, "$(rm x)");
	struct shell *s = shell_split_argv(&v);
	print(s, &b);
	is_str(buf_cstr(&b), "git commit_-m; $(rm_x)", "words that no shell reads are what they are");
	ok(!s->part[0].word[2].dynamic, "and known");
	shell_free(&s);
	strv_release(&v);
	v = STRV_INIT;
	strv_push(&v, "env");
	strv_push(&v, "bash");
	strv_push(&v, "-c");
	strv_push(&v, "a; b");
	s = shell_split_argv(&v);
	buf_reset(&b);
	print(s, &b);
	is_str(buf_cstr(&b), "(env bash -c a;_b) | (bash -c a;_b) | a | b", "but a shell among them is looked into");
	shell_free(&s);
	strv_release(&v);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		struct shell *s = shell_split(cases[i].text, strlen(cases[i].text));
		print(s, &b);
		char name[200];
		snprintf(name, sizeof(name), "%s", cases[i].text);
		for (char *c = name; *c; c++)
			*c = *c == '\n' ? '~' : *c == '#' ? '%' : *c;
		is_str(buf_cstr(&b), cases[i].want, name);
		shell_free(&s);
	}
	ok(all_reach("PATH=/tmp:$PATH make test"), "PATH before a command reaches what it means");
	ok(all_reach("export PATH=/tmp; make test"), "so does an export before it");
	ok(all_reach("env LD_PRELOAD=x make test"), "and env");
	ok(all_reach(". ./x; make test"), "and a file that is read in");
	ok(!all_reach("CFLAGS=-O2 make test"), "other variables do not");
	limits();
	argv();
	return done_testing();
}
