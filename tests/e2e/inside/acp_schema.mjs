// Do our messages to an agent fit the protocol's published schema? acp_schema.mjs MODULES VERSION AGENT_OUTPUT [both] <EVENTS
// both: the agent's messages must fit, too.
// Prints one line per fault, and at the end how many messages it has looked at.
import { readFileSync } from "node:fs";
const [modules, version, output, both] = process.argv.slice(2);
const { default: Ajv } = await import(`${modules}/ajv/dist/2020.js`);
const schema = JSON.parse(readFileSync(`${modules}/@agentclientprotocol/sdk/schema/${version}/schema.json`));
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");
const lines = (text) => text.split("\n").flatMap((l) => { try { return [JSON.parse(l)]; } catch { return []; } });
const theirs = lines(readFileSync(output, "utf8"));
const ours = lines(lines(readFileSync(0, "utf8")).filter((e) => e.kind === "proc.stdin").map((e) => e.body.data).join(""));
const methods = (messages) => new Map(messages.filter((m) => m.method && m.id !== undefined).map((m) => [m.id, m.method]));
function definition(method, end) {
  return Object.entries(schema.$defs).find(([name, d]) => d["x-method"] === method && end.test(name))?.[0];
}
let nr = 0;
function look(messages, asked) {
  for (const m of messages) {
    if (m.jsonrpc !== "2.0") console.log("no JSON-RPC:", JSON.stringify(m));
    if (m.error) continue;   // a refusal: its shape is JSON-RPC's
    const name = m.method ? definition(m.method, /Request$|Notification$/) : definition(asked.get(m.id), /Response$/);
    if (!name) { console.log("unknown:", JSON.stringify(m)); continue; }
    const body = m.method ? m.params : m.result, check = ajv.getSchema(`acp#/$defs/${name}`);
    if (!check(body)) console.log(name, JSON.stringify(body), ajv.errorsText(check.errors));
    const d = schema.$defs[name], known = d.properties && Object.assign({}, d.properties, ...(d.anyOf ?? []).map((o) => o.properties));
    for (const key of known ? Object.keys(body) : []) if (!(key in known)) console.log(name, "has no field", key);
    nr++;
  }
}
look(ours, methods(theirs));
if (both) look(theirs, methods(ours));
console.log(nr);
