#!/usr/bin/env python3
"""A model of merging: random repositories, random work in a sandbox, random changes on the host meanwhile, one merge, one undo.

    merge_model.py [--seed N] [--count N] [--keep]      (SANDGLASS: the program)

Real git is the oracle: for lines (git merge-file), for what is stored (git hash-object), for what is ignored. Checked of every merge:
each changed file is in exactly one class; the host and the commit hold what the classes promise; nothing else has changed; git fsck is
clean; undo restores every byte. Prints TAP, one line for each seed; `--seed N --count 1 --keep` replays one and keeps its files.
"""
import argparse, base64, hashlib, json, os, random, shutil, stat, subprocess, sys, tempfile, traceback

SG = os.environ["SANDGLASS"]
BATCH = 25
NAMES = [b"a.txt", b"b.txt", b"src/c.c", b"src/deep/d.h", b"e e.md", b"caf\xc3\xa9", b"f\xff.bin", b"new\nline", b"-dash", b"q'uote\"", b"g.txt",
         b"h/i/j", b"k$x", b"l;m", b"tab\there"]
FRESH = [b"n1", b"src/n2.c", b"n dir/n3", b"n\xfe4", b"deep/er/n5", b"n\n6"]
ENV = {}


def sh(cmd, cwd=None, check=True, stdin=b"", env=None):
    r = subprocess.run(cmd, cwd=cwd, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env or ENV)
    if check and r.returncode != 0:
        raise RuntimeError("%r in %r: %s" % (cmd, cwd, r.stderr.decode("utf-8", "replace")))
    return r


def git(cwd, *args, **kw):
    return sh(["git", *args], cwd=cwd, **kw).stdout


def text(r, lines=12):
    return b"".join(b"line %d %d\n" % (i, r.randrange(1000)) for i in range(lines))


def edit(r, data, where=None):
    """One line changed; @where: a place, so that two edits meet or do not."""
    if b"\0" in data or not data:
        return data + bytes([r.randrange(256)])
    eol = b"\r\n" if b"\r\n" in data else b"\n"
    lines = data.split(eol)
    at = min(len(lines) - 1, where if where is not None else r.randrange(len(lines)))
    lines[at] = b"changed %d" % r.randrange(10 ** 6)
    return eol.join(lines)


def blob_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest().encode()


class Tree(dict):
    """path -> (kind, content, executable)"""


def read_tree(top, skip_git=True):
    """Files, links and directories below @top, with modes."""
    out = {}
    for base, dirs, files in os.walk(top):
        if skip_git:
            dirs[:] = [d for d in dirs if d != b".git"]
            files = [f for f in files if f != b".git"]
        for name in dirs + files:
            full = os.path.join(base, name)
            st = os.lstat(full)
            rel = os.path.relpath(full, top)
            if stat.S_ISLNK(st.st_mode):
                out[rel] = ("l", os.readlink(full), False)
            elif stat.S_ISDIR(st.st_mode):
                out[rel] = ("d", stat.S_IMODE(st.st_mode), False)
            else:
                with open(full, "rb") as f:
                    out[rel] = ("f", f.read(), bool(st.st_mode & 0o100), stat.S_IMODE(st.st_mode))
    return out


def contents(tree):
    return Tree({p: v[:3] for p, v in tree.items() if v[0] != "d"})


