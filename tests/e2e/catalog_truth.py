"""The catalog against the files while sessions change: catalog_truth.py PROGRAM MAKE_SESSION DIR SEED QUESTIONS

Before every question something happens: a session begins, lives, ends, is killed, redacted, labeled, moved, copied, archived,
restored, or removed, or the catalog is built. The question then has the same answer with the catalog and without."""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

program, make, where, seed, number = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
os.environ["SANDGLASS_SESSIONS"] = where
sys.argv = [sys.argv[0], program, where, sys.argv[4], "0"]
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import catalog_ask as ask  # noqa: E402 (it reads sys.argv)

chance = random.Random(seed)
away = where + "-away"
os.makedirs(away, exist_ok=True)
live, made, done = [], 0, {}


def sandglass(*words):
    return subprocess.run([program, "--sessions", where, *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=100)


def finished():
    running = [p.path for p in live]
    return sorted(os.path.join(where, f) for f in os.listdir(where)
                  if f.endswith(".glass") and os.path.join(where, f) not in running)


def session(*more):
    global made
    made += 1
    words = [make, where, f"m{made}", str(chance.randint(40, 150)), "2", str(seed * 10000 + made), *more]
    if "--live" not in more:
        return subprocess.run(words, capture_output=True, check=True)
    p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.path = p.stdout.readline().strip()
    live.append(p)


def begin():
    session("--live") if len(live) < 3 else session()


def end():
    if live:
        p = live.pop(chance.randrange(len(live)))
        p.stdin.close()
        p.wait()


def crash():
    if not live:
        return session("--crash")
    p = live.pop(chance.randrange(len(live)))
    p.send_signal(signal.SIGKILL)
    p.wait()


def redact():
    paths = finished()
    if paths:
        sandglass("redact", chance.choice(paths) + f"#{chance.randint(2, 60)}", "--why", "test", "--yes")


def label():
    paths = finished()
    if paths:
        sandglass("label", chance.choice(paths), chance.choice(["team=core", "team=web", "nightly", "team-"]))


def move():
    paths = finished()
    if paths:
        path, tail_of_many = chance.choice(paths), chance.random() < 0.3
        moved = f"2025-11-23-moved{len(paths)}-{path[-12:-6]}.glass"
        for tail in ("", "-wal", "-shm", "-lease", "-reserve"):
            if os.path.exists(path + tail):
                to = away if len(paths) > 15 and tail_of_many else where
                os.rename(path + tail, os.path.join(to, moved + tail))


def copy():
    paths = [p for p in finished() if not os.path.exists(p + "-wal")]
    if paths:
        shutil.copy2(chance.choice(paths), os.path.join(where, f"2025-11-24-copy-c{chance.randint(10000, 99999)}.glass"))


def remove():
    paths = finished()
    for path in chance.sample(paths, max(0, min(len(paths) - 20, 1 + len(paths) // 20))):
        os.remove(path)


def archived():
    top = os.path.join(where, "archive")
    return sorted(os.path.join(d, f) for d, _, files in os.walk(top) for f in files if f.endswith(".glass"))


def id_of(path):
    return os.path.basename(path)[:-len(".glass")].split("-")[-1]


def archive():
    paths = [p for p in finished() if not os.path.exists(p + "-wal")]
    if len(paths) > 8:
        moved = sandglass("archive", "--force", id_of(chance.choice(paths))).returncode == 0
        done["moves to the archive"] = done.get("moves to the archive", 0) + moved


def archived_one():
    paths = archived()
    what = chance.choice(["restore", "redact", "prune"])
    if not paths:
        return archive()
    path = chance.choice(paths)
    if what == "restore":
        sandglass("archive", "--restore", id_of(path))
    elif what == "redact":
        sandglass("redact", path + f"#{chance.randint(2, 60)}", "--why", "test", "--yes")
    else:
        sandglass("prune", id_of(path), "--yes")


def settle_and_build():
    old = time.time() - 60
    for path in finished():
        os.utime(path, (old, old))
    sandglass("index", "--catalog", "-q")


for _ in range(12):
    session()
settle_and_build()
happens = [begin, begin, end, crash, redact, label, move, copy, archive, archive, archived_one, remove, remove, settle_and_build, settle_and_build]
bad = answers = 0
for n in range(number):
    what = chance.choice(happens)
    what()
    done[what.__name__] = done.get(what.__name__, 0) + 1
    if not os.path.isdir(ask.catalog):
        settle_and_build()
    q = ask.question() if chance.random() < 0.85 else ["ls", "--all", "--json", "--label", chance.choice(["team", "team=core", "!nightly"])]
    for _ in range(3):  # the index of a session may be finished between the two, which changes its file
        (_, a, b), = ask.both([q])
        if a == b:
            break
    answers += len(b[1]) > 0
    if a != b:
        bad += 1
        print("differs after", what.__name__, q, a[0], b[0])
        for mark, one, other in (("-", b, a), ("+", a, b)):
            lines = set(other[1].splitlines())
            for line in [x for x in one[1].splitlines() if x not in lines][:3]:
                print(mark, line.decode(errors="replace")[:300])
while live:
    end()
print(f"{number} questions, {bad} differ, {answers} have an answer, {len(archived())} archived;", ", ".join(f"{k} {v}" for k, v in sorted(done.items())))
sys.exit(bool(bad) or answers * 5 < number)
