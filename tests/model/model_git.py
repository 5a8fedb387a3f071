"""Trees, repositories and real git, as the model of merging reads them. Loose objects and plain indexes are read here, all others
by git: most of the time would go to starting it."""
import hashlib, os, stat, struct, subprocess, zlib

ENV, STAGED, TREES, OBJECTS = {}, {}, {}, {}  # the latter three: what was read before


def sh(cmd, cwd=None, check=True, stdin=b"", env=None):
    r = subprocess.run(cmd, cwd=cwd, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env or ENV)
    if check and r.returncode != 0:
        raise RuntimeError("%r in %r: %s" % (cmd, cwd, r.stderr.decode("utf-8", "replace")))
    return r


def git(cwd, *args, **kw):
    return sh(["git", *args], cwd=cwd, **kw).stdout


def blob_id(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest().encode()


def read_tree(top):
    """Files, links and directories below @top with their modes; no .git."""
    out = {}
    for base, dirs, files in os.walk(top):
        dirs[:] = [d for d in dirs if d != b".git"]
        files = [f for f in files if f != b".git"]
        for name in dirs + files:
            full = os.path.join(base, name)
            st = os.lstat(full)
            rel = full[len(top) + 1:]
            if stat.S_ISLNK(st.st_mode):
                out[rel] = ("l", os.readlink(full), False)
            elif stat.S_ISDIR(st.st_mode):
                out[rel] = ("d", stat.S_IMODE(st.st_mode), False)
            else:
                with open(full, "rb") as f:
                    out[rel] = ("f", f.read(), bool(st.st_mode & 0o100), stat.S_IMODE(st.st_mode))
    return out


def contents(tree):
    """Of a tree: path -> (kind, content, executable); no directories."""
    return {p: v[:3] for p, v in tree.items() if v[0] != "d"}


def put(top, path, kind, data, exe=False, mode=None):
    full = os.path.join(top, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if os.path.lexists(full):
        os.unlink(full)
    if kind == "l":
        os.symlink(data, full)
        return
    with open(full, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(full, mode if mode is not None else 0o755 if exe else 0o644)


def read_file(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def git_dirs(top):
    """(git directory, common directory) of a work tree; None where no repository is."""
    at = os.path.join(top, b".git")
    if not os.path.lexists(at):
        return None
    if not os.path.isdir(at):
        at = os.path.normpath(os.path.join(top, read_file(at).split(b": ", 1)[1].strip()))
    common = read_file(os.path.join(at, b"commondir"))
    return at, os.path.normpath(os.path.join(at, common.strip())) if common else at


def refs_of(common):
    """Names and values of all refs, from the files."""
    out = {}
    for line in (read_file(os.path.join(common, b"packed-refs")) or b"").split(b"\n"):
        if len(line) > 41 and line[40:41] == b" ":
            out[line[41:]] = line[:40]
    top = os.path.join(common, b"refs")
    for base, _, files in os.walk(top):
        for name in files:
            value = read_file(os.path.join(base, name))
            if value:
                out[os.path.join(base, name)[len(common) + 1:]] = value.strip()
    return out


def head_commit(top):
    """The commit of HEAD; None: none yet."""
    at, common = git_dirs(top)
    head = read_file(os.path.join(at, b"HEAD")).strip()
    return refs_of(common).get(head[5:]) if head.startswith(b"ref: ") else head


def repo_state(top):
    """What git says of a repository, without its objects: HEAD, refs, index."""
    dirs = git_dirs(top)
    if not dirs:
        return None
    refs = {k: v for k, v in refs_of(dirs[1]).items() if not v.startswith(b"ref: ")}
    return read_file(os.path.join(dirs[0], b"HEAD")), refs, staged(top)


def staged(top):
    """git ls-files -s -z; asked again only if the index is another."""
    index = read_file(os.path.join(git_dirs(top)[0], b"index"))
    shared = b"sharedindex." in b"".join(os.listdir(git_dirs(top)[0]))
    key = top, index
    if key not in STAGED or shared:
        STAGED[key] = plain_index(index) or git(top, "ls-files", "-s", "-z")
    return STAGED[key]


def plain_index(data):
    """As git ls-files -s -z tells it; None: it has extensions, or another version."""
    if not data or data[:8] != b"DIRC\0\0\0\2":
        return None
    at, out = 12, []
    for _ in range(struct.unpack(">I", data[8:12])[0]):
        mode, flags = struct.unpack(">I", data[at + 24:at + 28])[0], struct.unpack(">H", data[at + 60:at + 62])[0]
        end = data.index(b"\0", at + 62)
        out.append(b"%06o %s %d\t%s\0" % (mode, data[at + 40:at + 60].hex().encode(), flags >> 12 & 3, data[at + 62:end]))
        at += (end - at) // 8 * 8 + 8
    return b"".join(out) if data[at:at + 4] in (b"TREE", b"") or len(data) == at + 20 else None


def loose(repo, oid):
    """Content of a loose object; None: it is not one."""
    if oid not in OBJECTS:
        data = read_file(os.path.join(git_dirs(repo)[1], b"objects", oid[:2], oid[2:]))
        if data is None:
            return None
        OBJECTS[oid] = zlib.decompress(data).split(b"\0", 1)[1]
    return OBJECTS[oid]


def blob(repo, oid):
    data = loose(repo, oid)
    return git(repo, "cat-file", "blob", oid.decode()) if data is None else data


def loose_tree(repo, oid, top, out):
    """Fills @out with the files of a tree; False: not all of it is loose."""
    data = loose(repo, oid)
    at = 0
    while data is not None and at < len(data):
        end = data.index(b"\0", at)
        mode, name = data[at:end].split(b" ", 1)
        entry, at = data[end + 1:end + 21].hex().encode(), end + 21
        if mode == b"40000":
            if not loose_tree(repo, entry, top + name + b"/", out):
                return False
        else:
            out[top + name] = mode.decode(), entry
    return data is not None


def tree_of(repo, rev):
    """path -> (mode, object) of a commit's tree; {} where the commit is not."""
    out = {}
    if not rev:
        return out
    if (repo, rev) in TREES:
        return dict(TREES[repo, rev])
    commit = loose(repo, rev)
    if commit is None or not loose_tree(repo, commit[5:45], b"", out):
        out = {}
        r = sh(["git", "ls-tree", "-r", "-z", rev], cwd=repo, check=False)
        for line in r.stdout.split(b"\0")[:-1]:
            meta, name = line.split(b"\t", 1)
            mode, _, oid = meta.split()
            out[name] = (mode.decode(), oid)
    TREES[repo, rev] = out
    return dict(out)