def put(top, path, kind, data, exe=False):
    full = os.path.join(top, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if os.path.lexists(full):
        os.unlink(full)
    if kind == "l":
        os.symlink(data, full)
        return
    with open(full, "wb") as f:
        f.write(data)
    os.chmod(full, 0o755 if exe else 0o644)


def repo_state(top):
    """What git says of a repository, without its objects."""
    if not os.path.exists(os.path.join(top, b".git")):
        return None
    refs = sh(["git", "for-each-ref", "--format=%(refname) %(objectname)"], cwd=top).stdout
    head = sh(["git", "symbolic-ref", "-q", "HEAD"], cwd=top, check=False).stdout + sh(["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=top, check=False).stdout
    index = git(top, "ls-files", "-s", "-z")
    return refs, head, index


class Case:
    def __init__(self, seed, top):
        self.seed, self.r = seed, random.Random(seed)
        self.top = os.path.join(top, b"s%d" % seed)
        os.makedirs(self.top)
        r = self.r
        self.layout = r.choice(["plain", "plain", "plain", "unborn", "none", "subdir", "worktree", "submodule", "nested", "detached", "packed",
                                "separate", "bare-worktree"])
        self.config = r.choice(["", "", "", "autocrlf", "input", "excludes", "attributes"])
        self.mode = r.choice(["apply", "branch", "commits"]) if self.layout != "none" else "apply"
        self.notes, self.outcome = [], "nothing to merge"
        self.sub = None
        self.make()
        self.base = contents(read_tree(self.dir))
        self.work()

    # --- the repository -----------------------------------------------------------------------------------------------

    def make(self):
        r, root = self.r, os.path.join(self.top, b"repo")
        self.home = os.path.join(self.top, b"home")
        os.makedirs(self.home)
        cfg = "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[core]\n"
        if self.config == "autocrlf":
            cfg += "\tautocrlf = true\n"
        elif self.config == "input":
            cfg += "\tautocrlf = input\n"
        elif self.config == "excludes":
            cfg += "\texcludesfile = ~/ignored-everywhere\n"
            put(self.home, b"ignored-everywhere", "f", b"*.everywhere\n")
        put(self.home, b".gitconfig", "f", cfg.encode())
        self.env = dict(ENV, HOME=os.fsdecode(self.home))
        g = lambda cwd, *a, **k: git(cwd, *a, env=self.env, **k)
        self.g = g
        if self.layout == "none":
            os.makedirs(root)
            self.dir = self.git_dir = root
            self.fill(root)
            return
        g(None, "init", "-q", root)
        if self.layout == "subdir":
            put(root, b"outer.txt", "f", text(r))
            self.dir = os.path.join(root, b"pkg")
        else:
            self.dir = root
        self.fill(self.dir)
        if self.config == "attributes":
            put(root, b".gitattributes", "f", b"*.txt text eol=crlf\n*.bin -text\n")
        put(root, b".gitignore", "f", b"*.log\n/out/\n")
        if self.layout == "unborn":
            if r.random() < 0.6:
                some = [p for p in contents(read_tree(root)) if r.random() < 0.5]
                for p in some:
                    g(root, "add", "--", os.path.join(b".", p))
        else:
            g(root, "add", "-A")
            g(root, "commit", "-qm", "base")
        if self.config in ("autocrlf", "attributes") and self.layout != "unborn":
            for p in g(root, "ls-files", "-z").split(b"\0")[:-1]:
                os.unlink(os.path.join(root, p))
            g(root, "checkout", "-q", "--", ".")
        if self.layout == "submodule" or self.layout == "nested":
            lib = os.path.join(self.top, b"lib") if self.layout == "submodule" else os.path.join(root, b"lib")
            g(None, "init", "-q", lib)
            put(lib, b"lib.c", "f", text(r))
            put(lib, b"x/y.h", "f", text(r))
            g(lib, "add", "-A")
            g(lib, "commit", "-qm", "lib")
            if self.layout == "submodule":
                g(root, "submodule", "--quiet", "add", lib, "lib")
                g(root, "commit", "-qm", "submodule")
            self.sub = os.path.join(root, b"lib")
        if self.layout == "worktree" or self.layout == "bare-worktree":
            tree = os.path.join(self.top, b"tree")
            if self.layout == "bare-worktree":
                bare = os.path.join(self.top, b"bare.git")
                g(None, "clone", "-q", "--bare", root, bare)
                g(bare, "worktree", "add", "-q", tree, "-b", "side")
            else:
                g(root, "worktree", "add", "-q", tree, "-b", "side")
            self.dir = root = tree
        elif self.layout == "detached":
            g(root, "checkout", "-q", "--detach")
        elif self.layout == "packed":
            g(root, "gc", "-q")
        elif self.layout == "separate":
            g(root, "init", "-q", "--separate-git-dir", os.path.join(self.top, b"elsewhere.git"))
        self.git_dir = root
        self.state()

    def fill(self, top):
        for name in self.r.sample(NAMES, self.r.randrange(4, 9)):
            if name.endswith(b".bin"):
                put(top, name, "f", b"\0" + bytes(self.r.randrange(256) for _ in range(30)))
            else:
                put(top, name, "f", text(self.r), self.r.random() < 0.2)
        if self.r.random() < 0.3:
            put(top, b"link", "l", b"a.txt")

    def state(self):
        """Work of the user's that is not committed."""
        r = self.r
        for p in sorted(contents(read_tree(self.dir))):
            if self.inside(p) or p in (b".gitignore", b".gitattributes") or p == b"link" or r.random() > 0.2 or p == b".gitmodules":
                continue
            kind, data, exe = contents(read_tree(self.dir))[p]
            put(self.dir, p, kind, edit(r, data, 0), exe)
            if r.random() < 0.3:
                self.g(self.dir, "add", "--", os.path.join(b".", p))
        if r.random() < 0.6:
            put(self.dir, b"untracked", "f", text(r))
        if r.random() < 0.3:
            put(self.dir, b"un dir/tracked", "f", text(r))
        if r.random() < 0.4:
            put(self.dir, b"x.log", "f", b"log\n")
        if self.config == "excludes":
            put(self.dir, b"y.everywhere", "f", b"log\n")

    def inside(self, p):
        return self.sub is not None and p.startswith(b"lib/")

    # --- work in the sandbox ------------------------------------------------------------------------------------------

    def work(self):
        r, want, out = self.r, Tree(self.base), []
        quote = lambda p: b"\"$(printf '" + b"".join(b"\\%03o" % c for c in b"./" + p) + b"')\""

        def write(p, data, exe):
            parent = os.path.dirname(p)
            if parent:
                out.append(b"mkdir -p " + quote(parent))
            out.append(b"rm -f " + quote(p) + b"; echo " + base64.b64encode(data) + b" | base64 -d >" + quote(p) + (b"; chmod 755 " if exe else b"; chmod 644 ") + quote(p))
            want[p] = ("f", data, exe)

        for p in sorted(self.base):
            kind, data, exe = self.base[p]
            if p in (b".gitignore", b".gitattributes", b".gitmodules") or kind == "l" or r.random() > 0.5:
                continue
            what = r.random()
            if what < 0.55:
                write(p, edit(r, data), exe)
            elif what < 0.7:
                out.append(b"rm -f " + quote(p))
                del want[p]
            elif what < 0.8:
                write(p, data, not exe)
            elif what < 0.9 and not self.inside(p):
                new = b"moved " + os.path.basename(p)
                out.append(b"mv " + quote(p) + b" " + quote(new))
                want[new] = want.pop(p)
            else:
                out.append(b"ln -sf elsewhere " + quote(p))
                want[p] = ("l", b"elsewhere", False)
        for p in r.sample(FRESH, r.randrange(0, 4)):
            write(p, text(r), r.random() < 0.3)
        if r.random() < 0.4:
            write(r.choice([b"z.log", b"out/o"]), b"made\n", False)
        if self.sub and r.random() < 0.7:
            write(b"lib/fresh.c", text(r), False)
        if r.random() < 0.3:
            out.append(b"mkdir -p .hg .svn; echo evil >.hg/hgrc; echo evil >.svn/config")
            want[b".hg/hgrc"] = want[b".svn/config"] = ("f", b"evil\n", False)
        if r.random() < 0.3 and self.layout != "none":
            out.append(b"git add -A >/dev/null 2>&1; git -c user.name=A -c user.email=a@b commit -qm 'by the agent' >/dev/null 2>&1; true")
        self.want = want
        self.script = b"set -e\n" + b"\n".join(out) + b"\n"

    # --- the host meanwhile -------------------------------------------------------------------------------------------

    def drift(self):
        r = self.r
        for p in sorted(self.base):
            if self.inside(p) or p in (b".gitignore", b".gitattributes", b".gitmodules") or self.base[p][0] == "l" or r.random() > 0.06:
                continue
            kind, data, exe = self.base[p]
            if r.random() < 0.8:
                put(self.dir, p, kind, edit(r, data, r.choice([2, 9])), exe)
            else:
                os.unlink(os.path.join(self.dir, p))
        if r.random() < 0.06 and any(p in self.want for p in FRESH):
            put(self.dir, [p for p in FRESH if p in self.want][0], "f", b"of the user\n")
        if self.layout not in ("none", "unborn") and r.random() < 0.15:
            self.g(self.dir, "commit", "-qam", "meanwhile", check=False)

    # --- what must come out -------------------------------------------------------------------------------------------

    def three(self, base, ours, theirs):
        """git merge-file: the lines, or None for a conflict."""
        if b"\0" in base[:8000] + ours[:8000] + theirs[:8000]:
            return None
        names = []
        for i, data in enumerate((ours, base, theirs)):
            names.append(os.path.join(self.top, b"m%d" % i))
            with open(names[-1], "wb") as f:
                f.write(data)
        r = sh(["git", "merge-file", "-p", *names], check=False)
        return r.stdout if r.returncode == 0 else None

    def owner(self, p):
        """Repository and path in it."""
        if self.sub and self.inside(p):
            return self.sub, p[4:]
        if self.layout == "subdir":
            return os.path.dirname(self.dir), b"pkg/" + p
        return self.dir, p

    def stored(self, repo, p, v):
        """Mode, name and content as git keeps them."""
        if v is None:
            return None
        if v[0] == "l":
            return "120000", blob_id(v[1]), v[1]
        mode, data = "100755" if v[2] else "100644", v[1]
        if self.config in ("", "excludes") or b"\r" not in data:
            return mode, blob_id(data), data
        oid = sh(["git", "hash-object", "-w", "--stdin", "--path", p], cwd=repo, stdin=data, env=self.env).stdout.strip()
        return mode, oid, self.blob(repo, oid)

    def blob(self, repo, oid):
        return git(repo, "cat-file", "blob", oid.decode())

    def in_head(self, repo):
        out = {}
        if sh(["git", "rev-parse", "-q", "--verify", "HEAD"], cwd=repo, check=False).returncode:
            return out
        for line in git(repo, "ls-tree", "-r", "-z", "HEAD").split(b"\0")[:-1]:
            meta, name = line.split(b"\t", 1)
            mode, kind, oid = meta.split()
            out[name] = (mode.decode(), oid)
        return out

    def oracle(self, before):
        """For each changed path: the class, the content on the host, and what a commit holds."""
        host, out = contents(before), {}
        heads, tracked = {}, {}
        for repo in {self.owner(p)[0] for p in set(self.base) | set(self.want)}:
            if self.layout == "none":
                continue
            heads[repo] = self.in_head(repo)
            tracked[repo] = set(git(repo, "ls-files", "-z").split(b"\0")) | set(heads[repo])
        changed = sorted(p for p in set(self.base) | set(self.want) if self.base.get(p) != self.want.get(p))
        ignores = {}
        for repo in heads:
            mine = [self.owner(p)[1] for p in changed if self.owner(p)[0] == repo]
            ignores[repo] = set(sh(["git", "check-ignore", "-z", "--no-index", "--stdin"], cwd=repo, check=False, env=self.env,
                                   stdin=b"".join(p + b"\0" for p in mine)).stdout.split(b"\0"))
        for p in changed:
            b, w, h = self.base.get(p), self.want.get(p), host.get(p)
            repo, rel = self.owner(p)
            if p.startswith((b".hg/", b".svn/")):
                out[p] = ("refused", h, None)
                continue
            known = self.layout == "none" or rel in tracked[repo]
            ignored = not known and self.layout != "none" and rel in ignores[repo]
            if ignored and h != w:
                out[p] = ("ignored", h, None)
                continue
            # the working file
            blocked = any(x in host for x in self.above(p) if x not in self.base or x in self.want)
            if h == w:
                file = ("identical", h)
            elif blocked:
                file = ("conflict", h)
            elif b is not None and not known and h is not None and h != b:
                file = ("conflict", h)
            elif h == b:
                file = ("merged", w)
            elif None not in (b, w, h) and b[0] == w[0] == h[0] == "f":
                lines = self.three(b[1], h[1], w[1])
                file = ("conflict", h) if lines is None else ("merged", ("f", lines, w[2] if w[2] != b[2] else h[2]))
            else:
                file = ("conflict", h)
            out[p] = (file[0], file[1], None if self.mode == "apply" else self.commit_of(repo, rel, b, w, h, heads[repo].get(rel)))
        return out

    def above(self, p):
        parts = p.split(b"/")
        return [b"/".join(parts[:i]) for i in range(1, len(parts))]

    def commit_of(self, repo, rel, b, w, h, head):
        """(ok, mode, oid) that a commit on HEAD has of it."""
        sw, sb = self.stored(repo, rel, w), self.stored(repo, rel, b)
        if sw is None and head is None or sw is not None and head is not None and sw[:2] == head:
            return True, head
        if (sb is None) == (head is None) and (sb is None or sb[:2] == head):
            return True, sw[:2] if sw else None
        if head is None and b is not None and h is not None:
            return True, sw[:2] if sw else None
        if None in (sw, sb, head) or not all(x[0].startswith("100") for x in (sw, sb, head)):
            return False, head
        lines = self.three(sb[2], self.blob(repo, head[1]), sw[2])
        return (False, head) if lines is None else (True, (sw[0] if sw[0] != sb[0] else head[0], blob_id(lines)))

    # --- the check ----------------------------------------------------------------------------------------------------

    def bad(self, text, *args):
        self.notes.append(text % args if args else text)

    def repos(self):
        if self.layout == "none":
            return [self.sub] if self.sub else []
        return [os.path.dirname(self.dir) if self.layout == "subdir" else self.dir] + ([self.sub] if self.sub else [])

    def all_state(self):
        return read_tree(self.dir), [repo_state(x) for x in self.repos()]

    def merge_and_check(self, session):
        self.drift()
        before, git_before = self.all_state()
        heads = {x: self.in_head(x) for x in self.repos()}
        expect = self.oracle(before)
        args = {"apply": ["--apply"], "commits": ["--commits"], "branch": ["--to", "work/%d" % self.seed]}[self.mode]
        r = sh([SG, "merge", "%s/s%d" % (session, self.seed), "--json", *args], check=False, env=self.env)
        files = self.mode != "branch"
        conflicts = {p for p, (c, _, t) in expect.items()
                     if c not in ("refused", "ignored") and (files and c == "conflict" or self.mode != "apply" and t is not None and not t[0])}
        if not expect and r.returncode:
            return
        if conflicts or r.returncode:
            if not r.returncode:
                self.bad("no conflict reported for %r", sorted(conflicts))
            elif not conflicts:
                self.bad("unexpected failure: %s", (r.stderr or r.stdout).decode("utf-8", "replace"))
            self.outcome = "%d conflicts" % len(conflicts)
            if self.all_state() != (before, git_before):
                self.bad("a failed merge changed something")
            return
        self.outcome = "%d changes" % len(expect)
        result = json.loads(r.stdout.decode("utf-8", "surrogateescape").strip().split("\n")[-1])["result"]
        self.check_classes(result, expect, files)
        after, git_after = self.all_state()
        self.check_host(before, after, expect, files)
        if self.mode != "apply":
            self.check_commits(heads, expect)
        for repo in self.repos():
            f = sh(["git", "fsck", "--strict", "--no-dangling"], cwd=repo, check=False)
            if f.returncode:
                self.bad("git fsck: %s", f.stderr.decode("utf-8", "replace"))
        self.check_undo(session, before, git_before)

    def check_classes(self, result, expect, files):
        def name(v):
            v = v["path"] if isinstance(v, dict) and "path" in v else v
            return base64.b64decode(v["b64"]) if isinstance(v, dict) else v.encode()
        seen = {}
        for c, paths in result.get("paths", {}).items():
            for p in map(name, paths):
                if b".git" in p.split(b"/"):
                    continue
                if p in seen:
                    self.bad("%r is %s and %s", p, seen[p], c)
                seen[p] = c
            if result["counts"][c] != len(paths):
                self.bad("%d %s are counted, %d are named", result["counts"][c], c, len(paths))
        if set(seen) != set(expect):
            self.bad("classes miss %r, have %r too many", sorted(set(expect) - set(seen)), sorted(set(seen) - set(expect)))
        for p, c in seen.items():
            want = expect.get(p, ("?",))[0]
            same = {"merged", "identical", "conflict"} if not files else {"merged", "identical"}
            if c != want and not (c in same and want in same):
                self.bad("%r is %s, expected %s", p, c, want)
        left = {name(v) for v in result["unmerged"]["paths"]}
        for p in left:
            if expect.get(p, ("?",))[0] in ("merged", "identical"):
                self.bad("%r is merged and listed as not merged", p)

    def check_host(self, before, after, expect, files):
        want, is_ = contents(before), contents(after)
        for p, (c, v, _) in expect.items():
            if files and c == "merged":
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

    def check_commits(self, heads, expect):
        for repo in self.repos():
            ref = "HEAD" if self.mode == "commits" else "work/%d" % self.seed
            want = dict(heads[repo])
            for p, (c, _, t) in expect.items():
                where, rel = self.owner(p)
                if where != repo or t is None or c in ("refused", "ignored"):
                    continue
                if t[1] is None:
                    want.pop(rel, None)
                else:
                    want[rel] = t[1]
            if sh(["git", "rev-parse", "-q", "--verify", ref], cwd=repo, check=False).returncode:
                if want != heads[repo]:
                    self.bad("%r has no %s", repo, ref)
                continue
            is_ = {}
            for line in git(repo, "ls-tree", "-r", "-z", ref).split(b"\0")[:-1]:
                meta, n = line.split(b"\t", 1)
                mode, kind, oid = meta.split()
                is_[n] = (mode.decode(), oid)
            if self.sub and self.layout == "submodule" and repo != self.sub:
                tip = sh(["git", "rev-parse", "-q", "--verify", ref], cwd=self.sub, check=False)
                if tip.returncode == 0 and b"lib" in want:
                    want[b"lib"] = ("160000", tip.stdout.strip())
            for p in sorted(set(want) | set(is_)):
                if want.get(p) != is_.get(p):
                    self.bad("in %s of %r %r is %r, expected %r", ref, repo, p, is_.get(p), want.get(p))

    def check_undo(self, session, before, git_before):
        r = sh([SG, "undo", session], check=False, env=self.env)
        if r.returncode:
            self.bad("undo: %s", r.stderr.decode("utf-8", "replace"))
            return
        after, git_after = self.all_state()
        for p in sorted(set(before) | set(after)):
            if before.get(p) != after.get(p):
                self.bad("after undo %r is %r, was %r", p, after.get(p), before.get(p))
        for was, now in zip(git_before, git_after):
            if was != now:
                self.bad("after undo git says %r, said %r", now, was)

    def __str__(self):
        return "seed %d: %s, %s, %s, %s" % (self.seed, self.layout, self.config or "no configuration", self.mode, self.outcome)


def run_batch(seeds, top):
    cases = [Case(s, top) for s in seeds]
    lua = ["local sg = require 'sandglass'"]
    for c in cases:
        code = "".join("\\%03d" % b for b in c.script)
        lua.append("do local box = sg.sandbox { repo = %s, name = 's%d' }\nassert(box:run('%s'))\nbox:close() end"
                   % ('"' + "".join("\\%03d" % b for b in c.dir) + '"', c.seed, code))
    with open(os.path.join(top, b"work.lua"), "w") as f:
        f.write("\n".join(lua) + "\n")
    with open(os.path.join(top, b"any.lua"), "w") as f:
        f.write('return require("sandglass.policy").rules { default = "allow" }\n')
    r = sh([SG, "run", "--no-tui", "--no-input", "--policy", "any.lua", "work.lua"], cwd=top, check=False)
    if r.returncode:
        raise RuntimeError("the session failed: %s" % (r.stdout + r.stderr)[-3000:].decode("utf-8", "replace"))
    session = json.loads(sh([SG, "ls", "--json"], cwd=top).stdout.split(b"\n")[0])["session"]
    for c in cases:
        try:
            c.merge_and_check(session)
        except Exception:
            c.bad("%s", traceback.format_exc())
    return cases


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--keep", action="store_true")
    o = p.parse_args()
    n = failed = 0
    for first in range(o.seed, o.seed + o.count, BATCH):
        top = os.fsencode(tempfile.mkdtemp(prefix="merge-model-"))
        os.chmod(top, 0o755)
        home = os.path.join(top, b"home")
        for d in (home, os.path.join(top, b"run")):
            os.makedirs(d, mode=0o700)
        ENV.clear()
        ENV.update({"PATH": os.environ["PATH"], "HOME": os.fsdecode(home), "XDG_RUNTIME_DIR": os.fsdecode(os.path.join(top, b"run")),
                    "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TEMPLATE_DIR": "/var/empty",
                    "SANDGLASS_SESSIONS": os.fsdecode(os.path.join(top, b"sessions")),
                    "XDG_STATE_HOME": os.fsdecode(os.path.join(top, b"state")), "XDG_CACHE_HOME": os.fsdecode(os.path.join(top, b"cache"))})
        put(home, b".gitconfig", "f", b"[user]\n\tname = T\n\temail = t@example.org\n")
        for c in run_batch(range(first, min(first + BATCH, o.seed + o.count)), top):
            n += 1
            print("%s %d - %s" % ("not ok" if c.notes else "ok", n, c))
            for note in c.notes[:8]:
                print("#   " + note.replace("\n", "\n#   ")[:700])
            if c.notes:
                failed += 1
                print("#   again: tests/model/merge_model.py --seed %d --count 1 --keep" % c.seed)
        if o.keep:
            print("# kept: " + os.fsdecode(top))
        else:
            shutil.rmtree(top, ignore_errors=True)
        sys.stdout.flush()
    print("1..%d" % n)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
