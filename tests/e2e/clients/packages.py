"""Packages for the indexes of server.py: a wheel, an npm package, and a directory of Debian packages. packages.py WWW"""
import base64, gzip, hashlib, io, json, os, subprocess, sys, tarfile, zipfile

www = sys.argv[1]


def wheel():
    path = os.path.join(www, "files", "hourglass-1.0-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("hourglass.py", "text = 'hello'\n")
        z.writestr("hourglass-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hourglass\nVersion: 1.0\n")
        z.writestr("hourglass-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr("hourglass-1.0.dist-info/RECORD", "")


def npm():
    folder = os.path.join(www, "npm-files")
    os.makedirs(folder)
    path = os.path.join(folder, "hourglass-1.0.0.tgz")
    text = json.dumps({"name": "hourglass", "version": "1.0.0"}).encode()
    with tarfile.open(path, "w:gz") as t:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(text)
        t.addfile(entry, io.BytesIO(text))
    data = open(path, "rb").read()
    facts = {"shasum": hashlib.sha1(data).hexdigest(), "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()}
    with open(os.path.join(www, "npm.json"), "w") as f:
        json.dump({"hourglass": facts}, f)


def debian():
    tree = os.path.join(www, "apt-tree", "DEBIAN")
    os.makedirs(tree)
    with open(os.path.join(tree, "control"), "w") as f:
        f.write("Package: hourglass\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@example.org>\nDescription: x\n")
    folder = os.path.join(www, "apt")
    os.makedirs(folder)
    subprocess.run(["dpkg-deb", "-b", os.path.dirname(tree), os.path.join(folder, "hourglass_1.0_all.deb")], check=True, stdout=subprocess.DEVNULL)
    data = open(os.path.join(folder, "hourglass_1.0_all.deb"), "rb").read()
    with open(os.path.join(tree, "control")) as f:
        entry = f.read() + "Filename: ./hourglass_1.0_all.deb\nSize: %d\nSHA256: %s\n" % (len(data), hashlib.sha256(data).hexdigest())
    for file, text in (("Packages", entry.encode()), ("Packages.gz", gzip.compress(entry.encode()))):
        with open(os.path.join(folder, file), "wb") as f:
            f.write(text)


wheel()
npm()
try:
    debian()
except (OSError, subprocess.CalledProcessError):
    pass  # not Debian: apt is a skip
