// What runs in a pyodide box (src/sandbox/pyodide/pyodide.h): node with the npm package pyodide, one process for each command. The
// package is loaded, then the command comes; so a process can wait, ready, for the next one.
//
//   engine.mjs make PACKAGE          the memory of a fresh interpreter, on stdout: loading from it takes a sixth of the time
//   engine.mjs wait PACKAGE MEMORY   a byte 0x06 on stderr when it is ready; then the command comes on stdin: the length of a
//                                    JSON text (4 bytes, big end first) and the text; what follows is the program's stdin
//   engine.mjs tty PACKAGE MEMORY JOB   the command as a word, stdin is a terminal
//
// The command: {"argv":[..],"env":["NAME=value",..],"cwd":..}, each byte as the character of its number.
//
// Python runs in a thread of its own, so that this one hears signals: SIGINT becomes a KeyboardInterrupt; what does not
// react within two seconds is ended.
import fs from "node:fs";
import { spawnSync } from "node:child_process";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const [kind, folder, memory, word] = process.argv.slice(2);
const [FLAG, READS, IDLE, SLEEPS, ASKS] = [0, 1, 2, 3, 4]; // of the words that both threads see
const PATIENCE_MS = 2000;
const stays = kind === "tty" && JSON.parse(word).argv[0] === "shell"; // sandbox/shell.h
const SETTLE = "settle"; // what Python's thread asks the other; all else that it says is its status

const loaded = async (more) => {
	const { loadPyodide } = await import(folder + "/pyodide.mjs");
	const nothing = { setTimeout, clearTimeout, Object, Uint8Array }; // what Python sees as its module "js"
	return loadPyodide({ indexURL: folder + "/", jsglobals: nothing, env: {}, ...more });
};

const source = new URL("./engine.py", import.meta.url);
const prepare = (py) => py.runPython(fs.readFileSync(source, "utf8"), { filename: "<sandglass>" });

// --- the thread that Python runs in ---

// Sleeps until that time or a signal. Signals are counted: one that comes between the look and the wait ends the wait, too.
const sleep = (py, shared, until) => {
	for (;;) {
		const signals = Atomics.load(shared, SLEEPS), left = until - performance.now();
		py.checkInterrupt();
		if (left <= 0) return;
		Atomics.wait(shared, SLEEPS, signals, Math.min(left, 1e9));
	}
};

// Pipes may be such that do not wait.
const patient = (fn) => {
	for (;;)
		try {
			return fn();
		} catch (e) {
			if (e.code !== "EAGAIN") throw e;
			Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
		}
};

const writer = (fd) => ({ isatty: kind === "tty", write: (bytes) => patient(() => fs.writeSync(fd, bytes)) });

const reader = (shared) => ({
	isatty: kind === "tty",
	read: (bytes) => {
		Atomics.store(shared, READS, 1);
		try {
			return patient(() => fs.readSync(0, bytes, 0, bytes.length));
		} catch (e) {
			if (e.code === "EOF" || e.code === "EIO") return 0;
			throw e;
		} finally {
			Atomics.store(shared, READS, 0);
		}
	},
});

const readAll = (n) => {
	const bytes = Buffer.alloc(n);
	for (let at = 0; at < n; ) {
		const got = patient(() => fs.readSync(0, bytes, at, n - at));
		if (!got) process.exit(0); // nobody wants anything of us any more
		at += got;
	}
	return bytes;
};

const command = () => JSON.parse(kind === "tty" ? word : readAll(readAll(4).readUInt32BE(0)).toString());

