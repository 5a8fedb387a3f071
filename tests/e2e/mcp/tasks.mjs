// An MCP server over pipes whose tools become tasks (2026-07-28, extension "tasks"). Checks each request of its client and
// each of its own answers with the schemas of the protocol's package. "tasks.mjs MODULES LOG": LOG gets one line per request.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const [modules, log] = process.argv.slice(2);
const v2 = await import(`${modules}/@modelcontextprotocol/ext-tasks/dist/core/v2/index.js`);
const tools = ["slow", "fails", "asks", "never", "gone", "steps"];
const tasks = new Map();
const send = (m) => process.stdout.write(JSON.stringify(m) + "\n");
const meta = { "io.modelcontextprotocol/serverInfo": { name: "tasks", version: "1" } };
const must = (good, what) => { if (!good) appendFileSync(log, `INVALID ${what}\n`); };

function status(t) {
  const base = { taskId: t.id, createdAt: t.at, lastUpdatedAt: t.at, ttlMs: 60000, pollIntervalMs: 50 };
  t.polls++;
  const done = { content: [{ type: "text", text: `${t.tool} is done` }], isError: t.tool === "fails" };
  if (t.stopped) return { ...base, status: "cancelled" };
  if (t.tool === "asks" && !t.answers)
    return { ...base, status: "input_required", inputRequests: { name: { method: "elicitation/create",
      params: { message: "who?", requestedSchema: { type: "object", properties: {} } } } } };
  if (t.tool === "asks") done.content[0].text = `answer: ${t.answers.name.action}`;
  if (t.tool === "gone") return { ...base, status: "failed", error: { code: -32603, message: "the disk is full" } };
  if (t.tool === "never" || t.polls < 3) return { ...base, status: "working", statusMessage: `step ${Math.min(t.polls, 9)}` };
  return { ...base, status: "completed", result: { resultType: "complete", ...done } };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line), p = m.params ?? {};
  const answer = (result) => send({ jsonrpc: "2.0", id: m.id, result: { resultType: "complete", _meta: meta, ...result } });
  const wrong = (code, message) => send({ jsonrpc: "2.0", id: m.id, error: { code, message } });
  if (m.id === undefined) return;
  appendFileSync(log, `${m.method} ${tasks.get(p.taskId)?.tool ?? p.name ?? ""}\n`);
  if (m.method === "server/discover") {
    const capabilities = { tools: {}, extensions: { [v2.TASKS_EXTENSION_ID_V2]: {} } };
    must(v2.hasTaskServerCapabilityV2(capabilities), "capabilities");
    return answer({ supportedVersions: ["2026-07-28"], capabilities, ttlMs: 0, cacheScope: "private" });
  }
  must(v2.hasTaskClientCapabilityV2(p), `client capability of ${m.method}`);
  if (m.method === "tools/list")
    return answer({ ttlMs: 0, cacheScope: "private", tools: tools.map((name) => ({ name, inputSchema: { type: "object" } })) });
  if (m.method === "tools/call") {
    const t = { id: `t-${tasks.size}`, tool: p.name, at: new Date().toISOString(), polls: 0 };
    tasks.set(t.id, t);
    const made = { resultType: "task", taskId: t.id, status: "working", createdAt: t.at, lastUpdatedAt: t.at, ttlMs: 60000,
      pollIntervalMs: 50, _meta: meta };
    must(v2.isToolCallTaskResultV2(m.method, made), "its own task");
    send({ jsonrpc: "2.0", id: m.id, result: made });
    if (p.name === "slow")   // nobody asked with this id
      send({ jsonrpc: "2.0", id: 0, result: { ...made, status: "completed", result: { content: [{ type: "text", text: "unrequested" }] } } });
    return;
  }
  const t = tasks.get(p.taskId);
  if (!t) return wrong(-32602, "no such task");
  if (m.method === "tasks/get") {
    must(v2.isGetTaskRequestV2(m), "tasks/get");
    const now = status(t);
    must(v2.isDetailedTaskV2(now), "its own status");
    return answer(now);
  }
  if (m.method === "tasks/update") {
    must(v2.isUpdateTaskRequestV2(m), "tasks/update");
    t.answers = p.inputResponses;
    return answer({});
  }
  if (m.method === "tasks/cancel") {
    must(v2.isCancelTaskRequestV2(m), "tasks/cancel");
    t.stopped = true;
    return answer({});
  }
  wrong(-32601, "no such method");
});
