-- The Node half of sandglass.interpreter. The main thread runs the code; a worker owns the socket, so that code that loops
-- can be interrupted when its client has gone.
local M = {}

local SERVER = [==[
const vm = require("vm"), util = require("util");
const fs = require("fs"), folder = require("path").resolve(process.env.TMPDIR || "/tmp"), [, name, client] = process.argv;
const path = `/proc/self/fd/${fs.openSync(folder)}/${name}`;
const { Worker } = require("worker_threads"), { createRequire } = require("module");
const WORKER = `
const net = require("net"), fs = require("fs"), { parentPort, workerData: path } = require("worker_threads");
const queue = [];
let now = null;
function next() {
  if (now || !queue.length) return;
  now = queue.shift();
  parentPort.postMessage({ run: now.code });
}
parentPort.on("message", (m) => {
  if (!now) return;
  const last = "end" in m;
  if (!now.gone) now.s[last ? "end" : "write"](JSON.stringify(m) + "\\n");
  if (last) { now = null; next(); }
});
net.createServer((s) => {
  const one = { s, code: "", gone: false };
  let got = "";
  s.setEncoding("utf8");
  s.on("data", (d) => {
    got += d;
    if (!got.endsWith("\\n") || one.code) return;
    one.code = JSON.parse(got);
    queue.push(one);
    next();
  });
  s.on("error", () => {});
  s.on("close", () => {
    one.gone = true;
    if (queue.includes(one)) queue.splice(queue.indexOf(one), 1);
    if (now !== one) return;
    parentPort.postMessage({ stop: true });
    process.kill(process.pid, "SIGINT");
  });
}).listen(path + ".new", () => { fs.renameSync(path + ".new", path); parentPort.postMessage({ ready: true }); });
`;
const worker = new Worker(WORKER, { eval: true, workerData: path });
let busy = false, stop = null;
const say = (o, d) => { if (busy) worker.postMessage({ o, d: Buffer.from(d).toString("base64") }); };
for (const [name, o] of [["stdout", 1], ["stderr", 2]])
  process[name].write = (d, encoding, done) => {
    say(o, typeof d === "string" ? Buffer.from(d, typeof encoding === "string" ? encoding : "utf8") : d);
    done = typeof encoding === "function" ? encoding : done;
    if (done) process.nextTick(done);
    return true;
  };
class Exit { constructor(status) { this.status = status; } }
process.exit = (status) => { throw new Exit(status === undefined ? process.exitCode || 0 : +status); };
process.on("SIGINT", () => {});
const trace = (e) => {
  if (!(e instanceof Error)) return "Uncaught " + util.inspect(e);
  const lines = String(e.stack || e).split("\n");
  const ours = lines.findIndex((l) => /^ +at .*(Script\.runIn|runInThisContext|node:vm|node:internal|\[eval\])/.test(l));
  return (ours > 0 ? lines.slice(0, ours) : lines).join("\n");
};
process.on("uncaughtException", (e) => { if (!(e instanceof Exit)) say(2, trace(e) + "\n"); });
process.on("unhandledRejection", (e) => say(2, trace(e) + "\n"));
Object.assign(globalThis, { require: createRequire(process.cwd() + "/"), module: { exports: {} }, exports: {} });
const options = { filename: "code.js", breakOnSigint: true, importModuleDynamically: vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
if (!options.importModuleDynamically) delete options.importModuleDynamically;
const here = (code) => new vm.Script(code, options).runInThisContext(options);
/* Code with await at its top runs in a function; what it declares at the beginning of a line becomes global. */
const AsyncFunction = (async () => {}).constructor;
function awaiting(code) {
  const body = code.replace(/^(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=/gm, "globalThis.$1 =")
    .replace(/^(?:const|let|var)\s+([{[][^=]*[}\]])\s*=/gm, "0, $1 =")
    .replace(/^(async\s+function|function|class)\s+([A-Za-z_$][\w$]*)/gm, "globalThis.$2 = $1 $2");
  const at = body.trimEnd().lastIndexOf("\n") + 1;
  const last = body.slice(at).trim().replace(/;$/, "");
  for (const text of [body.slice(0, at) + "\nreturn (" + last + "\n)", body])
    try { new AsyncFunction(text); return "(async () => {" + text + "\n})()"; } catch { /* its last line is no expression */ }
  return null;
}
async function evaluate(code) {
  let script;
  try { script = new vm.Script(code, options); } catch (e) {
    const text = /\bawait\b/.test(code) ? awaiting(code) : null;
    if (!text) throw e;
    return await Promise.race([here(text), new Promise((_, no) => { stop = no; })]);
  }
  const value = script.runInThisContext(options);
  return value instanceof Promise ? await Promise.race([value, new Promise((_, no) => { stop = no; })]) : value;
}
let before = Promise.resolve();
const structured = (o, what) => say(o, "\0sandglass:" + JSON.stringify(what) + "\0");
async function run(asked) {
  busy = true;
  let status = 0;
  const before = {};
  for (const name in asked.env) { before[name] = process.env[name]; process.env[name] = asked.env[name]; }
  try {
    const value = await evaluate(asked.code), text = util.inspect(value, { depth: 4 });
    if (value !== undefined && asked.structured) structured(1, { value: text });
    else if (value !== undefined) say(1, text + "\n");
  } catch (e) {
    if (e instanceof Exit) status = e.status & 255;
    else if (e && (e.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED" || e === "stopped")) status = 130;
    else {
      if (asked.structured) structured(2, { name: (e && e.name) || "Error", error: String((e && e.message) || e), traceback: trace(e) });
      else say(2, trace(e) + "\n");
      status = 1;
    }
  }
  stop = null;
  for (const name in before)
    if (before[name] === undefined) delete process.env[name]; else process.env[name] = before[name];
  worker.postMessage({ end: status });
  busy = false;
}
worker.on("message", (m) => {
  if (m.stop) { if (stop) stop("stopped"); return; }
  if (m.ready) {
    fs.writeFileSync(`${path}.js`, client);
    fs.writeSync(1, `${folder}/${name}.js\n`);
    return;
  }
  before = before.then(() => run(m.run));
});
]==]

local CLIENT = [==[
const net = require("net"), fs = require("fs"), [, , text, more] = process.argv;
const { stdin, ...asked } = JSON.parse(more || "{}");
const line = JSON.stringify({ ...asked, code: stdin ? fs.readFileSync(0, "utf8") : text }) + "\n";
const path = `/proc/self/fd/${fs.openSync(__dirname)}/${require("path").basename(__filename, ".js")}`;
let end = null, got = "";
const s = net.connect(path, () => s.write(line));
s.setEncoding("utf8");
s.on("data", (d) => {
  const lines = (got + d).split("\n");
  got = lines.pop();
  for (const line of lines) {
    const m = JSON.parse(line);
    if ("end" in m) process.exitCode = end = m.end;
    else (m.o === 2 ? process.stderr : process.stdout).write(Buffer.from(m.d, "base64"));
  }
});
s.on("error", () => {});
s.on("close", () => {
  if (end !== null) return;
  process.stderr.write("the interpreter has ended: open another one\n");
  process.exitCode = 1;
});
]==]

M.program = "node"

function M.start_words(name) return { "node", "-e", SERVER, name, CLIENT } end

return M
