#!/usr/bin/env python3
"""Takes each part of the sandbox's isolation away in turn, in a copy of the tree, and reports which test notices it.

    tests/hostile/mutants.py [FILTER]      FILTER: a regular expression for the names of mutants

A mutant is one argument of bubblewrap, one refused or judged system call, one landlock right, or one limit. Prints one
line each and the rate; status 1 below 90 %. Takes about ten seconds a mutant; no part of `make test`."""
import os, re, shutil, subprocess, sys, tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
KEEPER, FILTER, RULES = "src/keeper/bwrap.c", "src/sandbox/common/seccomp.c", "src/guest/rules.c"
# The source file of a mutant: what is built of it, and the tests that should notice, the quickest first.
JUDGES = {
    KEEPER: (["build/sandglass-keeper"], ["tests/hostile/namespaces.sh", "build/tests/sandbox/t_process_wall", "tests/hostile/limits.sh", "tests/hostile/proc.sh"]),
    FILTER: (["build/tests/sandbox/t_seccomp"], ["build/tests/sandbox/t_seccomp"]),
    RULES: (["build/sandglass-guest", "build/sandglass-guest.gz", "build/sandglass", "build/helpers/hostile/container"],
            ["tests/hostile/namespaces.sh", "build/tests/sandbox/t_process_reduced", "tests/hostile/guest_limits.sh", "tests/hostile/calls.sh", "tests/hostile/limits.sh"]),
}


def source(path):
    with open(os.path.join(TOP, path)) as f:
        return f.read()


def array(text, name):
    """The start, and the quoted words, of a table of strings."""
    at = re.search(r"%s\[\] = \{(.*?)\}" % re.escape(name), text, re.S)
    return at.start(1), [(m.start() + at.start(1), m.end() + at.start(1), m.group(1)) for m in re.finditer(r'"([^"]*)",?\s*', at.group(1))]


def without(text, start, end):
    return text[:start] + text[end:]


def of_bubblewrap():
    text = source(KEEPER)
    _, words = array(text, "head")
    starts = [i for i, w in enumerate(words) if w[2].startswith("--")] + [len(words)]
    for a, b in zip(starts, starts[1:]):
        yield " ".join(w[2] for w in words[a:b]), KEEPER, without(text, words[a][0], words[b - 1][1])
    _, hidden = array(text, "hide")
    for start, end, word in hidden:
        if os.path.exists("/proc/" + word):
            yield "hide /proc/" + word, KEEPER, without(text, start, end)
    for name, old in (("--hostname", r'"--hostname", json_str\(request, "hostname", "sandbox"\),\s*'),
                      ("--bind /dev/shm", r'"--bind", SPACE_SHM, "/dev/shm", '),
                      ("--dev-bind /dev/pts", r'"--dev-bind", SPACE_PTS,\s*"/dev/pts", '),
                      ("--remount-ro /dev", r'"--remount-ro", "/dev", ')):
        yield name, KEEPER, re.sub(old, "", text, count=1)
    yield "--disable-userns", KEEPER, text.replace('argv[n++] = (char *)(uintptr_t) "--disable-userns";', "", 1)
    yield "oom_score_adj", KEEPER, text.replace('write(oom, "700", 3)', 'write(oom, "0", 1) + 2', 1)
    yield "cgroup", KEEPER, text.replace('write(k->doors[i], "0", 1) != 1', "k->doors[i] < 0", 1)
    for i in (0, 1):
        yield f"filter {i}", KEEPER, text.replace(
            "for (size_t i = 0; i < k->nr_filters; i++) {\n\t\tsnprintf",
            f"for (size_t i = 0; i < k->nr_filters; i++) {{\n\t\tif (i == {i})\n\t\t\tcontinue;\n\t\tsnprintf", 1)


def of_filter():
    text = source(FILTER)
    known = source("tests/unit/sandbox/t_seccomp.c")
    for table in ("seccomp_refused", "shared_memory", "system_v"):
        for start, end, word in array(text, table)[1]:
            if f'"{word}"' in known:  # calls of other architectures have no number here
                yield f"{table} {word}", FILTER, without(text, start, end)
    for m in re.finditer(r"CLONE_NEW\w+,?\s*", text):
        yield "clone " + m.group().strip(", \n"), FILTER, without(text, m.start(), m.end())
    for word in ("S_IFCHR, ", ", S_IFBLK"):
        yield "device " + word.strip(", "), FILTER, text.replace("{ S_IFCHR, S_IFBLK }", "{ S_IFCHR, S_IFBLK }".replace(word, ""), 1)
    for word in ("TIOCSTI, ", "0x541C /* TIOCLINUX */, ", "TIOCSETD, ", ", TIOCCONS"):
        yield "ioctl " + word.strip(", "), FILTER, text.replace(word, "", 1)
    for name, old, new in (
            ("families", "family == AF_UNIX || family", "family > 2 || family"),
            ("internet", "bool internet = !(flags & SECCOMP_NO_INTERNET)", "bool internet = true"),
            ("raw sockets", "type == SOCK_STREAM || type == SOCK_DGRAM ? SCMP_ACT_ALLOW", "type ? SCMP_ACT_ALLOW"),
            ("netlink protocol", "SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffff, 0))", "SCMP_A2(SCMP_CMP_MASKED_EQ, 0, 0))"),
            ("socketpair", "RULE(SCMP_ACT_ALLOW, socketpair, 1,\n\t\t\t  SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_UNIX))", "RULE(SCMP_ACT_ALLOW, socketpair, 0)"),
            ("personality", "SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, 0));\n\tif", "SCMP_A0(SCMP_CMP_MASKED_EQ, 0, 0));\n\tif"),
            ("low half of ioctl", "ioctl, 1,\n\t\t\t  SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, requests[i])", "ioctl, 1,\n\t\t\t  SCMP_A1(SCMP_CMP_EQ, requests[i])"),
            ("other architectures", "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_ALLOW"),
            ("unknown calls", "which == 0 ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW", "SCMP_ACT_ALLOW")):
        yield name, FILTER, text.replace(old, new, 1)


