#!/usr/bin/env python3
"""One page in a headless Chromium: browser.py CHROMIUM PAGE PICTURE STEP...

Speaks the devtools protocol over the pipe (descriptors 3 and 4), so that nothing but the browser is needed. Prints what the page
said on its console, what its policy refused, what it asked for over the network and which dialogs it opened, one line each; then
the value of each STEP: a JavaScript expression (a promise is waited for), or "wait MS". Takes PICTURE (PNG) at the end."""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, program):
        self.home = tempfile.mkdtemp()
        to, out = os.pipe()
        back, from_ = os.pipe()
        args = [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--user-data-dir=" + self.home, "--window-size=1200,900", "--hide-scrollbars", "--remote-debugging-pipe", "about:blank"]

        def place():
            high = os.dup(to), os.dup(from_)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(args, preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to)
        os.close(from_)
        self.out, self.back, self.rest = out, back, b""
        self.ids, self.session, self.events = 0, None, []

    def read(self):
        while b"\0" not in self.rest:
            got = os.read(self.back, 1 << 20)
            if not got:
                raise SystemExit("the browser ended")
            self.rest += got
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **params):
        self.ids += 1
        mine = self.ids
        what = {"id": mine, "method": method, "params": params}
        if self.session:
            what["sessionId"] = self.session
        os.write(self.out, json.dumps(what).encode() + b"\0")
        while True:
            got = self.read()
            if got.get("id") == mine:
                if "error" in got:
                    raise SystemExit("%s: %s" % (method, got["error"]))
                return got["result"]
            self.events.append(got)
            if got.get("method") == "Page.javascriptDialogOpening":  # else the page stands still
                self.ids += 1
                os.write(self.out, json.dumps({"id": self.ids, "method": "Page.handleJavaScriptDialog", "sessionId": self.session,
                                               "params": {"accept": False}}).encode() + b"\0")

    def until(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.read())

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def tell(events):
    for e in events:
        p = e.get("params", {})
        kind = e.get("method")
        if kind == "Log.entryAdded":
            print("log:", p["entry"]["source"], p["entry"]["text"])
        elif kind == "Runtime.consoleAPICalled":
            print("console:", p["type"], *(a.get("value", a.get("description")) for a in p["args"]))
        elif kind == "Runtime.exceptionThrown":
            print("exception:", p["exceptionDetails"].get("exception", {}).get("description", p["exceptionDetails"]["text"]))
        elif kind == "Page.javascriptDialogOpening":
            print("dialog:", p["message"])
        elif kind == "Audits.issueAdded" and p["issue"]["code"] == "ContentSecurityPolicyIssue":
            print("policy:", p["issue"]["details"]["contentSecurityPolicyIssueDetails"]["violatedDirective"])
        elif kind == "Network.requestWillBeSent" and not p["request"]["url"].startswith(("file:", "data:")):
            print("request:", p["request"]["url"])
        elif kind == "Page.frameNavigated" and p["frame"]["url"] not in ("about:blank", sys.argv[2]):
            print("navigated:", p["frame"]["url"])


def main():
    b = Browser(sys.argv[1])
    try:
        target = b.call("Target.createTarget", url="about:blank")["targetId"]
        b.session = b.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network", "Audits":
            b.call(domain + ".enable")
        b.events.clear()
        b.call("Page.navigate", url=sys.argv[2])
        b.until("Page.loadEventFired")
        values = []
        for step in sys.argv[4:]:
            if step.startswith("wait "):
                time.sleep(int(step[5:]) / 1000)
                continue
            got = b.call("Runtime.evaluate", expression=step, awaitPromise=True, returnByValue=True, userGesture=True)
            values.append(got["result"].get("value", got.get("exceptionDetails", {}).get("text")))
        picture = b.call("Page.captureScreenshot", format="png")["data"]
        with open(sys.argv[3], "wb") as f:
            f.write(base64.b64decode(picture))
        tell(b.events)
        for v in values:
            print("value:", v if isinstance(v, str) else json.dumps(v))
    finally:
        b.close()


main()
