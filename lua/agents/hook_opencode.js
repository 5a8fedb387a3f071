// A plugin of OpenCode: asks `sandglass hook` before each tool call and tells it the result. A call that can't be asked is refused.
import { spawn } from "node:child_process";

const COMMAND = "@COMMAND@";

function tell(name, session, directory, fields) {
	const event = JSON.stringify({ hook_event_name: name, session_id: session, cwd: directory, ...fields });
	return new Promise((done) => {
		const child = spawn("/bin/sh", ["-c", COMMAND], { cwd: directory, stdio: ["pipe", "pipe", "pipe"] });
		let out = "", err = "";
		child.stdout.on("data", (piece) => (out += piece));
		child.stderr.on("data", (piece) => (err += piece));
		child.on("error", (e) => done({ status: 127, out, err: String(e) }));
		child.on("close", (status) => done({ status, out, err }));
		child.stdin.on("error", () => {});
		child.stdin.end(event);
	});
}

export const Sandglass = async ({ directory }) => ({
	event: async ({ event }) => {
		const of = event.properties ?? {};
		if (event.type === "session.created") await tell("SessionStart", of.info?.id ?? of.sessionID, directory, { source: "startup" });
		if (event.type === "session.idle") await tell("Stop", of.sessionID, directory, {});
		if (event.type === "session.deleted") await tell("SessionEnd", of.info?.id ?? of.sessionID, directory, {});
	},
	"chat.message": async ({ sessionID }, { parts }) => {
		const prompt = parts.filter((p) => p.type === "text").map((p) => p.text).join("\n");
		await tell("UserPromptSubmit", sessionID, directory, { prompt });
	},
	"tool.execute.before": async ({ tool, sessionID, callID }, output) => {
		const said = await tell("PreToolUse", sessionID, directory, { tool_name: tool, tool_use_id: callID, tool_input: output.args });
		if (said.status !== 0) throw new Error(said.err.trim() || `sandglass hook ended with status ${said.status}`);
		const decision = JSON.parse(said.out).hookSpecificOutput;
		if (decision.permissionDecision === "deny") throw new Error(decision.permissionDecisionReason);
		if (decision.updatedInput) Object.assign(output.args, decision.updatedInput);
	},
	"tool.execute.after": async ({ tool, sessionID, callID, args }, output) => {
		await tell("PostToolUse", sessionID, directory, { tool_name: tool, tool_use_id: callID, tool_input: args, tool_response: output.output });
	},
});
