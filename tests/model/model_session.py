"""One supervisor for many cases: it opens each case's sandbox in turn, and merges as it is asked on its control socket. After the
session's end the command does the same with the recording."""
import base64, json, os, socket, struct, time

from model_git import ENV, put, sh

HELLO, WELCOME, COMMAND, REPLY, STATE = 1, 2, 3, 4, 6


def lua_text(data):
    return '"' + "".join("\\%03d" % b for b in data) + '"'


def json_bytes(data):
    """Bytes as the protocol carries them."""
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    return {"b64": base64.b64encode(data).decode()}


SCRIPT = """local sg = require "sandglass"
for _, c in ipairs { %s } do
  local box = sg.sandbox { repo = c.repo, name = c.name }
  for i, work in ipairs(c.work) do
    local r, e = box:exec { "sh", "-c", work }
    local why = not r and tostring(e) or r.code ~= 0 and r.err or ""
    sg.ask { text = c.name .. " " .. i .. " " .. why, choices = { "on" } }
  end
  box:close()
end
sg.ask { text = "end", choices = { "on" } }
"""


def text_of(value):
    """Bytes that aren't UTF-8 travel as base64."""
    return base64.b64decode(value["b64"]).decode(errors="backslashreplace") if isinstance(value, dict) else value


class Session:
    def __init__(self, program, top, cases):
        self.program, self.top, self.next_id, self.asks = program, top, 1, []
        rows = ["{ name = 's%d', repo = %s, work = { %s } }" % (c.seed, lua_text(c.dir), ", ".join(lua_text(w) for w in c.scripts)) for c in cases]
        put(top, b"work.lua", "f", SCRIPT % ",\n".join(rows))
        put(top, b"any.lua", "f", 'return require("sandglass.policy").rules { default = "allow" }\n')
        self.id = sh([program, "run", "-d", "--policy", "any.lua", "work.lua"], cwd=top).stdout.decode().strip()
        path = os.path.join(os.fsencode(ENV["XDG_RUNTIME_DIR"]), b"sandglass", self.id.encode() + b".sock")
        self.sock = socket.socket(socket.AF_UNIX)
        until = time.monotonic() + 60
        while True:
            try:
                self.sock.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)
        self.sock.settimeout(120)
        self.send(HELLO, 0, {"version": 1, "min": 1, "program": "merge model", "name": "model", "stays": True})
        while self.receive()[0] != WELCOME:
            pass

    def send(self, kind, at, body):
        text = json.dumps(body).encode()
        self.sock.sendall(struct.pack("<IHHQ", len(text), kind, 0, at) + text)

    def read(self, size):
        out = b""
        while len(out) < size:
            more = self.sock.recv(size - len(out))
            if not more:
                raise EOFError("the supervisor has closed its socket")
            out += more
        return out

    def receive(self):
        size, kind, _, at = struct.unpack("<IHHQ", self.read(16))
        body = json.loads(self.read(size))
        if kind in (WELCOME, STATE):
            self.asks = (body["state"] if kind == WELCOME else body).get("asks", [])
        return kind, at, body

    def command(self, words, opts=None):
        at, self.next_id = self.next_id, self.next_id + 1
        self.send(COMMAND, at, {"words": words, "opts": opts or {}})
        while True:
            kind, got, body = self.receive()
            if kind == REPLY and got == at:
                return (body.get("result"), None) if body["ok"] else (None, text_of(body["error"]["text"]))

    def wait_ask(self, start):
        """Until the script asks for @start; returns the rest of its text."""
        while not (self.asks and self.asks[0]["text"].startswith(start)):
            self.receive()
        return self.asks[0]["text"][len(start):].strip()

    def go_on(self):
        ask, self.asks = self.asks[0]["ask"], []
        result, error = self.command(["answer", str(ask), "1"])
        if error:
            raise RuntimeError(error)

    def merge(self, case, mode, branch, paths, live):
        """Result and error, one of them None."""
        if live:
            opts = {"apply": {"apply": True}, "commits": {"commits": True}, "branch": {"to": branch}}[mode]
            if paths is not None:
                opts["path"] = [json_bytes(p) for p in paths]
            return self.command(["merge", "s%d" % case.seed], opts)
        args = {"apply": ["--apply"], "commits": ["--commits"], "branch": ["--to", branch]}[mode]
        for p in paths or []:
            args += ["--path", p]
        r = sh([self.program, "merge", "%s/s%d" % (self.id, case.seed), "--json", *args], check=False)
        if r.returncode:
            return None, (r.stderr or r.stdout).decode("utf-8", "replace")
        return json.loads(r.stdout.decode("utf-8", "surrogateescape").strip().split("\n")[-1])["result"], None

    def undo(self, event, live):
        """The error; None: undone. @event: of the merge; None: the last one."""
        if live:
            return self.command(["undo"] + (["#%d" % event] if event else []))[1]
        r = sh([self.program, "undo", "%s#%d" % (self.id, event) if event else self.id], check=False)
        return r.stderr.decode("utf-8", "replace") if r.returncode else None

    def end(self):
        self.wait_ask("end")
        self.go_on()
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            self.sock.close()
        until = time.monotonic() + 60
        while json.loads(sh([self.program, "ls", "--json"]).stdout.split(b"\n")[0])["live"]:
            if time.monotonic() > until:
                raise RuntimeError("the session does not end")
            time.sleep(0.05)

    def close(self):
        """What a case left running ends."""
        sh([self.program, "stop", "--now", "-S", self.id], check=False)
