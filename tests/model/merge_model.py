#!/usr/bin/env python3
"""A model of merging: random repositories, random work in sandboxes, random changes on the host meanwhile, merges, and undos.

    merge_model.py [--seed N] [--count N] [--pinned] [--keep] [--fault KIND|all]      (SANDGLASS: the program)

Real git is the oracle: for lines (git merge-file), for what is stored (git hash-object), for what is ignored. Checked of every merge:
each changed file is in exactly one class; the host and the commit hold what the classes promise; nothing else has changed; the work
listed as not merged is exactly what no merge has brought; git fsck is clean; undo restores every byte. Prints TAP, one line for each
seed; `--seed N --count 1 --keep` replays one and keeps its files. --fault damages each result before it is judged: every fault must be
noticed, or the model judges nothing. --pinned adds the seeds that found a fault once.
"""
import argparse, os, shutil, sys, tempfile, traceback

from model_case import CONFIGS, user_config
from model_check import Checked
from model_faults import FAULTS, Fault
from model_git import ENV, put
from model_session import Session

SG = os.environ["SANDGLASS"]
BATCH = 20
PINNED = [
    # an ignored file that was asked for is merged twice, and the recording has only its hash; a file takes the place of a directory
    [50006, 50209, 309],
    # the same, removed; a directory takes the place of a merged file in a branch; a file is removed that the user has removed, too; the
    # user has changed a file in a directory that a merge made and undo takes back
    [50186, 50197, 50891, 51284],
    # an ignored file is taken back to a content of which the recording has only the hash; a file takes the place of a directory, beside
    # a writer
    [50943, 51345],
    [50232, 50237, 50630],  # a link takes the place of a file with the line ends of DOS
]


def environment(top, config):
    home = os.path.join(top, b"home")
    for d in (home, os.path.join(top, b"run")):
        os.makedirs(d, mode=0o700)
    place = lambda name: os.fsdecode(os.path.join(top, name))
    ENV.clear()
    ENV.update({"PATH": os.environ["PATH"], "HOME": os.fsdecode(home), "XDG_RUNTIME_DIR": place(b"run"), "LC_ALL": "C.UTF-8",
                "GIT_CONFIG_NOSYSTEM": "1", "GIT_TEMPLATE_DIR": "/var/empty", "SANDGLASS_SESSIONS": place(b"sessions"),
                "XDG_STATE_HOME": place(b"state"), "XDG_CACHE_HOME": place(b"cache")})
    put(home, b".gitconfig", "f", user_config(config))
    put(home, b"everywhere", "f", b"*.everywhere\n")
    put(home, b"attributes", "f", b"*.txt text eol=crlf\n")


def guarded(c, fn, *args):
    try:
        return fn(*args)
    except Exception:
        c.bad("%s", traceback.format_exc())


def run_batch(seeds, top, faults):
    """The user's configuration is the same for 20 seeds in a row: one supervisor serves them."""
    config = CONFIGS[(seeds[0] - 1) // BATCH % len(CONFIGS)]
    environment(top, config)
    cases = [Checked(s, top, config, Fault(s, faults) if faults else None) for s in seeds]
    session = Session(SG, top, cases)
    try:
        for c in cases:
            if c.live:
                guarded(c, c.run, session)
            else:
                for i in range(len(c.scripts)):
                    session.wait_ask("s%d %d" % (c.seed, i + 1))
                    session.go_on()
        session.end()
        for c in cases:
            if not c.live:
                guarded(c, c.run, session)
    finally:
        session.close()
    return cases


def batches(seed, count):
    end = seed + count
    while seed < end:
        stop = min(end, (seed - 1) // BATCH * BATCH + BATCH + 1)
        yield range(seed, stop)
        seed = stop


def report(n, c):
    print("%s %d - %s" % ("not ok" if c.notes else "ok", n, c))
    for note in c.notes[:8]:
        print("#   " + note.replace("\n", "\n#   ")[:700])
    if c.notes:
        print("#   again: tests/model/merge_model.py --seed %d --count 1 --keep" % c.seed)


def report_faults(n, kinds, cases):
    failed = 0
    for i, kind in enumerate(kinds):
        planted = [c for c in cases if c.fault.planted == kind]
        unnoticed = [c.seed for c in planted if not c.notes]
        good = planted and not unnoticed
        failed += not good
        print("%s %d - %s: noticed in %d of %d" % ("ok" if good else "not ok", n + i + 1, kind, len(planted) - len(unnoticed), len(planted)))
        if unnoticed:
            print("#   not noticed: seeds %r" % unnoticed)
    return failed


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--pinned", action="store_true")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--fault", choices=["all", *FAULTS])
    o = p.parse_args()
    kinds = [] if not o.fault else list(FAULTS) if o.fault == "all" else [o.fault]
    n = failed = 0
    all_cases = []
    for seeds in [*batches(o.seed, o.count), *(PINNED if o.pinned else [])]:
        top = os.fsencode(tempfile.mkdtemp(prefix="merge-model-"))
        os.chmod(top, 0o755)
        for c in run_batch(seeds, top, kinds):
            all_cases.append(c)
            if not kinds:
                n += 1
                failed += bool(c.notes)
                report(n, c)
        if o.keep:
            print("# kept: " + os.fsdecode(top))
        else:
            shutil.rmtree(top, ignore_errors=True)
        sys.stdout.flush()
    if kinds:
        failed = report_faults(n, kinds, all_cases)
        n = len(kinds)
    print("1..%d" % n)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
