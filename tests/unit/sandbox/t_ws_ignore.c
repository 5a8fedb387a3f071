/* Ignored files of a repository: each answer is compared with git check-ignore. */
#include "sandbox/workspace/ignore.h"

#include "ws_box.h"

static const struct {
	const char *pattern, *text;
	bool want;
} globs[] = {
	{ "a", "a", true },	   { "a", "b", false },	     { "a*", "abc", true },	 { "a*c", "abbbc", true },
	{ "a*c", "ab/c", false },  { "a?c", "abc", true },   { "a?c", "a/c", false },	 { "[a-c]x", "bx", true },
	{ "[!a-c]x", "bx", false }, { "[]]", "]", true },    { "\\*", "*", true },	 { "\\*", "a", false },
	{ "**/a", "a", true },	   { "**/a", "x/y/a", true }, { "**/a", "xa", false },	 { "a/**", "a/b/c", true },
	{ "a/**", "a", false },	   { "a/**/b", "a/b", true }, { "a/**/b", "a/x/y/b", true }, { "a/**/b", "a/xb", false },
	{ "a**b", "axxb", true },  { "a**b", "a/b", false }, { "[", "[", false },	 { "**", "a/b", true },
	{ "*", "", true },	   { "", "", true },	     { "**/**/**/**/x", "a/b/c/d/e/f", false },
	{ "***********a", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbb", false },
};

static const char rules[] =
	"*.o\n/build/\nout\n!keep.o\ndoc/*.txt\n**/tmp\nlog/**\na/**/z\n\\#x\n\\!y\ntrail  \nesc\\ \n# comment\n\n*.[ch]x\nsub/dir/\nno/\n!no/way\ncr\r\n";

static const char *const paths[] = {
	"a.o",	     "x/a.o",	"keep.o",   "x/keep.o", "build/x", "x/build/y", "build",   "out",      "x/out/y", "doc/a.txt",
	"doc/b/a.txt", "tmp",	"q/tmp/z",  "log/a",	"log/a/b", "log",	"a/z",	   "a/b/z",    "a/b/c/z", "b/a/z",
	"#x",	     "!y",	"trail",    "esc ",	"a.cx",	   "a.dx",	"sub/dir/f", "sub/dir2/f", "no/way",  "no/x",
	"cr",	     "sub/own", "sub/x.o",  "nested/deep/f.log", "nested/f.log", "tracked.o", "日本語.o",
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(globs); i++)
		ok(ignore_glob(globs[i].pattern, strlen(globs[i].pattern), globs[i].text, strlen(globs[i].text)) == globs[i].want,
		   "'%s' against '%s'", globs[i].pattern, globs[i].text);
	struct ws_box b;
	struct err err = ERR_INIT;
	if (!box_init(&b, true))
		return 1;
	char *file = mem_printf("%s/.gitignore", b.lower), *list = mem_printf("%s/list", b.dir), *got = mem_printf("%s/got", b.dir);
	struct buf out = BUF_INIT, in = BUF_INIT;
	ok(file_write_atomic(file, rules, sizeof(rules) - 1, 0644, &err) == 0, "rules");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		buf_append(&in, paths[i], strlen(paths[i]) + 1);
	ok(file_write_atomic(list, in.data, in.len, 0644, &err) == 0, "paths");
	sh_in(b.lower, "git init -q .; mkdir -p sub nested/deep build out log; echo '!*.o' > sub/.gitignore; echo own >> sub/.gitignore; echo '*.log' > nested/.gitignore;"
			"echo '!deep/f.log' >> nested/.gitignore; echo t > tracked.o; git add -f tracked.o; echo excluded > .git/info/exclude;"
			"git check-ignore -z --stdin --no-index < ../list > ../got || true");
	ok(file_read(got, &out, 1 << 20, &err) == 0 && out.len > 0, "git's answers");
	CLEANUP(fd_close) int lower = open(b.lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct ignore *ig = ignore_new(lower, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		char *full = mem_printf("%s/%s", b.lower, paths[i]);
		struct stat st;
		bool dir = stat(full, &st) == 0 && S_ISDIR(st.st_mode), git = false;
		for (size_t at = 0; at < out.len; at += strlen(out.data + at) + 1)
			git |= !strcmp(out.data + at, paths[i]);
		ok(ignore_covers(ig, paths[i], strlen(paths[i]), dir) == git, "'%s' is %signored, as git says", paths[i], git ? "" : "not ");
		free(full);
	}
	ok(ignore_covers(ig, "excluded", 8, false), "info/exclude counts");
	ok(ignore_tracked(ig, "tracked.o", 9) && !ignore_tracked(ig, "a.o", 3), "the index gives the tracked files");
	ignore_free(&ig);
	sh_in(b.lower, "for i in $(seq 50); do echo $i > file-$i.o; mkdir -p d$i; echo $i > d$i/f; done; git add -f .; git update-index --index-version 4");
	ig = ignore_new(lower, NULL, 0);
	ok(ignore_tracked(ig, "file-33.o", 9) && ignore_tracked(ig, "d7/f", 4) && !ignore_tracked(ig, "d7/g", 4), "also from an index of version 4");
	ignore_free(&ig);
	buf_release(&in);
	buf_release(&out);
	free(file);
	free(list);
	free(got);
	box_end(&b);
	return done_testing();
}
