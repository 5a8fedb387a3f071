"""A random repository (layout, state, configuration) and random work in a sandbox over it."""
import os, random, shutil

from model_git import ENV, contents, git, put, read_tree, sh

NAMES = [b"a.txt", b"b.txt", b"src/c.c", b"src/deep/d.h", b"e e.md", b"caf\xc3\xa9", b"f\xff.bin", b"new\nline", b"-dash", b"q'uote\"", b"g.txt",
         b"h/i/j", b"k$x", b"l;m", b"tab\there", b"\xf0\x9f\x98\x80.txt", b"back\\slash", b"trail ", b"~tilde", b"star*[x]", b"n" * 250]
FRESH = [b"n1", b"src/n2.c", b"n dir/n3", b"n\xfe4", b"deep/er/n5", b"n\n6", b"\xf0\x9f\x8e\x89/n7"]
DIRS = [b"repo", b"repo", b"r\xe9po", b"re po\xff"]
LINES = ["plain", "unborn", "none", "subdir", "nested", "detached", "packed", "sparse"]  # git names no other directory in a file
LAYOUTS = ["plain", "plain", "plain", "unborn", "none", "subdir", "worktree", "submodule", "submodule", "nested", "detached", "packed", "separate",
           "bare-worktree", "sparse", "shallow", "partial", "alternates", "linked"]
CONFIGS = ["", "autocrlf", "excludes", "input", "attributes"]
PLANS = ["once", "once", "once", "part", "part", "part-undo", "again", "more", "more"]
KEPT = (b".gitignore", b".gitattributes", b".gitmodules")


def user_config(config):
    """Text of the user's ~/.gitconfig."""
    text = "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n" \
        "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[uploadpack]\n\tallowFilter = true\n[core]\n"
    return text + {"autocrlf": "\tautocrlf = true\n", "input": "\tautocrlf = input\n", "excludes": "\texcludesfile = ~/everywhere\n",
                   "attributes": "\tattributesfile = ~/attributes\n"}.get(config, "")


def lines_of(r, lines=12):
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


