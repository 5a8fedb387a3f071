"""Another process writes a file of the host again and again while that file is merged."""
import ctypes, os, struct, threading

LIBC = ctypes.CDLL(None, use_errno=True)
NONBLOCK, CLOEXEC = 0o4000, 0o2000000
OPENED, MOVED_FROM, MOVED_TO = 0x20, 0x40, 0x80


class Writer(threading.Thread):
    """Replaces a file until the end of the block, each time with another last line; @pause None: once, as soon as another process has
    replaced it. @last: of the newest version."""

    def __init__(self, path, beside, data, pause):
        super().__init__()
        self.path, self.beside, self.data, self.last, self.writes, self.over = path, beside, data, b"", 0, threading.Event()
        self.pause, st = pause, os.stat(path)
        self.mode, self.inode = st.st_mode & 0o777, st.st_ino

    def write(self):
        last = b"written meanwhile %d\n" % (self.writes + 1)
        with open(self.beside, "wb") as f:
            f.write(self.data + last)
        os.chmod(self.beside, self.mode)
        os.replace(self.beside, self.path)
        self.last, self.writes = last, self.writes + 1

    def is_replaced(self):
        try:
            return os.stat(self.path).st_ino != self.inode
        except FileNotFoundError:
            return False

    def run(self):
        if self.pause is None:
            while not self.over.is_set() and not self.is_replaced():
                pass
            self.write()
            return
        while self.writes == 0 or not self.over.wait(self.pause):
            self.write()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


class Watch:
    """What happened to a file, in order: "put" by a merge, "read", "written" by another process."""

    def __init__(self, path):
        self.name, self.fd = os.path.basename(path), LIBC.inotify_init1(NONBLOCK | CLOEXEC)
        if self.fd < 0 or LIBC.inotify_add_watch(self.fd, os.path.dirname(path), OPENED | MOVED_FROM | MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def raw(self):
        out = []
        try:
            while True:
                data, at = os.read(self.fd, 1 << 16), 0
                while at < len(data):
                    _, mask, cookie, size = struct.unpack_from("iIII", data, at)
                    out.append((mask, cookie, data[at + 16:at + 16 + size].rstrip(b"\0")))
                    at += 16 + size
        except BlockingIOError:
            os.close(self.fd)
        return out

    def story(self):
        out, moved = [], {}
        for mask, cookie, name in self.raw():
            if mask & MOVED_FROM:
                moved[cookie] = name
            elif name == self.name:
                out.append("read" if mask & OPENED else "put" if moved.get(cookie, b"").startswith(b".sandglass-") else "written")
        return out

    def written_before_read(self):
        """Did another process write the file after the merge put it there, and before the merge read it back?"""
        story = self.story()
        after = story[story.index("put") + 1:] if "put" in story else []
        return "written" in after[:after.index("read")] if "read" in after else False
