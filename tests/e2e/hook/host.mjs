// Calls the plugin of OpenCode as OpenCode does: host.mjs PLUGIN
const { Sandglass } = await import(process.argv[2]);
const hooks = await Sandglass({ directory: process.cwd() });
async function call(command) {
	const of = { tool: "bash", sessionID: "oc", callID: command }, output = { args: { command } };
	try {
		await hooks["tool.execute.before"](of, output);
		await hooks["tool.execute.after"]({ ...of, args: output.args }, { title: "", output: "hi there", metadata: {} });
		console.log("allowed");
	} catch (e) {
		console.log("refused", e.message.includes("Nothing is removed") ? "by rule" : e.message.includes("not found") ? "not found" : e.message);
	}
}
await call("echo hi");
await call("rm -rf x");
const path = process.env.PATH;
process.env.PATH = "/usr/bin:/bin";
await call("echo hi");
process.env.PATH = path;
await hooks.event({ event: { type: "session.deleted", properties: { info: { id: "oc" } } } });
