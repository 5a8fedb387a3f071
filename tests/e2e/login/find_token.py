#!/usr/bin/env python3
"""find_token.py [-p PID] [-k] [PATH...]: prints each place that holds a token of the tests; exit status 0: none.
PATH: a file, or a directory with all below it; -p: memory, environment, and arguments of the processes in sandboxes below that one; -k: of each
process that can be read, but this one. "inside", alone: -k and the files of a sandbox, into the files found and read. Counts of files, processes,
and bytes that were read go to standard error."""
import os, re, sys

# this pattern does not match itself, wherever its text is
PATTERN = re.compile(rb"token-REA[L]-[0-9a-z]|grant-REA[L]|grant-[0-9]{1,4}\b|sk-REA[L]-[0-9]|dG9rZW4tUkVB[T]C1zaWc")
found, read, piece = [], {"files": 0, "processes": 0, "bytes": 0}, 1 << 20


def look(name, get):
    """get(size) reads on; a token may lie across two pieces."""
    tail = b""
    while True:
        try:
            data = get(piece)
        except OSError:
            return
        if not data:
            return
        read["bytes"] += len(data)
        m = PATTERN.search(tail + data)
        if m:
            found.append("%s: ...%s" % (name, (tail + data)[max(0, m.start() - 8):m.end()].decode("latin-1").encode("unicode_escape").decode()[:40]))
            return
        tail = data[-64:]


def look_file(path):
    try:
        with open(path, "rb", buffering=0) as f:
            read["files"] += 1
            look(path, f.read)
    except OSError:
        pass


def look_process(pid):
    for name in "environ", "cmdline":
        look_file("/proc/%s/%s" % (pid, name))
    try:
        maps = [l.split() for l in open("/proc/%s/maps" % pid)]
        mem, pages = (open("/proc/%s/%s" % (pid, name), "rb", buffering=0) for name in ("mem", "pagemap"))
    except OSError:
        return
    read["processes"] += 1
    with mem, pages:
        for area, mode, *rest in maps:
            first, last = (int(x, 16) for x in area.split("-"))
            if mode[0] != "r" or rest[-1:] in (["[vvar]"], ["[vsyscall]"]):
                continue
            # files that are mapped as they are hold no secret of the process
            if rest[2:3] != ["0"] and "w" not in mode and rest[3:4] and not rest[3].startswith("["):
                continue
            for start, end in used_pages(pages, first, last):
                at = [start]

                def get(size):
                    mem.seek(at[0])
                    data = mem.read(min(size, end - at[0])) if at[0] < end else b""
                    at[0] += len(data)
                    return data

                look("memory of %s" % pid, get)


def used_pages(pages, first, last):
    """Runs of the pages that are in memory or swapped out: programs reserve gigabytes."""
    start = None
    for top in range(first, last, 4096 << 17):
        pages.seek(top // 4096 * 8)
        here = pages.read((min(last, top + (4096 << 17)) - top) // 4096 * 8)
        for m in re.finditer(rb"(?s)(.{8})", here) if here.strip(b"\0") else ():
            if m[1][7] & 0xC0:
                start = start or top + m.start() // 8 * 4096
            elif start:
                yield start, top + m.start() // 8 * 4096
                start = None
        if start and not here.strip(b"\0"):
            yield start, top
            start = None
    if start:
        yield start, last


def below(pid):
    children = {}
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = open("/proc/%s/status" % p).read()
        except OSError:
            continue
        parent = re.search(r"PPid:\t(\d+)", text)[1]
        children.setdefault(parent, []).append((p, len(re.search(r"NSpid:\t(.*)", text)[1].split())))
    todo, out = [str(pid)], []
    own = len(re.search(r"NSpid:\t(.*)", open("/proc/self/status").read())[1].split())
    while todo:
        for p, depth in children.get(todo.pop(), []):
            todo.append(p)
            if depth > own: # in a sandbox
                out.append(p)
    return out


args = sys.argv[1:]
if args == ["inside"]:
    args = ["-k", ".", os.path.expanduser("~"), "/tmp", "/run", "/etc"]
    sys.stdout, sys.stderr = open("found", "w"), open("read", "w")
while args:
    arg = args.pop(0)
    if arg == "-p":
        for pid in below(args.pop(0)):
            look_process(pid)
    elif arg == "-k":
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if pid != str(os.getpid()):
                look_process(pid)
    elif os.path.isdir(arg):
        for top, dirs, names in os.walk(arg):
            for name in names:
                if os.path.isfile(os.path.join(top, name)):
                    look_file(os.path.join(top, name))
    else:
        look_file(arg)
print("\n".join(found), end="\n" if found else "")
print("%(files)d files, %(processes)d processes, %(bytes)d bytes" % read, file=sys.stderr)
sys.exit(bool(found))
