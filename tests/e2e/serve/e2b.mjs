// What only `sandglass serve e2b` has, by the vendor's SDK: terminals, what runs in the background, watched folders, times.
import { createRequire } from "node:module";
const require = createRequire(process.argv[3] + "/x.js");
const { Sandbox } = require("e2b");
const ok = (good, name) => { console.log((good ? "ok " : "not ok ") + name); if (!good) process.exitCode = 1; };
const until = async (fn) => { for (let end = Date.now() + 20000; Date.now() < end && !(await fn());) await new Promise((r) => setTimeout(r, 20)); return fn(); };
const wrong = async (p) => { try { await p; return ""; } catch (e) { return String(e.message ?? e); } };
const box = await Sandbox.create({ metadata: { name: "more", of: "tests" }, envs: { OF: "the box" }, timeoutMs: 600000 });

let seen = "";
const pty = await box.pty.create({ cols: 90, rows: 20, cwd: "/tmp", envs: { GIVEN: "to it" }, onData: (d) => { seen += Buffer.from(d).toString(); } });
await box.pty.sendInput(pty.pid, new TextEncoder().encode("stty size; pwd; echo \"$GIVEN:$OF:$TERM\"\r"));
ok(await until(() => seen.includes("20 90") && seen.includes("to it:the box:xterm-256color") && seen.includes("/tmp")), "a terminal has its size, place and environment");
await box.pty.resize(pty.pid, { cols: 101, rows: 31 });
seen = "";
await box.pty.sendInput(pty.pid, new TextEncoder().encode("stty size\r"));
ok(await until(() => seen.includes("31 101")), "and is made larger");
let other = "";
const again = await box.pty.connect(pty.pid, { onData: (d) => { other += Buffer.from(d).toString(); } });
await box.pty.sendInput(pty.pid, new TextEncoder().encode("echo from-$((40+2))\r"));
ok(await until(() => other.includes("from-42")), "a second one looks at it");
await again.disconnect();
ok(await box.pty.kill(pty.pid), "it is killed");

let out = "";
const job = await box.commands.run("echo one; read L; echo got $L; cat; exit 3", { background: true, stdin: true, onStdout: (d) => { out += d; } });
ok(await until(() => out.includes("one")), "output comes while the command runs");
ok((await box.commands.list()).some((p) => p.pid === job.pid), "which is listed");
await job.disconnect();
const back = await box.commands.connect(job.pid, { onStdout: (d) => { out += d; } });
await box.commands.sendStdin(job.pid, "a line\nmore\n");
ok(await until(() => out.includes("got a line\nmore")), "is left, found again and given input");
if (box.commands.closeStdin) await box.commands.closeStdin(job.pid); else await back.kill();
const end = await back.wait().catch((e) => e);
ok(end.exitCode === 3 || end.exitCode === -1, "and comes to its end");
ok(!(await box.commands.kill(job.pid)), "then there is nothing to kill");
ok((await box.commands.run("pwd; echo $A", { cwd: "/tmp", envs: { A: "b" } })).stdout === "/tmp\nb\n", "a command has its place and environment");
ok((await wrong(box.commands.run("sleep 60", { timeoutMs: 300 }))).includes("timeout"), "and its time");

const events = [];
await box.files.makeDir("/workspace/w/sub");
const watch = await box.files.watchDir("/workspace/w", (e) => { events.push(e.type + " " + e.name); }, { recursive: true });
await box.files.write("/workspace/w/a", "1");
await until(() => events.includes("create a"));
await box.files.write("/workspace/w/a", "two");
await until(() => events.includes("write a"));
await box.files.rename("/workspace/w/a", "/workspace/w/sub/b");
await until(() => events.includes("create sub/b"));
await box.files.remove("/workspace/w/sub/b");
await until(() => events.includes("remove sub/b"));
ok(["create a", "write a", "rename a", "create sub/b", "remove sub/b"].every((e) => events.includes(e)), "a folder is watched: " + events.join(", "));
await watch.stop();
ok(await wrong(box.files.watchDir("/workspace/none", () => {})), "one that is not there is not");
ok((await box.files.getInfo("/workspace/w/sub")).type === "dir" && (await box.files.exists("/workspace/w")) && !(await box.files.exists("/workspace/x")), "what is there is told");
ok((await box.files.write([{ path: "/workspace/p", data: "p" }, { path: "/workspace/q", data: "q" }])).length === 2, "several files are written at once");
ok((await wrong(box.files.read("/workspace/none"))).includes("No such file"), "what is not there is said to be");

