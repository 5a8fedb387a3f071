"""The contents of the host and of commits after a merge, by the rules of sandbox/workspace/merge.h; real git merges lines, filters
contents, and knows what is ignored."""
import os

from model_case import above
from model_git import blob, blob_id, contents, head_commit, sh, staged, tree_of


class Merge:
    """What one merge must do. @expect: path -> (class, content on the host, (ok, entry of a commit) or None)."""

    def __init__(self, case, want, mode, had, before, picked):
        self.case, self.want, self.mode, self.had = case, want, mode, had
        self.base, self.host = case.base, contents(before)
        self.expect, self.heads, tracked = {}, {}, {}
        self.repos = case.repos()
        for repo in self.repos:
            self.heads[repo] = tree_of(repo, head_commit(repo))
            tracked[repo] = {x.split(b"\t", 1)[1] for x in staged(repo).split(b"\0")[:-1]} | set(self.heads[repo])
        changed = set(p for p in set(self.base) | set(want) if self.base.get(p) != want.get(p))
        back = {p for p, v in had.items() if p not in changed and v != self.base.get(p)}
        if mode == "branch":  # only what is in the way
            back = {p for p in back if any(q.startswith(p + b"/") for q in changed)}
        self.changed = sorted(changed | back)
        self.goes = {p for p in self.changed if (picked is None or p in picked) and p not in want}
        ignored = self.ignored()
        for p in self.changed:
            if picked is not None and p not in picked:
                self.expect[p] = ("left", self.host.get(p), None)
                continue
            base = had[p] if p in back else self.base.get(p)
            self.expect[p] = self.one(p, base, want.get(p), tracked, ignored, picked is not None)

    def ignored(self):
        known = self.case.ignores
        for repo in self.repos:
            ask = [p for p in self.changed if self.case.owner(p)[0] == repo and p not in known]
            if ask:
                got = sh(["git", "check-ignore", "-z", "--no-index", "--stdin"], cwd=repo, check=False,
                         stdin=b"".join(self.case.owner(p)[1] + b"\0" for p in ask)).stdout.split(b"\0")
                known.update({p: self.case.owner(p)[1] in got for p in ask})
        return known

    def one(self, p, b, w, tracked, ignored, asked):
        host, had = self.host, self.had
        h = host.get(p)
        repo, rel = self.case.owner(p)
        if p.startswith((b".hg/", b".svn/")):
            return "refused", h, None
        known = repo is None or rel in tracked[repo]
        if not known and ignored.get(p) and not asked:
            return ("ignored", h, None)
        if not self.case.live and w is not None and w[0] == "f" and ignored.get(p) and not known:
            return "hash_only", h, None  # the recording has no more of it
        in_way = any(x in host and not ((x in self.base or x in had) and x in self.goes) for x in above(p))
        below = w is not None and any(x.startswith(p + b"/") and x not in self.goes for x in host)
        below = below or w is not None and (any(x.startswith(p + b"/") for x in host) and not any(x.startswith(p + b"/") for x in self.base))
        if h == w:
            file = "identical", h
        elif in_way or below:
            file = "conflict", h
        elif known and repo is not None and h is None and b is None:
            file = "conflict", h  # not checked out
        elif b is not None and not known and h is not None and not (p in had and h == had[p]) and h != b:
            file = "conflict", h
        elif h == b or p in had and h == had[p]:
            file = "merged", w
        elif None not in (b, w, h) and b[0] == w[0] == h[0] == "f":
            lines = self.onto(b[1], had.get(p), h[1], w[1])
            file = ("conflict", h) if lines is None else ("merged", ("f", lines, w[2] if w[2] != b[2] or p in had and had[p] and had[p][2] == h[2] else h[2]))
        else:
            file = "conflict", h
        return file[0], file[1], None if self.mode == "apply" else self.commit_of(p, repo, rel, b, w, h)

    def onto(self, b, had, h, w):
        """By lines; what an earlier merge brought counts as the base where the host still has all of it."""
        if had is not None and had[0] == "f" and self.three(b, h, had[1]) == h:
            b = had[1]
        return self.three(b, h, w)

    def three(self, base, ours, theirs):
        """git merge-file: the lines, or None for a conflict."""
        if b"\0" in base[:8000] + ours[:8000] + theirs[:8000]:
            return None
        if ours == theirs or base == theirs:
            return ours
        if base == ours:
            return theirs
        names = []
        for i, data in enumerate((ours, base, theirs)):
            names.append(os.path.join(self.case.top, b"m%d" % i))
            with open(names[-1], "wb") as f:
                f.write(data)
        r = sh(["git", "merge-file", "-p", *names], check=False)
        return r.stdout if r.returncode == 0 else None

    def stored(self, repo, rel, v):
        """Mode, name and content as git keeps them."""
        if v is None:
            return None
        if v[0] == "l":
            return "120000", blob_id(v[1]), v[1]
        mode, data = "100755" if v[2] else "100644", v[1]
        if b"\r" not in data:
            return mode, blob_id(data), data
        oid = sh(["git", "hash-object", "-w", "--stdin", "--path", rel], cwd=repo, stdin=data).stdout.strip()
        return mode, oid, blob(repo, oid)

    def commit_of(self, p, repo, rel, b, w, h):
        """(ok, entry) that a commit on HEAD has of it."""
        head = self.heads[repo].get(rel)
        sw, sb = self.stored(repo, rel, w), self.stored(repo, rel, b)
        if sw is not None and head is None and self.tree_blocked(p, repo):
            return False, None
        if sw is None and head is None or sw is not None and head is not None and sw[:2] == head:
            return True, head
        if (sb is None) == (head is None) and (sb is None or sb[:2] == head):
            return True, sw[:2] if sw else None
        if head is None and b is not None and h is not None:
            return True, sw[:2] if sw else None
        sh_ = self.stored(repo, rel, self.had[p]) if p in self.had else None
        if p in self.had and (sh_[:2] if sh_ else None) == head:
            return True, sw[:2] if sw else None
        if None in (sw, sb, head) or not all(x[0].startswith("100") for x in (sw, sb, head)):
            return False, head
        lines = self.onto(sb[2], ("f", sh_[2]) if sh_ and sh_[0].startswith("100") else None, blob(repo, head[1]), sw[2])
        return (False, head) if lines is None else (True, (sw[0] if sw[0] != sb[0] or sh_ and sh_[0] == head[0] else head[0], blob_id(lines)))

    def tree_blocked(self, p, repo):
        """HEAD has a file where @p needs a directory, or the other way round, and the sandbox didn't remove it."""
        here = {q: r for q, r in ((q, self.case.owner(q)) for q in (*above(p), *self.changed)) if r[0] == repo}
        if any(here[x][1] in self.heads[repo] and x not in self.goes for x in above(p) if x in here):
            return True
        top = self.case.owner(p)[1] + b"/"
        gone = {here[x][1] for x in self.goes if x in here}
        return any(x.startswith(top) and x not in gone for x in self.heads[repo])

    def conflicts(self):
        files = self.mode != "branch"
        return {p for p, (c, _, t) in self.expect.items()
                if c not in ("refused", "ignored", "left") and (files and c == "conflict" or self.mode != "apply" and t is not None and not t[0])}

    def brought(self):
        """path -> content, of all that the merge has brought or found."""
        return {p: self.want.get(p) for p, (c, _, _) in self.expect.items() if c in ("merged", "identical") or
                self.mode == "branch" and c == "conflict"}
