/* Branches of a sandbox: a merge that is killed at any step of bringing them leaves none, and the next one brings all. */
#include "sessions/sandbox_refs.h"

#include "../sandbox/ws_merge.h"

#define REPO "mkdir repo; cd repo; git init -q -b main .; "
#define COMMIT "git add -A; git commit -qm base; "
#define ON_F "git switch -qc f; echo f > f; git add f; git commit -qm f; git switch -q main; "
#define WORK ON_F "echo m > m; echo s >> g; git stash -q; echo t >> g"
#define NAMES "test \"$(git for-each-ref --format='%%(refname:short)' refs/heads | sort | paste -sd' ')\" = "

static struct sandbox_refs refs;
static struct sandbox_refs_at refs_at;

static bool refs_init(struct merge_box *m)
{
	struct err err = ERR_INIT;
	bool good = merge_init(m, REPO "echo g > g; " COMMIT, "repo", WORK) &&
		    sandbox_refs_read(&refs, &m->b.store, m->b.body, NULL, &err) == 0;
	refs_at = (struct sandbox_refs_at){ .refs = &refs, .dir = m->b.lower };
	m->o.mode = MERGE_BRANCH;
	m->o.branch = "mine";
	m->target.branches = sandbox_refs_at;
	m->target.branches_self = &refs_at;
	return good;
}

static void refs_end(struct merge_box *m)
{
	sandbox_refs_release(&refs);
	merge_end(m);
}

static void found(void)
{
	struct merge_box m;
	ok(refs_init(&m), "a sandbox with a branch and a stash");
	is_int((long long)refs.nr, 2, "both are found");
	ok(refs.nr == 2 && !strcmp(refs.item[0].name, "f") && refs.item[0].commits == 1 && !refs.item[0].why, "the branch");
	ok(refs.nr == 2 && !strcmp(refs.item[1].name, "stash") && !refs.item[1].why, "the stash");
	struct sandbox_refs rest;
	struct err err = ERR_INIT;
	char tip[41];
	json_t *merged = NULL;
	object_hex(&refs.item[0].tip, tip);
	json_t *body = json_pack("{s:[{s:s,s:s,s:[{s:s,s:s,s:s,s:s}]}]}", "targets", "repo", "", "dir", m.b.lower, "branches", "gitdir", ".git",
				 "name", "f", "tip", tip, "ref", "refs/heads/mine-f");
	sandbox_refs_see(&merged, body, "", m.b.lower);
	ok(sandbox_refs_read(&rest, &m.b.store, m.b.body, merged, &err) == 0 && rest.nr == 1 && !strcmp(rest.item[0].name, "stash"),
	   "a merged one doesn't count, so the next merge takes others");
	sandbox_refs_release(&rest);
	json_decref(merged);
	json_decref(body);
	refs_end(&m);
}

static void branches_killed(void)
{
	static const char *const where[] = { "merge-ref", "merge-branch:1", "merge-branch:2", "merge-record" };
	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
		struct merge_box m;
		struct merge_result r;
		struct err err = ERR_INIT;
		json_t *body = NULL;
		bool good = refs_init(&m);
		setenv("FAILPOINT", where[i], 1);
		ok(good && merge_run(&m.o, &r, &err) == -1, "the child dies at %s", where[i]);
		unsetenv("FAILPOINT");
		ok(sh_in(m.b.lower, NAMES "main && git fsck --strict 2>&1") == 0, "no branch stays");
		err = ERR_INIT;
		ok(merge_run(&m.o, &r, &err) == 0 && r.done, "a second try");
		merge_result_release(&r);
		ok(sh_in(m.b.lower, NAMES "'main mine mine-f mine-stash'") == 0, "brings all");
		is_int(merge_undo(&m.o, &body, &err), 0, "undone");
		json_decref(body);
		ok(sh_in(m.b.lower, NAMES "main") == 0, "all are gone");
		refs_end(&m);
	}
}

/* 3000 branches, each with 60 commits of 2 MB that are a few KB as files. */
#define MANY                                                                                                                   \
	ON_F "p=$(git rev-parse f); t=$(git rev-parse f^{tree}); for i in $(seq 60); do p=$({ echo \"tree $t\"; echo \"parent $p\"; "   \
	     "echo 'author a <a> 1 +0000'; echo 'committer a <a> 1 +0000'; echo; head -c 2000000 /dev/zero | tr '\\0' x; } | "        \
	     "git hash-object -w -t commit --stdin); done; "                                                                      \
	     "seq -f \"$p refs/heads/b%.0f\" 3000 > .git/packed-refs"

static void branches_many(void)
{
	struct merge_box m;
	struct err err = ERR_INIT;
	size_t good = 0, large = 0, others = 0;
	ok(merge_init(&m, REPO "echo g > g; " COMMIT, "repo", MANY) &&
		   sandbox_refs_read(&refs, &m.b.store, m.b.body, NULL, &err) == 0,
	   "a sandbox with very many branches");
	for (size_t i = 0; i < refs.nr; i++) {
		good += !refs.item[i].why && refs.item[i].commits == 61;
		large += refs.item[i].why && *refs.item[i].name == 'b';
		others += refs.item[i].why && *refs.item[i].name == '(';
	}
	ok(refs.nr == 1001 && others == 1, "the first 1000 have names, and one entry counts for the others");
	ok(good >= 1 && large > 900, "those that take too long to read are left with a reason");
	sandbox_refs_release(&refs);
	merge_end(&m);
}

/* The only file that names the branch is larger than a recording keeps. */
#define PACKED                                                                                                                 \
	ON_F "h=$(git rev-parse f); rm .git/refs/heads/f; "                                                                       \
	     "{ seq -f \"$(git rev-parse main) refs/heads/b%.0f\" 300000; echo \"$h refs/heads/f\"; } > .git/packed-refs"

static void refs_unread(void)
{
	struct merge_box m;
	struct err err = ERR_INIT;
	ok(merge_init(&m, REPO "echo g > g; " COMMIT, "repo", PACKED) &&
		   sandbox_refs_read(&refs, &m.b.store, m.b.body, NULL, &err) == 0,
	   "a sandbox with a very large packed-refs");
	ok(refs.nr == 1 && refs.item[0].why, "its branches are not merged, with a reason");
	sandbox_refs_release(&refs);
	merge_end(&m);
}

int main(void)
{
	found();
	refs_unread();
	branches_killed();
	branches_many();
	return done_testing();
}