class Case:
    def __init__(self, seed, top, config):
        self.seed, self.r, self.config = seed, random.Random(seed), config
        self.apart = random.Random(-seed)  # what was added later leaves the rest of a seed as it was
        self.top, self.blank = os.path.join(top, b"s%d" % seed), os.path.join(top, b"blank")
        os.makedirs(self.top)
        r = self.r
        self.layout = r.choice(LAYOUTS)
        self.plan = r.choice(PLANS)
        self.modes = [self.one_mode()]
        self.modes += [self.modes[0] if r.random() < 0.6 else self.one_mode() for _ in range(3)]
        # the command on the recording of an ended session, or the supervisor while the sandbox is there
        self.live = self.plan == "more" or r.random() < 0.95
        self.notes, self.outcome, self.sub = [], [], None
        self.make()
        self.state()
        self.base = contents(read_tree(self.dir))
        self.wants, self.scripts = [], []
        self.work(self.base)
        if self.plan == "more":
            self.work(self.wants[0])

    def one_mode(self):
        return self.r.choice(["apply", "branch", "commits"]) if self.layout != "none" else "apply"

    def git(self, cwd, *args, **kw):
        return git(cwd, *args, **kw)

    # --- the repository -----------------------------------------------------------------------------------------------

    def new(self, at):
        """git init, once for all."""
        if not os.path.exists(self.blank):
            git(None, "init", "-q", self.blank)
        shutil.copytree(self.blank, at, dirs_exist_ok=True)

    def commit(self, at, text):
        git(at, "add", "-A")
        git(at, "commit", "-qm", text)

    def make(self):
        r, name = self.r, self.apart.choice(DIRS)
        root = os.path.join(self.top, name + b"\n" if name[2:3] == b" " and self.layout in LINES else name)
        self.dir = self.root = root
        if self.layout == "none":
            os.makedirs(root)
            self.fill(root)
            return
        self.new(root)
        if self.layout == "subdir":
            put(root, b"outer.txt", "f", lines_of(r))
            self.dir = os.path.join(root, b"pkg")
        self.fill(self.dir)
        put(root, b".gitignore", "f", b"*.log\n/out/\n")
        if r.random() < 0.15:
            put(root, b".gitattributes", "f", b"*.txt text eol=crlf\n*.bin -text\n")
        if self.layout == "unborn":
            some = [os.path.join(b".", p) for p in sorted(contents(read_tree(root))) if r.random() < 0.4]
            if some:
                git(root, "add", "--", *some)
            return
        self.commit(root, "base")
        if self.config in ("autocrlf", "attributes") or os.path.exists(os.path.join(root, b".gitattributes")):
            for p in git(root, "ls-files", "-z").split(b"\0")[:-1]:
                os.unlink(os.path.join(root, p))
            git(root, "checkout", "-q", "--", ".")
        getattr(self, "layout_" + self.layout.replace("-", "_"), lambda: None)()

    def library(self, at):
        self.new(at)
        put(at, b"lib.c", "f", lines_of(self.r))
        put(at, b"x/y.h", "f", lines_of(self.r))
        self.commit(at, "lib")
        self.sub = at

    def layout_submodule(self):
        """As 'git submodule add' makes it."""
        self.library(os.path.join(self.root, b"lib"))
        store = os.path.join(self.root, b".git", b"modules", b"lib")
        os.makedirs(os.path.dirname(store))
        os.rename(os.path.join(self.sub, b".git"), store)
        put(self.sub, b".git", "f", b"gitdir: ../.git/modules/lib\n")
        with open(os.path.join(store, b"config"), "a") as f:
            f.write("[core]\n\tworktree = ../../../lib\n")
        url = b"[submodule \"lib\"]\n\t%surl = " + os.path.join(self.top, b"lib") + b"\n"
        put(self.root, b".gitmodules", "f", url % b"path = lib\n\t")
        with open(os.path.join(self.root, b".git", b"config"), "ab") as f:
            f.write(url % b"active = true\n\t")
        self.commit(self.root, "submodule")

    def layout_nested(self):
        self.library(os.path.join(self.root, b"lib"))

    def layout_worktree(self):
        self.dir = os.path.join(self.top, b"tree" + os.path.basename(self.root)[4:])
        git(self.root, "worktree", "add", "-q", self.dir, "-b", "side")

    def layout_bare_worktree(self):
        bare, self.dir = os.path.join(self.top, b"bare.git"), os.path.join(self.top, b"tree")
        git(None, "clone", "-q", "--bare", self.root, bare)
        git(bare, "worktree", "add", "-q", self.dir, "-b", "side")

    def layout_detached(self):
        git(self.root, "checkout", "-q", "--detach")

    def layout_packed(self):
        git(self.root, "gc", "-q")

    def layout_separate(self):
        git(self.root, "init", "-q", "--separate-git-dir", os.path.join(self.top, b"elsewhere.git"))

    def layout_linked(self):
        os.rename(os.path.join(self.root, b".git"), os.path.join(self.top, b"store"))
        os.symlink(b"../store", os.path.join(self.root, b".git"))

    def layout_sparse(self):
        git(self.root, "sparse-checkout", "set", "--cone", "src")

    def layout_alternates(self):
        self.clone("-s")

    def layout_shallow(self):
        put(self.root, b"a.txt", "f", lines_of(self.r))
        self.commit(self.root, "second")
        self.clone("--depth", "1")

    def layout_partial(self):
        put(self.root, b"a.txt", "f", lines_of(self.r))
        self.commit(self.root, "second")
        self.clone("--filter=blob:none")

    def clone(self, *how):
        self.dir = os.path.join(self.top, b"clone")
        git(None, "clone", "-q", *how, b"file://" + self.root if how[0] != "-s" else self.root, self.dir)
        self.root = self.dir

    def fill(self, top):
        for name in self.r.sample(NAMES, self.r.randrange(4, 9)):
            if name.endswith(b".bin"):
                put(top, name, "f", b"\0" + bytes(self.r.randrange(256) for _ in range(30)))
            else:
                put(top, name, "f", lines_of(self.r), mode=self.r.choice([0o644, 0o644, 0o644, 0o755, 0o600, 0o700]))
        if self.r.random() < 0.3:
            put(top, b"link", "l", b"a.txt")

    def state(self):
        """Work of the user's that is not committed."""
        r, add, tree = self.r, [], read_tree(self.dir)
        for p, v in sorted(tree.items()):
            if v[0] != "f" or self.inside(p) or p in KEPT or r.random() > 0.2:
                continue
            put(self.dir, p, "f", edit(r, v[1], 0), mode=v[3])
            if r.random() < 0.3 and self.layout != "sparse":
                add.append(os.path.join(b".", p))
        if add and self.layout != "none":
            git(self.dir, "add", "--", *add)
        if r.random() < 0.6:
            put(self.dir, b"untracked", "f", lines_of(r))
        if r.random() < 0.3:
            put(self.dir, b"un dir/tracked", "f", lines_of(r))
        if r.random() < 0.4:
            put(self.dir, b"x.log", "f", b"log\n")
        if self.config == "excludes":
            put(self.dir, b"y.everywhere", "f", b"log\n")

    def inside(self, p):
        return self.sub is not None and p.startswith(b"lib/")

    # --- work in the sandbox ------------------------------------------------------------------------------------------

    def work(self, was):
        """One script more, and what the sandbox holds after it."""
        r, want, out = self.r, dict(was), []
        # only what the shell does itself: a process costs more than all of its work
        name = lambda p: b"p='./" + p.replace(b"'", b"'\\''") + b"'; "
        gone = b"{ [ -e \"$p\" ] || [ -L \"$p\" ]; } && rm -f \"$p\"; "

        def write(p, data, exe):
            if any(q.startswith(p + b"/") for q in want) or any(q in want for q in above(p)):
                return  # a directory now: the shell's rm leaves it; or below a file
            if os.path.dirname(p):
                out.append(name(os.path.dirname(p)) + b"[ -d \"$p\" ] || mkdir -p \"$p\"")
            out.append(name(p) + gone + b"printf '" + b"".join(b"\\%03o" % c for c in data) + b"' >\"$p\"" + (b"; chmod 755 \"$p\"" if exe else b""))
            want[p] = ("f", data, exe)

        for p in sorted(was):
            kind, data, exe = was[p]
            if p in KEPT or kind == "l" or r.random() > 0.5 or p not in want or p.startswith((b".hg/", b".svn/")):
                continue
            what = r.random()
            if what < 0.5:
                write(p, edit(r, data), exe)
            elif what < 0.65:
                out.append(name(p) + b"rm -f \"$p\"")
                del want[p]
            elif what < 0.75:
                write(p, data, not exe)
            elif what < 0.83 and not self.inside(p) and len(p) < 200:
                new = b"moved " + os.path.basename(p)
                out.append(name(p) + b"q=\"$p\"; " + name(new) + b"mv \"$q\" \"$p\"")
                want[new] = want.pop(p)
            elif what < 0.88 and not self.inside(p):
                out.append(name(p) + b"rm -f \"$p\"")
                del want[p]
                write(p + b"/inner" if len(p) < 200 else b"instead", lines_of(r, 3), False)
            elif what < 0.92 and p in self.base and self.base[p][0] == "f":
                write(p, self.base[p][1], self.base[p][2])  # taken back
            else:
                out.append(name(p) + b"ln -sf elsewhere \"$p\"")
                want[p] = ("l", b"elsewhere", False)
        tops = sorted({p.split(b"/")[0] for p in want if b"/" in p and not self.inside(p)} - {b".hg", b".svn"})
        if tops and r.random() < 0.1:  # a directory becomes a file
            d = r.choice(tops)
            out.append(name(d) + b"rm -rf \"$p\"")
            for p in [p for p in want if p.startswith(d + b"/")]:
                del want[p]
            write(d, lines_of(r, 3), False)
        for p in r.sample(FRESH, r.randrange(0, 4)):
            if not any(x in want for x in above(p)) and not any(x.startswith(p + b"/") for x in want):
                write(p, lines_of(r), r.random() < 0.3)
        if r.random() < 0.4:
            write(r.choice([b"z.log", b"out/o"]), b"made\n", False)
        if self.sub and r.random() < 0.7:
            write(b"lib/fresh.c", lines_of(r), False)
        if r.random() < 0.2:
            out.append(b"mkdir -p .hg .svn; echo evil >.hg/hgrc; echo evil >.svn/config")
            want[b".hg/hgrc"] = want[b".svn/config"] = ("f", b"evil\n", False)
        if r.random() < 0.4 and self.layout != "none":
            out.append(b"export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org")
            if r.random() < 0.4:
                out.append(b"git switch -qc topic/of-agent-%d >/dev/null 2>&1" % len(self.wants))
            if self.sub:
                out.append(b"{ git -C lib add -A && git -C lib -c user.name=A -c user.email=a@b commit -qm 'in the library'; } >/dev/null 2>&1")
            out.append(b"git add -A >/dev/null 2>&1; git commit -qm 'by the agent' >/dev/null 2>&1")
            if r.random() < 0.3:
                out.append(b"git tag made-inside; git branch also-made >/dev/null 2>&1")
        self.wants.append(want)
        self.scripts.append(b"\n".join(out) + b"\ntrue\n")

    # --- the host meanwhile -------------------------------------------------------------------------------------------

    def drift(self, rate=0.06, only=None):
        """Changes some files of the user; @only: at most these."""
        r, tree = self.r, read_tree(self.dir)
        for p, v in sorted(tree.items()):
            if v[0] != "f" or self.inside(p) or p in KEPT or only is not None and p not in only or r.random() > rate:
                continue
            if r.random() < 0.8:
                put(self.dir, p, "f", edit(r, v[1], r.choice([2, 9])), mode=v[3])
            else:
                os.unlink(os.path.join(self.dir, p))
        mine = [p for p in FRESH if p in self.wants[0] and not os.path.lexists(os.path.join(self.dir, p))]
        if r.random() < 0.06 and mine and not any(os.path.lexists(os.path.join(self.dir, x)) and not os.path.isdir(os.path.join(self.dir, x))
                                                  for x in above(mine[0])):
            put(self.dir, mine[0], "f", b"of the user\n")
        if only is None and self.apart.random() < 0.08:
            self.in_the_way()
        if self.layout not in ("none", "unborn") and r.random() < 0.12:
            sh(["git", "commit", "-qam", "meanwhile"], cwd=self.dir, check=False)


    def in_the_way(self):
        """A file where the sandbox has a directory, or a directory where it has a file; committed."""
        new = [p for p in FRESH if p in self.wants[0] and not os.path.lexists(os.path.join(self.dir, p.split(b"/")[0]))]
        if not new:
            return
        p = self.apart.choice(new)
        p = p.split(b"/")[0] if b"/" in p else p + b"/of-the-user"
        put(self.dir, p, "f", b"in the way\n")
        if self.layout not in ("none", "unborn", "sparse"):
            git(self.dir, "add", "--", os.path.join(b".", p))
            git(self.dir, "commit", "-qm", "in the way")


def above(p):
    parts = p.split(b"/")
    return [b"/".join(parts[:i]) for i in range(1, len(parts))]
