"""Faults that are planted into results: each damages what a merge or an undo left, or its report. The model must notice every one."""
import os

from model_git import git, git_dirs, head_commit, read_tree, sh


def written(case, m, kind="f"):
    """A path whose content on the host the merge has changed."""
    if m.mode == "branch":
        return None
    return next((p for p, (c, v, _) in sorted(m.expect.items()) if c == "merged" and v and v[0] == kind and v != m.host.get(p)), None)


def full(case, p):
    return os.path.join(case.dir, p)


def overwrite(path, change):
    with open(path, "r+b") as f:
        data = f.read()
        f.seek(0)
        f.write(change(data))
        f.truncate()


def flip(data):
    return bytes([data[0] ^ 1]) + data[1:] if data else b"x"


def drop_file(case, m, result, branch):
    p = written(case, m)
    return bool(p) and not os.unlink(full(case, p))


def flip_byte(case, m, result, branch):
    p = written(case, m)
    return bool(p) and not overwrite(full(case, p), flip)


def cut_file(case, m, result, branch):
    p = written(case, m)
    return bool(p) and not overwrite(full(case, p), lambda data: data[:-1])


def executable_bit(case, m, result, branch):
    p = written(case, m)
    if p:
        os.chmod(full(case, p), os.stat(full(case, p)).st_mode ^ 0o100)
    return bool(p)


def world_writable(case, m, result, branch):
    p = written(case, m)
    if p:
        os.chmod(full(case, p), os.stat(full(case, p)).st_mode | 0o002)
    return bool(p)


def other_link(case, m, result, branch):
    p = written(case, m, "l")
    if p:
        os.unlink(full(case, p))
        os.symlink("other", full(case, p))
    return bool(p)


def extra_file(case, m, result, branch):
    with open(full(case, b"of-nobody"), "w") as f:
        f.write("x\n")
    return True


def users_file(case, m, result, branch):
    """A file of the user's that the merge has no business with."""
    p = next((p for p, v in sorted(m.host.items()) if v[0] == "f" and p not in m.expect), None)
    return bool(p) and not overwrite(full(case, p), flip)


def removed_stays(case, m, result, branch):
    p = next((p for p, (c, v, _) in sorted(m.expect.items()) if c == "merged" and v is None and p in m.host and m.mode != "branch"
              and not os.path.lexists(full(case, p)) and os.path.isdir(os.path.dirname(full(case, p)))), None)
    if p:
        with open(full(case, p), "wb") as f:
            f.write(b"back\n")
    return bool(p)


def class_missing(case, m, result, branch):
    for c in ("merged", "left", "ignored", "refused"):
        if result["paths"].get(c) and ".git" not in str(result["paths"][c][0]):
            result["paths"][c].pop(0)
            result["counts"][c] -= 1
            return True
    return False


def class_wrong(case, m, result, branch):
    for c in ("ignored", "refused", "left"):
        if result["paths"].get(c) and ".git" not in str(result["paths"][c][0]):
            result["paths"].setdefault("merged", []).append(result["paths"][c].pop(0))
            result["counts"][c] -= 1
            result["counts"]["merged"] += 1
            return True
    return False


def class_twice(case, m, result, branch):
    if not result["paths"].get("merged") or ".git" in str(result["paths"]["merged"][0]):
        return False
    result["paths"].setdefault("identical", []).append(result["paths"]["merged"][0])
    result["counts"]["identical"] += 1
    return True


def wrong_count(case, m, result, branch):
    result["counts"]["merged"] += 1
    return True


def rest_missing(case, m, result, branch):
    """Work that isn't merged, and not listed so: 'prune --merged' would remove it."""
    rest = result["unmerged"]["paths"]
    at = next((i for i, v in enumerate(rest) if isinstance(v["path"], str) and not case.ignores.get(v["path"].encode())), None)
    if at is None:
        return False
    rest.pop(at)
    result["unmerged"]["files"] -= 1
    return True


def tip_of(case, m, branch):
    repo = case.repos()[0] if case.repos() else None
    ref = None if not repo or m.mode == "apply" else "HEAD" if m.mode == "commits" else "refs/heads/" + branch
    tip = ref and sh(["git", "rev-parse", "-q", "--verify", ref], cwd=repo, check=False).stdout.decode().strip()
    return (repo, ref, tip) if tip and tip != (head_commit(repo) if m.mode == "branch" else case.before_head.get(repo)) else (None, None, None)