async function python(shared) {
	const py = await loaded({ _loadSnapshot: fs.readFileSync(memory) });
	const places = { "/workspace": process.env.SANDGLASS_WORKSPACE || "/workspace", "/home/agent": process.env.HOME, "/tmp": process.env.TMPDIR || "/tmp" };
	for (const [at, root] of Object.entries(places)) {
		py.FS.mkdirTree(at);
		py.FS.mount(py.FS.filesystems.NODEFS, { root }, at);
	}
	for (const name of ["js", "pyodide_js"]) py.unregisterJsModule(name); // Python alone: what it finds in there is node, and the box its wall
	py.setStdin(reader(shared));
	py.setStdout(writer(1));
	py.setStderr(writer(2));
	const start = py.globals.get("start");
	if (kind === "wait") fs.writeSync(2, "\x06");
	const job = command();
	py.setInterruptBuffer(new Uint8Array(shared.buffer, 0, 1));
	const flag = new Uint8Array(shared.buffer);
	const hooks = {
		idle: (on) => {
			if (!on) Atomics.store(flag, 0, 0); // a ^C that came too late is not the next command's
			Atomics.store(shared, IDLE, on);
		},
		// Returns when each ^C that was typed before has been heard by the other thread, and drops it. Without a limit: a
		// thread that does not answer stops nothing either, and who typed the ^C ends the process after a while.
		settle: () => {
			Atomics.store(shared, IDLE, 1);
			Atomics.store(shared, ASKS, 1);
			parentPort.postMessage(SETTLE);
			Atomics.wait(shared, ASKS, 1);
			Atomics.store(flag, 0, 0);
		},
		sleep: (s) => sleep(py, shared, performance.now() + s * 1000),
	};
	let status;
	try {
		status = start(py.toPy(job.argv), py.toPy(job.env), job.cwd, hooks);
	} catch (e) {
		status = typeof e.status === "number" ? e.status : 134;
		if (status === 134) fs.writeSync(2, "python: the interpreter has crashed: " + (e.message || e) + "\n");
	}
	parentPort.postMessage(status);
}

// --- the thread that hears signals ---

const die = (signal) => {
	process.removeAllListeners(signal);
	process.kill(process.pid, signal);
};

// A signal that was sent before a message is with this thread when that next calls the kernel, which is in the turn of node's
// loop after the message's; its handlers are called in the next. So after three turns they have been.
const afterTurns = (n, fn) => (n ? setImmediate(afterTurns, n - 1, fn) : fn());

function supervise() {
	const shared = new Int32Array(new SharedArrayBuffer(20));
	const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2), workerData: shared, stdin: false,
		resourceLimits: { stackSizeMb: 16 } });
	const end = (status) => (status === -2 ? die("SIGINT") : process.exit(status));
	const settled = () => {
		Atomics.store(shared, ASKS, 0);
		Atomics.notify(shared, ASKS);
	};
	worker.on("message", (m) => (m === SETTLE ? afterTurns(3, settled) : end(m)));
	worker.on("exit", end);
	worker.on("error", (e) => {
		fs.writeSync(2, "pyodide: " + (e.message || e).toString().split("\n")[0] + "\n");
		process.exit(134);
	});
	const flag = new Uint8Array(shared.buffer);
	let patience;
	process.on("SIGUSR1", () => process.kill(process.pid, "SIGKILL")); // else node would open its debugger
	process.on("SIGINT", () => {
		if (Atomics.load(shared, IDLE)) return;
		if (Atomics.load(shared, READS) && !stays) return die("SIGINT"); // where it stays, a newline is typed after a ^C
		const heard = Atomics.exchange(flag, 0, 2) !== 2;
		Atomics.add(shared, SLEEPS, 1);
		Atomics.notify(shared, SLEEPS);
		if (patience && !heard) return;
		clearTimeout(patience);
		patience = setTimeout(() => {
			if (Atomics.load(shared, IDLE) || Atomics.load(flag, 0) !== 2) return;
			fs.writeSync(2, "python: did not react to the interrupt, ended\n");
			die("SIGINT");
		}, PATIENCE_MS);
	});
}

// A terminal of a shell tells what programs wrote and nothing else.
const plain = () => stays && spawnSync("stty", ["-echo", "-onlcr"], { stdio: [0, "ignore", "ignore"] });

process.on("uncaughtException", (e) => {
	fs.writeSync(2, ((e && e.message) || String(e)).split("\n")[0] + "\n");
	process.exit(1);
});
if (Number(process.versions.node.split(".")[0]) < 20) {
	fs.writeSync(2, `node ${process.versions.node} is too old: 20 or later is needed\n`);
	process.exit(1);
} else if (kind === "make") {
	const py = await loaded({ _makeSnapshot: true });
	prepare(py);
	const bytes = py.makeMemorySnapshot();
	for (let at = 0; at < bytes.length; ) at += patient(() => fs.writeSync(1, bytes, at));
} else if (isMainThread) {
	if (kind === "tty") plain();
	supervise();
} else {
	await python(workerData);
}
