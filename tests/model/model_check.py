"""Carries out a case's merges and undos, and compares the results with those of the oracle."""
import base64, os, traceback

from model_case import KEPT, Case
from model_git import contents, git, head_commit, read_tree, repo_state, sh, tree_of
from model_oracle import Merge
from model_race import Watch, Writer


def name_of(v):
    v = v["path"] if isinstance(v, dict) and "path" in v else v
    return base64.b64decode(v["b64"]) if isinstance(v, dict) else v.encode()


class Checked(Case):
    """@fault: plants one (model_faults.py); None: none."""

    def __init__(self, seed, top, config, fault=None):
        self.ignores, self.stack, self.fault, self.undone = {}, [], fault, 0
        super().__init__(seed, top, config)

    def bad(self, text, *args):
        self.notes.append(text % args if args else text)

    def repos(self):
        outer = [] if self.layout == "none" else [os.path.dirname(self.dir) if self.layout == "subdir" else self.dir]
        return outer + ([self.sub] if self.sub else [])

    def owner(self, p):
        """Repository and path in it; None: there is none."""
        if self.inside(p):
            return self.sub, p[4:]
        if self.layout == "subdir":
            return os.path.dirname(self.dir), b"pkg/" + p
        return None if self.layout == "none" else self.dir, p

    def all_state(self):
        return read_tree(self.dir), {x: repo_state(x) for x in self.repos()}

    # --- the plan -----------------------------------------------------------------------------------------------------

    def run(self, session):
        if self.live:
            for i in range(len(self.scripts)):
                why = session.wait_ask("s%d %d" % (self.seed, i + 1))
                if why:
                    raise RuntimeError("the work failed: " + why)
                try:
                    if not self.found():
                        self.turn(session, i)
                except Exception:  # the script waits, and so would every later case
                    self.bad("%s", traceback.format_exc())
                session.go_on()
        else:
            self.turn(session, 0)

    def found(self):
        return self.notes or self.fault and self.fault.planted

    def turn(self, session, i):
        """The merges after the i-th work."""
        self.session = session
        if self.live and self.plan == "once" and not self.fault and self.apart.random() < 0.3 and self.race():
            return
        if i == 0:  # files that the first work left alone show through: the second one would start from the user's version
            again = self.plan == "more"
            self.drift(only={p for p in self.base if self.base[p] != self.wants[0].get(p)} if again else None)
        elif self.r.random() < 0.5:
            self.drift(0.03)
        if self.plan == "more" and i == 0:
            self.merge(0, None)
            return
        if self.plan in ("part", "part-undo"):
            if self.merge(0, self.pick()) and self.plan == "part-undo":
                self.undo()
        elif self.plan == "again":
            self.merge(0, None)
        some = self.r.random() < 0.3
        self.merge(1, self.pick() if i and some else None)
        self.check_fsck()
        stays = max(0, len(self.stack) - 1) if self.r.random() < 0.4 else 0
        while len(self.stack) > stays and not self.found():
            self.undo()

    def race(self):
        """Another process writes a file again and again while it is merged and undone; False: no file is fit for that."""
        host, want = contents(read_tree(self.dir)), self.wants[0]
        fit = [p for p in sorted(self.base) if want.get(p, ("",))[0] == "f" == host.get(p, ("",))[0] and want[p] != self.base[p] and p not in KEPT
               and not self.inside(p) and b"\0" not in host[p][1] + want[p][1]]
        if not fit:
            return False
        p, pause = self.apart.choice(fit), self.apart.choice([None, 0.001, 0.01, 0.03])
        before, _ = self.all_state()
        m = Merge(self, want, "apply", {}, before, None)
        watch = Watch(os.path.join(self.dir, p))
        with Writer(os.path.join(self.dir, p), os.path.join(self.top, b"writing"), host[p][1], pause) as w:
            result, error = self.session.merge(self, "apply", None, None, True)
        written = watch.written_before_read()
        self.outcome.append("%s beside %d writes" % ("refused" if error else "merged", w.writes))
        expect = {} if error else {q: v for q, (c, v, _) in m.expect.items() if c == "merged"}
        self.check_race(p, w, before, expect)
        if not error:
            named = [name_of(v) for t in result["targets"] for v in t.get("changed_since", [])]
            if named != ([p] if written else []):
                self.bad("%r was%s written before it was read back; the result names %r", p, "" if written else " not", named)
            self.outcome[-1] += ", named" if named else ""
            with Writer(os.path.join(self.dir, p), os.path.join(self.top, b"writing"), host[p][1], pause) as w:
                error = self.session.undo(None, True)
            if error:
                self.bad("undo: %s", error)
            self.check_race(p, w, before, {})
        return True

    def check_race(self, p, w, before, expect):
        """The writer's last version is there, or its lines are; all other files are as expected."""
        want, after = contents(before), contents(read_tree(self.dir))
        want.update(expect)
        if w.last not in after.get(p, ("", b""))[1]:
            self.bad("the last write of %r is lost: %r", p, after.get(p))
        for q in sorted((set(want) | set(after)) - {p}):
            if want.get(q) != after.get(q):
                self.bad("beside a writer of %r, %r is %r, expected %r", p, q, after.get(q), want.get(q))

    def pick(self):
        """Some of the changed paths, by the first part of their names."""
        want = self.wants[0] if len(self.scripts) == 1 or not self.stack else self.wants[-1]
        tops = sorted({p.split(b"/")[0] for p in set(self.base) | set(want) if self.base.get(p) != want.get(p)})
        tops = [x for x in tops if x not in (b".hg", b".svn", b".git")]
        got = set(self.r.sample(tops, self.r.randrange(1, len(tops) + 1))) if tops else set()
        return {p for p in set(self.base) | set(want) if self.base.get(p) != want.get(p) and p.split(b"/")[0] in got} or None

    # --- one merge ----------------------------------------------------------------------------------------------------

    def standing(self, here):
        """path -> content that merges have brought and that were not undone; @here: to the working files."""
        out = {}
        for s in self.stack:
            if s["here"] or not here:
                out.update(s["brought"])
        return out

    def want_now(self, i):
        return self.wants[-1] if self.plan == "more" and i > 0 else self.wants[0]

    def merge(self, i, picked, again=True):
        if self.found():
            return False
        mode, branch = self.modes[i], "work/%d-%d%s" % (self.seed, i, "" if again else "-rest")
        before, git_before = self.all_state()
        self.before_head = {x: head_commit(x) for x in self.repos()}
        m = Merge(self, self.want_now(i), mode, self.standing(True), before, picked)
        paths = None if picked is None else [escaped(p) for p in sorted(picked)]
        result, error = self.session.merge(self, mode, branch, paths, self.live)
        bad = m.conflicts()
        if error and picked and "Directory not empty" in error:
            bad |= {p for p in m.expect if any(x.startswith(p + b"/") for x in before)}  # a directory that wasn't asked for is in the way
        if not m.expect and error:
            self.outcome.append("nothing to merge")
            return False
        if bad or error:
            if not error:
                self.bad("no conflict reported for %r", sorted(bad))
            elif not bad:
                self.bad("unexpected failure: %s", error)
            self.outcome.append("%d conflicts" % len(bad))
            if self.fault:
                self.fault.failed(self)
            if self.all_state() != (before, git_before):
                self.bad("a failed merge changed something")
            rest = {p for p in m.expect if p.split(b"/")[0] not in {x.split(b"/")[0] for x in bad} and p[:4] not in (b".hg/", b".svn"[:4])}
            return bool(again and bad and rest and not self.notes) and self.merge(i, rest if picked is None else rest & picked or None, False)
        if self.fault:
            result = self.fault.merged(self, m, result, branch)
        self.outcome.append("%d %s" % (sum(c != "left" for c, _, _ in m.expect.values()), "of %d" % len(m.expect) if picked else "changes"))
        after, git_after = self.all_state()
        self.stack.append({"here": mode != "branch", "brought": m.brought(), "event": result["event"], "before": (before, git_before), "after": (after, git_after)})
        self.check_classes(result, m)
        self.check_rest(result, m)
        self.check_host(before, after, m)
        if mode != "apply":
            self.check_commits(m, branch, git_before, git_after)
        if self.fault:
            self.check_fsck()
        return True

    def check_fsck(self):
        for repo in self.repos():
            f = sh(["git", "fsck", "--strict", "--no-dangling", "--no-progress"], cwd=repo, check=False)
            if f.returncode:
                self.bad("git fsck: %s", f.stderr.decode("utf-8", "replace"))

    def check_classes(self, result, m):
        seen = {}
        for c, paths in result.get("paths", {}).items():
            own = [p for p in map(name_of, paths) if b".git" not in p.split(b"/")]
            for p in own:
                if p in seen:
                    self.bad("%r is %s and %s", p, seen[p], c)
                seen[p] = c
            if result["counts"][c] != len(paths):
                self.bad("%d %s are counted, %d are named", result["counts"][c], c, len(paths))
        if any(t.get("changed_since") for t in result["targets"]):
            self.bad("nobody wrote meanwhile, but the result names %r", [t.get("changed_since") for t in result["targets"]])
        for c, n in result["counts"].items():
            if n and c not in result["paths"]:
                self.bad("%d %s are counted, none is named", n, c)
        for p in [p for p, c in seen.items() if p not in m.expect and c in ("identical", "left") and p in m.base and m.base[p] == m.want.get(p)]:
            del seen[p]  # only its permissions were changed
        for p in [p for p in m.expect if p not in seen and p not in m.host and m.want.get(p) is None]:
            seen[p] = m.expect[p][0]  # the user has removed it as well: not a change
        if set(seen) != set(m.expect):
            self.bad("classes miss %r, have %r too many", sorted(set(m.expect) - set(seen)), sorted(set(seen) - set(m.expect)))
        for p, c in seen.items():
            want, value, _ = m.expect.get(p, ("?", None, None))
            same = {"merged", "identical"} | ({"conflict"} if m.mode == "branch" else set())
            alike = c in same and want in same and (m.mode != "apply" or value == m.host.get(p))
            if c != want and not alike:
                self.bad("%r is %s, expected %s", p, c, want)

    def check_rest(self, result, m):
        """Unmerged: exactly the work that no standing merge has brought."""
        rest, had = {name_of(v) for v in result["unmerged"]["paths"]}, self.standing(False)
        if result["unmerged"]["files"] != len(result["unmerged"]["paths"]):
            self.bad("%d files are not merged, %d are named", result["unmerged"]["files"], len(result["unmerged"]["paths"]))
        for p in sorted(set(m.want) | set(m.base) | rest):
            if p.startswith((b".hg/", b".svn/")) or b".git" in p.split(b"/") or self.ignores.get(p):
                continue  # ignored files are often kept by hash only
            done = had[p] == m.want.get(p) if p in had else m.base.get(p) == m.want.get(p)
            if done == (p in rest):
                self.bad("%r is %s", p, "merged, and listed as not merged" if done else "not merged, and not listed so")

    def check_host(self, before, after, m):
        want, is_ = contents(before), contents(after)
        for p, (c, v, _) in m.expect.items():
            if m.mode != "branch" and c == "merged":
                if v is None:
                    want.pop(p, None)
                else:
                    want[p] = v
        for p in sorted(set(want) | set(is_)):
            if want.get(p) != is_.get(p):
                self.bad("on the host %r is %r, expected %r", p, is_.get(p), want.get(p))
        for p, v in after.items():
            if v[0] == "f" and (v[3] & 0o7002):
                self.bad("%r has mode %o", p, v[3])
            was = before.get(p)
            if was and v[0] == "f" == was[0] and v[3] != was[3] and m.expect.get(p, ("",))[0] != "merged":
                self.bad("%r has mode %o, had %o", p, v[3], was[3])

    def check_commits(self, m, branch, git_before, git_after):
        for repo in self.repos():
            tip = head_commit(repo) if m.mode == "commits" else git_after[repo][1].get(b"refs/heads/" + branch.encode())
            want = dict(m.heads[repo])
            for p, (c, _, t) in m.expect.items():
                where, rel = self.owner(p)
                if where != repo or t is None:
                    continue
                if t[1] is None:
                    want.pop(rel, None)
                else:
                    want[rel] = t[1]
            if not tip:
                if want != m.heads[repo]:
                    self.bad("%r has no %s", repo, branch)
                continue
            is_ = tree_of(repo, tip)
            if self.sub and self.layout == "submodule" and repo != self.sub:
                sub = head_commit(self.sub) if m.mode == "commits" else git_after[self.sub][1].get(b"refs/heads/" + branch.encode())
                if sub and b"lib" in want and sub != (git_before[self.sub][1].get(b"refs/heads/main") or sub):
                    want[b"lib"] = ("160000", sub)
                elif b"lib" in want and is_.get(b"lib") == ("160000", sub):
                    want[b"lib"] = is_[b"lib"]
            for p in sorted(set(want) | set(is_)):
                if want.get(p) != is_.get(p):
                    self.bad("in %s of %r %r is %r, expected %r", tip, repo, p, is_.get(p), want.get(p))
            for other, value in git_before[repo][1].items():
                if m.mode == "branch" and git_after[repo][1].get(other) != value:
                    self.bad("%r of %r has moved", other, repo)

    # --- undo ---------------------------------------------------------------------------------------------------------

    def undo(self):
        last = self.stack.pop()
        now, git_now = self.all_state()
        error = self.session.undo(last["event"] if self.undone else None, self.live)
        self.undone += 1
        if error:
            self.bad("undo: %s", error)
            return
        if self.fault:
            self.fault.undone(self)
        after, git_after = self.all_state()
        alone = (now, git_now) == last["after"]
        for p in sorted(set(now) | set(after) | set(last["before"][0])):
            was, made, have = (x.get(p) for x in (last["before"][0], last["after"][0], now))
            want = was if have == made else have
            if want != after.get(p) and (alone or "d" not in {x[0] for x in (was, made, have, after.get(p)) if x}):
                self.bad("after undo %r is %r, expected %r", p, after.get(p), want)
        if alone and git_after != last["before"][1]:
            for x in git_after:
                if git_after[x] != last["before"][1][x]:
                    self.bad("after undo git says %r", git_difference(last["before"][1][x], git_after[x]))

    def __str__(self):
        return "seed %d: %s, %s, %s, %s%s, %s" % (self.seed, self.layout, self.config or "no configuration", self.plan, "/".join(self.modes[:2]),
                                                 "" if self.live else ", after the end", "; ".join(self.outcome) or "nothing to merge")


def git_difference(was, now):
    parts = lambda v: {(b"HEAD", v[0])} | set(v[1].items()) | {(b"index", x) for x in v[2].split(b"\0") if x}
    return {"more": sorted(parts(now) - parts(was)), "missing": sorted(parts(was) - parts(now))}


def escaped(p):
    return b"".join(b"\\" + bytes([c]) if c in b"*?[\\" else bytes([c]) for c in p)
