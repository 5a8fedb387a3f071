/* Merging back into repositories as they are in the world. Real git makes them and judges the result. */
#include "ws_merge.h"

#define REPO "mkdir repo; cd repo; git init -q -b main .; "
#define COMMIT "git add -A; git commit -qm base; "

static const struct {
	const char *name, *make, *dir, *edit, *host; /* host: what the user does meanwhile, in dir */
	enum merge_mode mode;
	const char *check; /* in dir, after the merge */
	const char *conflicts, *skipped; /* expected, "" = none */
} cases[] = {
	{ "apply: staged, no commit", REPO "seq 9 > f; echo k > keep; " COMMIT, "repo", "sed -i s/5/five/ f; echo n > new", "true",
	  MERGE_APPLY, "test \"$(git status --porcelain)\" = \"$(printf 'M  f\\nA  new')\"; grep -q five f; test $(git rev-list --count HEAD) = 1; git rev-parse -q --verify refs/sandglass/merge/00c0ffee", "", "" },
	{ "branch: nothing else moves", REPO "seq 9 > f; " COMMIT, "repo", "sed -i s/5/five/ f", "true", MERGE_BRANCH,
	  "test -z \"$(git status --porcelain)\"; grep -q 5 f; git show sandglass/00c0ffee:f | grep -q five; test $(git rev-list --count sandglass/00c0ffee) = 2", "", "" },
	{ "commits: the branch moves, files and index follow", REPO "seq 9 > f; " COMMIT, "repo", "sed -i s/5/five/ f; rm -f x; mkdir d; echo n > d/n", "true",
	  MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; grep -q five f; test $(git rev-list --count main) = 2; git log -1 --format=%s | grep -q 'What the agent did'; git fsck --strict", "", "" },
	{ "patch", REPO "seq 9 > f; " COMMIT, "repo", "sed -i s/5/five/ f", "true", MERGE_PATCH, "git apply --check ../out.patch; test -z \"$(git status --porcelain)\"", "", "" },
	{ "a worktree", REPO "seq 9 > f; " COMMIT "git worktree add -q ../wt -b side; ", "wt", "sed -i s/5/five/ f", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test $(git rev-list --count side) = 2; test $(git rev-list --count main) = 1; cd ../repo; test -z \"$(git status --porcelain)\"", "", "" },
	{ "a submodule as the target", "mkdir sub; cd sub; git init -q -b main .; echo s > s; " COMMIT "cd ..; " REPO "echo f > f; " COMMIT
	  "git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; ", "repo/sub", "echo more >> s", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test $(git rev-list --count HEAD) = 2; cd ..; git status --porcelain | grep -q ' M sub'", "", "" },
	{ "a submodule within the target", "mkdir sub; cd sub; git init -q -b main .; echo s > s; " COMMIT "cd ..; " REPO "echo f > f; " COMMIT
	  "git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; ", "repo", "echo more >> sub/s; echo x >> f", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test $(git rev-list --count HEAD) = 3; grep -q x f; grep -q more sub/s;"
	  "test $(git -C sub rev-list --count HEAD) = 2; test $(git rev-parse HEAD:sub) = $(git -C sub rev-parse HEAD)", "", "" },
	{ "a submodule within the target, to a branch", "mkdir sub; cd sub; git init -q -b main .; echo s > s; " COMMIT "cd ..; " REPO "echo f > f; " COMMIT
	  "git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; ", "repo", "echo more >> sub/s", "true",
	  MERGE_BRANCH, "test -z \"$(git status --porcelain)\"; b=sandglass/00c0ffee; test $(git rev-parse $b:sub) = $(git -C sub rev-parse $b);"
	  "git -C sub show $b:s | grep -q more; test $(cat sub/s) = s", "", "" },
	{ "a submodule that is not checked out", "mkdir sub; cd sub; git init -q -b main .; echo s > s; " COMMIT "cd ..; " REPO "echo f > f; " COMMIT
	  "git -c protocol.file.allow=always submodule --quiet add ../sub sub; git commit -qm sub; git submodule --quiet deinit -f sub; ", "repo", "echo more > sub/s; echo x >> f", "true",
	  MERGE_APPLY, "test ! -e sub/s; grep -q x f", "", "sub/s: it is in a submodule that is not checked out in the target; " },
	{ "a repository within the target", REPO "echo f > f; " COMMIT "mkdir in; cd in; git init -q -b main .; echo s > s; " COMMIT "cd ..; ", "repo", "echo more >> in/s; echo n > in/n; echo x >> f", "true",
	  MERGE_BRANCH, "b=sandglass/00c0ffee; git -C in show $b:s | grep -q more; git -C in show $b:n | grep -q n; test \"$(git ls-tree -r --name-only $b)\" = f; test $(cat in/s) = s", "", "" },
	{ "repositories side by side in a plain directory", "mkdir all; cd all; for r in a b; do git init -q -b main $r; echo f > $r/f; git -C $r add f; git -C $r commit -qm base; done; ", "all", "echo x >> a/f; echo y >> b/f; echo z > c", "true",
	  MERGE_APPLY, "grep -q x a/f; grep -q y b/f; grep -q z c; test \"$(git -C a status --porcelain)\" = 'M  f'", "", "" },
	{ "no commit yet, untracked files", "mkdir repo; cd repo; git init -q -b main .; seq 9 > f; echo a > a; git add a; ", "repo", "sed -i s/5/five/ f; echo b >> a; echo n > n", "true",
	  MERGE_COMMITS, "grep -q five f; git show main:f | grep -q five; git show main:a | grep -q b; test -z \"$(git status --porcelain)\"", "", "" },
	{ "no commit yet, to a branch", "mkdir repo; cd repo; git init -q -b main .; seq 9 > f; echo a > a; git add a; ", "repo", "sed -i s/5/five/ f; echo b >> a; rm -f x", "true",
	  MERGE_BRANCH, "b=sandglass/00c0ffee; git show $b:f | grep -q five; git show $b:a | grep -q b; ! git rev-parse -q --verify main; grep -qx 5 f", "", "" },
	{ "another version control's own files", REPO "mkdir .hg; echo st > .hg/dirstate; echo f > f; " COMMIT, "repo", "echo evil > .hg/hgrc; mkdir -p d/.SVN .jj; echo e > d/.SVN/x; echo e > .jj/config; echo x >> f", "true",
	  MERGE_APPLY, "test ! -e .hg/hgrc; test ! -e .jj/config; test ! -e d/.SVN/x; grep -q x f", "",
	  ".hg/hgrc: a version control system's own files are never merged; .jj: a version control system's own files are never merged; .jj/config: a version control system's own files are never merged; d/.SVN: a version control system's own files are never merged; d/.SVN/x: a version control system's own files are never merged; " },
	{ "modes follow the umask", REPO "echo f > f; " COMMIT, "repo", "umask 0; echo a > a; echo b > b; chmod 6777 b; mkdir d; chmod 777 d; echo c > c; chmod 600 c", "true",
	  MERGE_APPLY, "test \"$(stat -c %a a b d c | tr '\\n' ' ')\" = '644 755 755 600 '", "", "" },
	{ "an untracked file is removed", REPO "echo t > t; " COMMIT "echo mine > notes; ", "repo", "rm notes", "true", MERGE_APPLY, "test ! -e notes; test -z \"$(git status --porcelain)\"", "", "" },
	{ "an untracked file that the user has changed meanwhile", REPO "echo t > t; " COMMIT "seq 9 > notes; ", "repo", "sed -i s/2/two/ notes", "sed -i s/8/eight/ notes", MERGE_APPLY, "grep -qx 2 notes; grep -q eight notes",
	  "notes: untracked in the target, and changed there since the sandbox was opened; ", "" },
	{ "an untracked file, to a branch", REPO "echo t > t; " COMMIT "seq 9 > notes; ", "repo", "sed -i s/2/two/ notes", "true", MERGE_BRANCH,
	  "git show sandglass/00c0ffee:notes | grep -q two; grep -qx 2 notes; test \"$(git status --porcelain)\" = '?? notes'", "", "" },
	{ "a sparse checkout", REPO "mkdir in out; echo 1 > in/a; echo 2 > out/b; echo t > top; " COMMIT "git sparse-checkout set --cone in; ", "repo", "echo x >> in/a; echo n > in/n", "true",
	  MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; git show HEAD:out/b | grep -q 2; git show HEAD:in/a | grep -q x; test ! -e out", "", "" },
	{ "a sparse checkout, the box makes what is not checked out", REPO "mkdir in out; echo 1 > in/a; echo 2 > out/b; " COMMIT "git sparse-checkout set --cone in; ", "repo", "mkdir -p out; echo mine > out/b", "true",
	  MERGE_APPLY, "test ! -e out/b; git show HEAD:out/b | grep -q 2", "out/b: tracked by the target, but not checked out there; ", "" },
	{ "a sparse index", REPO "mkdir -p in out/x; echo 1 > in/a; echo 2 > out/x/b; " COMMIT "git sparse-checkout set --cone --sparse-index in; ", "repo", "echo x >> in/a", "true",
	  MERGE_BRANCH, "git show sandglass/00c0ffee:out/x/b | grep -q 2; git show sandglass/00c0ffee:in/a | grep -q x", "", "" },
	{ "a shallow clone", "mkdir origin; cd origin; git init -q -b main .; for i in 1 2 3; do echo $i > f; " COMMIT " done; cd ..; git clone -q --depth 1 file://$PWD/origin repo; ", "repo", "echo x >> f", "true",
	  MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; test $(git rev-list --count HEAD) = 2; git fsck", "", "" },
	{ "LFS pointers: only the working file", REPO "echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 3\\n' > a.bin; echo t > t; " COMMIT, "repo", "echo new > a.bin; echo x >> t", "true",
	  MERGE_APPLY, "test \"$(git diff --cached --name-only)\" = t; grep -q new a.bin; grep -q x t", "", "" },
	{ "a file of another encoding: only the working file", REPO "echo '*.u working-tree-encoding=UTF-16LE' > .gitattributes; echo t > t; " COMMIT, "repo", "printf 'n\\0\\n\\0' > n.u", "true",
	  MERGE_BRANCH, "test ! -e n.u; ! git rev-parse -q --verify sandglass/00c0ffee", "n.u: has another encoding in the working tree than in git, which isn't converted; only the working file can be merged; ", "" },
	{ "a locked directory: its owner can use it", REPO "echo 1 > f; " COMMIT, "repo", "mkdir -p d/e; echo n > d/e/n; chmod 000 d/e; chmod 500 d", "true",
	  MERGE_APPLY, "test \"$(stat -c %a d) $(stat -c %a d/e)\" = '700 700'; grep -q n d/e/n", "", "" },
	{ "LFS pointers cannot be committed", REPO "echo '*.bin filter=lfs' > .gitattributes; echo p > a.bin; " COMMIT, "repo", "echo new > a.bin", "true",
	  MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; grep -q p a.bin",
	  "a.bin: uses a filter program (such as LFS), which isn't run; only the working file can be merged; ", "" },
	{ "no repository at all", "mkdir plain; cd plain; seq 9 > f; echo k > keep; ", "plain", "sed -i s/5/five/ f; mkdir -p d/e; echo n > d/e/n; rm keep", "sed -i s/9/nine/ f",
	  MERGE_APPLY, "grep -q five f; grep -q nine f; grep -q n d/e/n; test ! -e keep; test ! -e .git", "", "" },
	{ "no repository at all: both changed the same line", "mkdir plain; cd plain; seq 9 > f; ", "plain", "sed -i s/5/five/ f", "sed -i s/5/FIVE/ f",
	  MERGE_APPLY, "grep -q FIVE f", "f: changed in the sandbox and in the target, at the same lines; ", "" },
	{ "a directory inside a monorepo", REPO "mkdir -p libs/a libs/b; echo a > libs/a/f; echo b > libs/b/f; " COMMIT, "repo/libs/a", "echo x >> f; echo n > n", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; git show HEAD:libs/a/f | grep -q x; git show HEAD:libs/a/n | grep -q n; git show HEAD:libs/b/f | grep -q b", "", "" },
	{ "CRLF by attribute", REPO "echo '* text eol=crlf' > .gitattributes; printf 'a\\r\\nb\\r\\nc\\r\\n' > f; " COMMIT, "repo", "printf 'a\\r\\nB\\r\\nc\\r\\n' > f", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test $(git diff --numstat HEAD~1 -- f | cut -f1) = 1; ! git cat-file blob HEAD:f | grep -q \"$(printf '\\r')\"; grep -q \"$(printf 'B\\r')\" f", "", "" },
	{ "CRLF as it is", REPO "printf 'a\\r\\nb\\r\\nc\\r\\nd\\r\\ne\\r\\nf\\r\\ng\\r\\n' > f; " COMMIT, "repo", "printf 'a\\r\\nB\\r\\nc\\r\\nd\\r\\ne\\r\\nf\\r\\ng\\r\\n' > f", "printf 'a\\r\\nb\\r\\nc\\r\\nd\\r\\ne\\r\\nf\\r\\nG\\r\\n' > f", MERGE_APPLY,
	  "printf 'a\\r\\nB\\r\\nc\\r\\nd\\r\\ne\\r\\nf\\r\\nG\\r\\n' | cmp - f", "", "" },
	{ "mixed line ends", REPO "printf 'a\\r\\nb\\nc\\r\\n' > f; " COMMIT, "repo", "printf 'a\\r\\nb\\nC\\n' > f", "true", MERGE_COMMITS, "printf 'a\\r\\nb\\nC\\n' | cmp - f; git cat-file blob HEAD:f | cmp - f", "", "" },
	{ "Latin-1", REPO "printf 'caf\\351\\nb\\nc\\nd\\ne\\n\\374\\n' > f; " COMMIT, "repo", "printf 'CAF\\311\\nb\\nc\\nd\\ne\\n\\374\\n' > f", "printf 'caf\\351\\nb\\nc\\nd\\ne\\n\\334\\n' > f", MERGE_APPLY,
	  "printf 'CAF\\311\\nb\\nc\\nd\\ne\\n\\334\\n' | cmp - f", "", "" },
	{ "no final newline", REPO "printf '1\\n2\\n3\\n4\\n5' > f; " COMMIT, "repo", "printf '1\\n2\\n3\\n4\\n5x' > f", "printf 'one\\n2\\n3\\n4\\n5' > f", MERGE_APPLY, "printf 'one\\n2\\n3\\n4\\n5x' | cmp - f", "", "" },
	{ "binaries", REPO "printf 'a\\0b' > f; printf 'q\\0' > gone; " COMMIT, "repo", "printf 'a\\0c' > f; printf '\\0\\1' > new; rm gone", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; printf 'a\\0c' | cmp - f; test ! -e gone; git cat-file blob HEAD:new | cmp - new", "", "" },
	{ "binaries changed on both sides", REPO "printf 'a\\0b' > f; " COMMIT, "repo", "printf 'a\\0c' > f", "printf 'x\\0b' > f", MERGE_APPLY, "printf 'x\\0b' | cmp - f",
	  "f: changed in the sandbox and in the target, at the same lines; ", "" },
	{ "mode changes", REPO "echo 1 > s.sh; echo 2 > t.sh; chmod +x t.sh; " COMMIT, "repo", "chmod +x s.sh; chmod -x t.sh; echo x >> t.sh", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test -x s.sh; test ! -x t.sh; git ls-tree HEAD s.sh | grep -q 100755", "", "" },
	{ "links", REPO "ln -s a l; echo a > a; " COMMIT, "repo", "ln -sf b l; ln -s a l2", "true", MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; test $(readlink l) = b; test $(readlink l2) = a", "", "" },
	{ "names with newlines", REPO "echo 1 > \"$(printf 'a\\nb')\"; " COMMIT, "repo", "echo x >> \"$(printf 'a\\nb')\"; echo n > \"$(printf 'c\\nd')\"", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; grep -q x \"$(printf 'a\\nb')\"; git cat-file blob \"HEAD:$(printf 'c\\nd')\" | grep -q n", "", "" },
	{ "names that are not UTF-8", REPO "echo 1 > \"$(printf '\\377')\"; " COMMIT, "repo", "echo x >> \"$(printf '\\377')\"; echo n > \"$(printf '\\376\\377')\"", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test $(git rev-list --count HEAD) = 2", "", "" },
	{ "a directory becomes a file, a file a directory", REPO "mkdir d; echo 1 > d/1; echo f > f; " COMMIT, "repo", "rm -r d f; echo d > d; mkdir f; echo x > f/x", "true", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; test -f d; test -f f/x", "", "" },
	{ "the user committed meanwhile", REPO "seq 9 > f; echo o > o; " COMMIT, "repo", "sed -i s/2/two/ f", "sed -i s/8/eight/ f; git commit -qam user", MERGE_COMMITS,
	  "test -z \"$(git status --porcelain)\"; grep -q two f; grep -q eight f; test $(git rev-list --count HEAD) = 3", "", "" },
	{ "the user has changes that are not committed", REPO "seq 9 > f; " COMMIT "sed -i s/8/eight/ f; ", "repo", "sed -i s/2/two/ f", "true", MERGE_COMMITS,
	  "test \"$(git status --porcelain)\" = ' M f'; git show HEAD:f | grep -q two; ! git show HEAD:f | grep -q eight; grep -q eight f; grep -q two f", "", "" },
	{ "the user has staged changes", REPO "seq 9 > f; " COMMIT "sed -i s/8/eight/ f; git add f; sed -i s/5/five/ f; ", "repo", "sed -i s/2/two/ f", "true", MERGE_APPLY,
	  "git diff --cached | grep -q '+two'; git diff --cached | grep -q '+eight'; ! git diff --cached | grep -q five; git diff | grep -q '+five'", "", "" },
	{ "ignored files are never touched", REPO "printf '*.log\\n/out/\\n' > .gitignore; echo t > t; " COMMIT "echo mine > x.log; echo mine > notes; ", "repo",
	  "echo agent > x.log; echo agent > notes; echo agent > y.log; mkdir out; echo o > out/o; echo x >> t", "true", MERGE_COMMITS,
	  "test \"$(cat x.log notes)\" = \"$(printf 'mine\\nagent')\"; test ! -e y.log; test ! -e out; grep -q x t", "",
	  "out: ignored by the target; out/o: ignored by the target; x.log: ignored by the target; y.log: ignored by the target; " },
	{ "an untracked file of the user with the name of a new one", REPO "echo t > t; " COMMIT, "repo", "echo agent > new", "echo user > new", MERGE_COMMITS, "grep -q user new",
	  "new: exists in the target with other content; ", "" },
	{ "removed here, changed there", REPO "echo t > t; echo u > u; " COMMIT, "repo", "rm t; echo x >> u", "echo y >> t; rm u", MERGE_APPLY, "grep -q y t; test ! -e u",
	  "t: removed in the sandbox, changed in the target; u: changed in the sandbox, removed in the target; ", "" },
	{ "what the box did to .git stays in the box", REPO "echo t > t; " COMMIT, "repo", "git config user.evil yes; echo x > .git/hooks/post-checkout; mkdir -p sub/.git; echo y > sub/.git/config; echo g > 'git~1'; echo x >> t", "true", MERGE_COMMITS,
	  "! git config user.evil; test ! -e .git/hooks/post-checkout; test ! -e sub/.git; test ! -e 'git~1'; grep -q x t", "",
	  ".git/config: git's own files are never merged; .git/hooks/post-checkout: git's own files are never merged; git~1: git's own files are never merged; sub/.git: git's own files are never merged; sub/.git/config: git's own files are never merged; " },
	{ "a link in the target where the box has a directory", REPO "mkdir d; echo 1 > d/f; " COMMIT, "repo", "echo x >> d/f", "mv d ../elsewhere; ln -s ../elsewhere d", MERGE_APPLY, "test $(cat ../elsewhere/f) = 1",
	  "d/f: a file or a link is in the way of a directory; ", "" },
	{ "no commit yet", "mkdir repo; cd repo; git init -q -b main .; ", "repo", "echo first > f", "true", MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; test $(git rev-list --count main) = 1", "", "" },
	{ "a detached HEAD", REPO "echo 1 > f; " COMMIT "git checkout -q --detach; ", "repo", "echo 2 > f", "true", MERGE_COMMITS, "test -z \"$(git status --porcelain)\"; test $(git rev-list --count HEAD) = 2; test $(git rev-list --count main) = 1", "", "" },
	{ "hooks and filters do not run", REPO "echo 1 > f; " COMMIT "for h in pre-commit post-commit post-checkout reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch ../../ran' > .git/hooks/$h; chmod +x .git/hooks/$h; done; git config core.fsmonitor \"touch $PWD/../ran; false\"; ", "repo", "echo 2 > f", "true", MERGE_COMMITS,
	  "test ! -e ../ran; grep -q 2 f", "", "" },
};

static void one(size_t i)
{
	struct merge_box m;
	struct merge_result r = { 0 };
	struct err err = ERR_INIT;
	struct buf got = BUF_INIT;
	bool good = merge_init(&m, cases[i].make, cases[i].dir, cases[i].edit) && sh_in(m.b.lower, "umask 022; %s", cases[i].host) == 0;
	char *patch = mem_printf("%s/out.patch", m.b.dir);
	m.o.mode = cases[i].mode;
	m.o.patch = patch;
	int rc = good ? merge_run(&m.o, &r, &err) : -1;
	ok(rc == 0, "%s", cases[i].name);
	if (rc < 0)
		printf("# %s\n", err.text);
	else {
		is_str(whys(r.body, 0, "conflicts", &got), cases[i].conflicts, "conflicts");
		is_str(whys(r.body, 0, "skipped", &got), cases[i].skipped, "never touched");
		ok(r.done == !*cases[i].conflicts, "done only when clean");
		ok(sh_in(m.b.lower, "%s", cases[i].check) == 0, "%s: as it should be", cases[i].name);
		merge_result_release(&r);
		if (!*cases[i].conflicts && cases[i].mode != MERGE_PATCH) {
			sh_in(m.b.dir, "cp -a '%s' second", m.b.lower);
			int again = merge_run(&m.o, &r, &err);
			if (again < 0 || !r.done)
				printf("# again: %s %s\n", again < 0 ? err.text : "", again < 0 ? "" : whys(r.body, 0, "conflicts", &got));
			ok(again == 0 && r.done &&
				   sh_in(m.b.dir, "diff -r --no-dereference -x .git '%s' second", m.b.lower) == 0 &&
				   sh_in(m.b.lower, "%s", cases[i].check) == 0,
			   "a second time changes nothing");
			merge_result_release(&r);
		}
	}
	free(patch);
	buf_release(&got);
	merge_end(&m);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (argc < 2 || strstr(cases[i].name, argv[1]))
			one(i);
	return done_testing();
}
