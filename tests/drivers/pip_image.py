#!/usr/bin/env python3
"""For container.sh, from files of this machine alone.
pip_image.py root DIR: puts this machine's own Python with its pip into the root file system DIR; says why it cannot.
pip_image.py index DIR FILE: an index of packages (PEP 503) in DIR on loopback, with one wheel that is made here; its port goes into FILE."""
import functools, http.server, os, re, shutil, subprocess, sys, sysconfig, zipfile


def root(to):
    try:
        import pip
    except ImportError:
        sys.exit("this machine's Python has no pip (package python3-pip)")
    lib, here = sysconfig.get_path("stdlib"), os.path.realpath(sys.executable)
    if not here.startswith("/usr/") or not lib.startswith("/usr/"):
        sys.exit("this machine's Python does not lie below /usr")
    needless = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "config-*", "lib2to3",
                                      "dist-packages", "site-packages", "EXTERNALLY-MANAGED")
    shutil.copytree(lib, to + lib, ignore=needless, ignore_dangling_symlinks=True)
    ours = os.path.dirname(pip.__file__)
    shutil.copytree(ours, to + ours, ignore=shutil.ignore_patterns("__pycache__"))
    objects = [here] + [os.path.join(d, f) for d, _, files in os.walk(to + lib) for f in files if f.endswith(".so")]
    said = subprocess.run(["ldd", *objects], capture_output=True, text=True).stdout
    for path in {here, *re.findall(r"(/\S+\.so\S*)(?= \(0x)", said)}:
        os.makedirs(os.path.dirname(to + path), exist_ok=True)
        if not os.path.exists(to + path):
            shutil.copy(path, to + path)
    if not os.path.exists(to + "/usr/bin/python3"):
        os.symlink(os.path.basename(here), to + "/usr/bin/python3")


def index(folder, port_file):
    there = os.path.join(folder, "simple", "tiny")
    os.makedirs(there)
    files = {"tiny.py": "word = 'little'\n",
             "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n",
             "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(os.path.join(there, "tiny-1-py3-none-any.whl"), "w") as z:
        for name, text in files.items():
            z.writestr(name, text)
        z.writestr("tiny-1.dist-info/RECORD", "".join(f"{n},,\n" for n in [*files, "tiny-1.dist-info/RECORD"]))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)   # a folder's listing is what pip wants to see
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with open(port_file + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


{"root": root, "index": index}[sys.argv[1]](*sys.argv[2:])