def of_rules():
    text = source(RULES)
    for name, old, new in (
            ("landlock", "!r->unconfined && (rc = sys2(NR_RESTRICT, r->fd, 0)) < 0", "r->unconfined && (rc = sys2(NR_RESTRICT, r->fd, 0)) < 0"),
            ("landlock write", "return fs_execute | fs_read | fs_change |", "return fs_execute | fs_read |"),
            ("landlock read", "return fs_execute | fs_read |", "return fs_execute |"),
            ("landlock ports", "attr.net = BIT(0) | BIT(1);", "attr.net = 0;"),
            ("landlock scope", "attr.scoped = BIT(0) | BIT(1);", "attr.scoped = 0;"),
            ("machine-id", 'strcmp(e->d_name, "machine-id") != 0', "true"),
            ("filters of the guest", "return inner_filters_enter(r);", "return 0;"),
            ("memory", "if (rc == 0 && r->mem_bytes)", "if (false)"),
            ("file size", "if (rc == 0 && r->file_bytes)", "if (false)"),
            ("processes", "if (rc == 0 && r->pids)", "if (false)"),
            ("descriptors", "rules_lower(RLIMIT_NOFILE, 1024, 1024)", "0")):
        yield "guest: " + name, RULES, text.replace(old, new, 1)
    for limit in ("CORE, 0, 0", "MEMLOCK, 0, 0", "MSGQUEUE, 0, 0", "RTPRIO, 0, 0", "NICE, 0, 0", "SIGPENDING, 256, 256"):
        yield "guest: limit " + limit.split(",")[0], RULES, text.replace(f"rules_lower(RLIMIT_{limit}) < 0", "false", 1)


def run(at, *argv):
    env = dict(os.environ, SANDGLASS=os.path.join(at, "build/sandglass"), B="build")
    try:
        return subprocess.run(argv, cwd=at, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(argv, 124, "not ok - time is up", "")


def make(at, targets):
    return run(at, "make", "-j2", *(["CC=" + os.environ["CC"]] if "CC" in os.environ else []), *targets)


SKIPS = set()  # of the tree as it is


def noticed(at, path, first=False):
    """The first test that fails, or skips because no sandbox opens; "build" if it does not compile; or None."""
    targets, tests = JUDGES[path]
    built = make(at, targets + [t for t in tests if t.startswith("build/")])
    if built.returncode:
        return "build"
    for test in tests:
        done = run(at, test)
        skips = set(re.findall(r"# skip .*", done.stdout))
        if first:
            SKIPS.update(skips)
        if skips - SKIPS:
            return f"{os.path.basename(test)}: no sandbox: {(skips - SKIPS).pop()[7:90]}"
        if done.returncode:
            first = re.search(r"^not ok.*", done.stdout, re.M)
            return f"{os.path.basename(test)}: {first.group()[:100] if first else 'status %d' % done.returncode}"
    return None


def main():
    wanted = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    at = tempfile.mkdtemp(prefix="mutants")
    os.chmod(at, 0o755)
    try:
        files = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, capture_output=True, check=True).stdout.split(b"\0")
        for f in filter(None, files):
            to = os.path.join(at.encode(), f)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy2(os.path.join(TOP.encode(), f), to, follow_symlinks=False)
        ready = make(at, ["all"] + sorted({t for _, ts in JUDGES.values() for t in ts if t.startswith("build/")}))
        if ready.returncode:
            sys.exit("mutants: the tree does not build: " + ready.stderr[-500:])
        for path in JUDGES:
            by = noticed(at, path, first=True)
            if by:
                sys.exit(f"mutants: {path} as it is fails {by}")
        total = seen = broken = 0
        for name, path, text in [m for of in (of_bubblewrap, of_rules, of_filter) for m in of()]:
            if not wanted.search(name):
                continue
            if text == source(path):
                sys.exit(f"mutants: '{name}' changes nothing: {path} has other words now")
            with open(os.path.join(at, path), "w") as f:
                f.write(text)
            by = noticed(at, path)
            with open(os.path.join(at, path), "w") as f:
                f.write(source(path))
            if by == "build":
                broken += 1
                print(f"BROKEN  {name:42} does not build", flush=True)
                continue
            total, seen = total + 1, seen + bool(by)
            print(f"{'noticed' if by else 'MISSED '} {name:42} {by or ''}", flush=True)
        print(f"{seen} of {total} noticed ({100 * seen // max(total, 1)} %)")
        sys.exit(broken > 0 or seen * 100 < total * 90)
    finally:
        shutil.rmtree(at, ignore_errors=True)


main()
