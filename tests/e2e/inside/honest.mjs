// Is the small agent of these tests what it says? The protocol's own library for clients starts it, checks every message against
// the protocol's schema, and lets it do what the tests let it do. honest.mjs SDK_FOLDER AGENT
import { spawn } from "node:child_process";
import { mkdtempSync, existsSync } from "node:fs";
import { Readable, Writable } from "node:stream";
const acp = await import(process.argv[2] + "/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js");
const dir = mkdtempSync("/tmp/honest-");
const seen = [];
let asked = 0;
async function run(work) {
  const p = spawn("python3", [process.argv[3]], { cwd: dir, env: { ...process.env, HOME: dir }, stdio: ["pipe", "pipe", "inherit"] });
  const app = acp.client({ name: "honest" });
  app.onNotification(acp.methods.client.session.update, ({ params }) => { seen.push(params.update.sessionUpdate); });
  app.onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    asked++;
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } };
  });
  await app.connectWith(acp.ndJsonStream(Writable.toWeb(p.stdin), Readable.toWeb(p.stdout)), work);
  p.kill();
}
const init = { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false } };
const m = acp.methods.agent;
let id;
await run(async (ctx) => {
  const hello = await ctx.request(m.initialize, init);
  if (hello.protocolVersion !== 1 || !hello.agentCapabilities.loadSession) throw new Error("initialize");
  id = (await ctx.request(m.session.new, { cwd: dir, mcpServers: [] })).sessionId;
  const text = (t) => ({ sessionId: id, prompt: [{ type: "text", text: t }] });
  const r = await ctx.request(m.session.prompt, text("touch:a ids both write:w plan usage say:hello"));
  if (r.stopReason !== "end_turn") throw new Error("stop " + r.stopReason);
  const hanging = ctx.request(m.session.prompt, text("hang"));
  await ctx.notify(m.session.cancel, { sessionId: id });
  if ((await hanging).stopReason !== "cancelled") throw new Error("cancel");
});
await run(async (ctx) => {
  await ctx.request(m.initialize, init);
  await ctx.request(m.session.load, { sessionId: id, cwd: dir, mcpServers: [] });
});
const want = ["tool_call", "tool_call_update", "plan", "usage_update", "agent_message_chunk", "user_message_chunk"];
const missing = want.filter((w) => !seen.includes(w));
if (missing.length || asked !== 4 || !existsSync(dir + "/a")) throw new Error(`missing ${missing}, asked ${asked}`);
console.log("honest");
