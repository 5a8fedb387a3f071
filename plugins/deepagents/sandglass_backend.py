"""A recorded sandglass box as the sandbox backend of a deep agent (PyPI deepagents):

    from deepagents import create_deep_agent
    from sandglass_backend import SandglassBackend

    with SandglassBackend(repo="~/lang") as box:
        agent = create_deep_agent(model="anthropic:claude-sonnet-4-5", backend=box)
        agent.invoke({"messages": "make the tests pass"})

It starts `sandglass mcp serve` and speaks MCP with it: each command and file is an action of a session of its own, judged by your
policy, held for you, recorded, verified (`sandglass watch`, `sandglass verify`). Key, prompt and agent stay where they are.
"""
import base64
import itertools
import json
import queue
import subprocess
import threading

from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
from deepagents.backends.sandbox import BaseSandbox


class SandglassBackend(BaseSandbox):
    def __init__(self, repo=None, program="sandglass", args=()):
        """repo: a copy of it is the box's /workspace. args: more options of `mcp serve` (--policy FILE, --name NAME, ...)."""
        words = [program, "mcp", "serve", *(["--repo", str(repo)] if repo else []), *args]
        self._child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._numbers, self._waiting, self._lock = itertools.count(1), {}, threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "deepagents", "version": "1"}})
        self._send({"method": "notifications/initialized"})
        self._id = self._tool("sandbox_create", name="deepagents")["structuredContent"]["sandbox_id"]

    def _read(self):
        for line in self._child.stdout:
            message = json.loads(line)
            waiting = self._waiting.pop(message.get("id"), None) if "method" not in message else None
            if waiting:
                waiting.put(message)
        with self._lock:
            gone, self._waiting = self._waiting, None
        for waiting in gone.values():
            waiting.put({"error": {"message": "sandglass has ended"}})

    def _send(self, message):
        with self._lock:
            self._child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self._child.stdin.flush()

    def _ask(self, method, params):
        number, answer = next(self._numbers), queue.Queue()
        with self._lock:
            if self._waiting is None:
                raise RuntimeError("sandglass has ended")
            self._waiting[number] = answer
        self._send({"id": number, "method": method, "params": params})
        message = answer.get()
        if "error" in message:
            raise RuntimeError(message["error"].get("message", "sandglass refused"))
        return message["result"]

    def _tool(self, which, **arguments):
        return self._ask("tools/call", {"name": which, "arguments": arguments})

    @staticmethod
    def _text(result):
        return "".join(c.get("text", "") for c in result.get("content", []))

    @property
    def id(self):
        return self._id

    def execute(self, command, *, timeout=None):
        more = {"timeout_ms": int(timeout * 1000)} if timeout else {}
        result = self._tool("sandbox_exec", sandbox_id=self._id, cmd=command, **more)
        got = result.get("structuredContent")
        if result.get("isError") and not got:
            return ExecuteResponse(output=self._text(result), exit_code=126)  # denied, timed out: the model hears why
        code = got.get("exit_code")
        return ExecuteResponse(output=got["stdout"] + got["stderr"], exit_code=code if code is not None else 137, truncated=got["truncated"])

    def upload_files(self, files):
        out = []
        for path, content in files:
            result = self._tool("sandbox_write", sandbox_id=self._id, path=path, content=base64.b64encode(content).decode(), encoding="base64")
            out.append(FileUploadResponse(path=path, error=self._text(result) if result.get("isError") else None))
        return out

    def download_files(self, paths):
        out = []
        for path in paths:
            result = self._tool("sandbox_read", sandbox_id=self._id, path=path)
            if result.get("isError"):
                why = self._text(result)
                out.append(FileDownloadResponse(path=path, error="file_not_found" if "no such" in why.lower() or "not found" in why.lower() else why))
                continue
            one = (result.get("content") or [{}])[0]
            resource = one.get("resource", {})
            blob = one.get("data") or resource.get("blob")
            text = one.get("text", resource.get("text", ""))
            out.append(FileDownloadResponse(path=path, content=base64.b64decode(blob) if blob else text.encode()))
        return out

    def close(self):
        self._child.stdin.close()
        self._child.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