const info = await box.getInfo();
ok(info.metadata.of === "tests" && info.state === "running" && info.endAt - info.startedAt >= 600000 && info.endAt - info.startedAt < 660000, "says what it is and when it ends");
await box.setTimeout(1200000);
ok((await box.getInfo()).endAt - info.endAt >= 600000, "lives longer when asked");
ok(await box.isRunning(), "runs");
await box.pause();
ok((await wrong(box.commands.run("echo hi"))) && (await box.getInfo()).state === "paused", "paused, it takes no command");
ok((await wrong(box.setTimeout(1000))).includes("connect to it"), "nor a time");
await Sandbox.connect(box.sandboxId);
ok((await box.commands.run("cat /workspace/p")).stdout === "p", "and goes on when it is connected to");
await box.files.write("/workspace/served/index.html", "from a port");
await box.commands.run("cd /workspace/served && exec python3 -m http.server 3000", { background: true });
const named = (host) => new Promise((resolve) => {   // Node's resolver need not know names below localhost
  const [name, port] = host.split(":");
  require("node:http").get({ host: "127.0.0.1", port, path: "/index.html?x=1", headers: { Host: host } }, (r) => { r.resume(); resolve([r.statusCode, r.headers.location]); }).on("error", () => resolve([]));
});
const [led, to] = await named(box.getHost(3000));
ok(led === 307 && to.endsWith("/index.html?x=1"), "the name of a port leads on");
ok(await until(async () => (await fetch(to).then((r) => r.text()).catch(() => "")) === "from a port"), "to what the sandbox serves there");
ok((await named("3000-none." + box.getHost(3000).split(".")[1]))[0] === 404, "and that of no sandbox nowhere");
// the code interpreter, as @e2b/code-interpreter asks for it
const interpreter = async (path, body, token = box.trafficAccessToken, method = "POST") => {
  const headers = { "Content-Type": "application/json", "E2b-Sandbox-Id": box.sandboxId, "E2b-Sandbox-Port": "49999", "E2B-Traffic-Access-Token": token };
  const r = await fetch(process.env.E2B_SANDBOX_URL + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await r.text();
  return [r.status, path === "/execute" && r.ok ? text.trim().split("\n").map(JSON.parse) : text];
};
const told = async (body) => (await interpreter("/execute", body))[1];
await told({ code: "x = 20" });
const gave = await told({ code: "import os\nprint(os.environ['E'])\nx + 1", env_vars: { E: "env" } });
ok(gave.map((m) => m.type).join() === "stdout,result,number_of_executions,end_of_execution" && gave[0].text === "env\n" && gave[1].text === "21" && gave[1].is_main_result && gave[2].execution_count === 2,
  "the code interpreter keeps variables: " + JSON.stringify(gave));
const raised = (await told({ code: "x / 0" }))[0];
ok(raised.type === "error" && raised.name === "ZeroDivisionError" && raised.traceback.includes("<code>"), "an exception has its name and traceback");
ok((await told({ code: "let y = 4; y", language: "javascript" }))[0].text === "4", "JavaScript as well");
const context = JSON.parse((await interpreter("/contexts", { cwd: "/tmp" }))[1]);
ok((await told({ code: "import os; os.getcwd()", context_id: context.id }))[0].text === "'/tmp'", "a context has a directory of its own");
await told({ code: "z = 1", context_id: context.id });
ok((await interpreter(`/contexts/${context.id}/restart`))[0] === 204 && (await told({ code: "z", context_id: context.id }))[0].name === "NameError", "and forgets all when it begins again");
ok((await interpreter(`/contexts/${context.id}`, undefined, box.trafficAccessToken, "DELETE"))[0] === 204 && (await interpreter("/execute", { code: "1", context_id: context.id }))[0] === 404, "a deleted one is not there");
ok((await interpreter("/execute", { code: "1" }, "wrong"))[0] === 401, "the interpreter asks for the key");

const brief = await Sandbox.create({ timeoutMs: 1000 });
ok(await until(async () => !(await brief.isRunning().catch(() => false))), "one whose time is over is gone");
const naps = await Sandbox.create({ timeoutMs: 1000, lifecycle: { onTimeout: "pause" } });
ok(await until(async () => (await naps.getInfo()).state === "paused"), "or is paused, if that was asked for");
ok((await wrong(Sandbox.create({ mcp: { x: {} } }))).includes("no MCP gateway"), "what is not offered is said");
await naps.kill();
ok((await box.kill()) && !(await box.kill()), "is killed once");
process.exit();