def commit_lacks(case, m, result, branch):
    """The commit has the tree of its parent."""
    repo, ref, tip = tip_of(case, m, branch)
    first = repo and sh(["git", "rev-parse", "-q", "--verify", (case.before_head.get(repo) or b"").decode() or "x"], cwd=repo, check=False)
    if not repo or first.returncode or m.heads[repo] == {} or not any(t and t[0] and t[1] != m.heads[repo].get(case.owner(p)[1])
                                                                     for p, (_, _, t) in m.expect.items() if case.owner(p)[0] == repo):
        return False
    new = git(repo, "commit-tree", "-m", "empty", "-p", first.stdout.decode().strip(), first.stdout.decode().strip() + "^{tree}").decode().strip()
    git(repo, "update-ref", ref, new)
    return True


def commit_more(case, m, result, branch):
    """The commit has a file that nobody made."""
    repo, ref, tip = tip_of(case, m, branch)
    if not repo:
        return False
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"more\n").decode().strip()
    tree = git(repo, "mktree", "-z", stdin=git(repo, "ls-tree", "-z", tip) + b"100644 blob %s\tzz more\0" % blob.encode()).decode().strip()
    git(repo, "update-ref", ref, git(repo, "commit-tree", "-m", "more", "-p", tip, tree).decode().strip())
    return True


def other_branch(case, m, result, branch):
    """A branch that exists moves."""
    repo = case.repos()[0] if case.repos() else None
    if m.mode != "branch" or not repo or not case.before_head.get(repo):
        return False
    tip = case.before_head[repo].decode()
    head = git_dirs(repo)
    new = git(repo, "commit-tree", "-m", "moved", "-p", tip, tip + "^{tree}").decode().strip()
    git(repo, "update-ref", "HEAD", new)
    return bool(head)


def lost_object(case, m, result, branch):
    repo, _, tip = tip_of(case, m, branch)
    path = repo and os.path.join(git_dirs(repo)[1], b"objects", tip[:2].encode(), tip[2:].encode())
    return bool(path) and os.path.exists(path) and not os.unlink(path)


def undo_byte(case):
    tree = read_tree(case.dir)
    p = next((p for p, v in sorted(tree.items()) if v[0] == "f"), None)
    return bool(p) and not overwrite(full(case, p), flip)


def undo_mode(case):
    tree = read_tree(case.dir)
    p = next((p for p, v in sorted(tree.items()) if v[0] == "f"), None)
    if p:
        os.chmod(full(case, p), tree[p][3] ^ 0o040)
    return bool(p)


def undo_leaves_file(case):
    return extra_file(case, None, None, None)


def undo_leaves_directory(case):
    os.mkdir(full(case, b"of-nobody"))
    return True


def undo_leaves_ref(case):
    repo = case.repos()[0] if case.repos() else None
    if not repo or not head_commit(repo):
        return False
    git(repo, "update-ref", "refs/heads/of-nobody", head_commit(repo).decode())
    return True


def undo_leaves_index(case):
    repo = case.repos()[0] if case.repos() else None
    if not repo:
        return False
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"x\n").decode().strip()
    git(repo, "update-index", "--add", "--cacheinfo", "100644,%s,of-nobody" % blob)
    return True


def failed_writes(case):
    """A merge that failed has written."""
    return extra_file(case, None, None, None)


MERGED = [drop_file, flip_byte, cut_file, executable_bit, world_writable, other_link, extra_file, users_file, removed_stays, class_missing, class_wrong,
          class_twice, wrong_count, rest_missing, commit_lacks, commit_more, other_branch, lost_object]
UNDONE = [undo_byte, undo_mode, undo_leaves_file, undo_leaves_directory, undo_leaves_ref, undo_leaves_index]
FAILED = [failed_writes]
FAULTS = {f.__name__.replace("_", "-"): f for f in MERGED + UNDONE + FAILED}


class Fault:
    """One fault, planted at the first chance that a case gives: of the kinds that fit, the one planted least often."""
    often = {kind: 0 for kind in FAULTS}

    def __init__(self, seed, kinds):
        some = UNDONE if seed % 4 == 0 else FAILED if seed % 8 == 1 else MERGED
        self.kinds, self.planted = [k for k in kinds if len(kinds) == 1 or FAULTS[k] in some], None

    def plant(self, when, *args):
        for kind in sorted(self.kinds, key=lambda k: self.often[k]):
            if not self.planted and FAULTS[kind] in when and FAULTS[kind](*args):
                self.planted = kind
                self.often[kind] += 1

    def merged(self, case, m, result, branch):
        self.plant(MERGED, case, m, result, branch)
        return result

    def undone(self, case):
        self.plant(UNDONE, case)

    def failed(self, case):
        self.plant(FAILED, case)
