// The project's own client against our fake: what it takes for good is what our plugin may rely on.
import { createRequire } from "node:module";
import { Writable, Readable } from "node:stream";
const require = createRequire(process.argv[3] + "/x.js");
const k8s = require("@kubernetes/client-node");
const ok = (good, name) => { console.log((good ? "ok " : "not ok ") + name); if (!good) process.exitCode = 1; };
const kc = new k8s.KubeConfig();
kc.loadFromOptions({ clusters: [{ name: "c", server: process.argv[2], skipTLSVerify: true }], users: [{ name: "u", token: "good-token" }],
  contexts: [{ name: "x", cluster: "c", user: "u" }], currentContext: "x" });
const api = kc.makeApiClient(k8s.CoreV1Api), namespace = "default", name = "sdk-pod";
const pod = await api.createNamespacedPod({ namespace, body: { metadata: { name, labels: { of: "sdk" } },
  spec: { containers: [{ name: "box", image: "debian:12", command: ["sleep", "infinity"] }] } } });
ok(pod.metadata.name === name, "creates a pod");
let p;
for (let i = 0; i < 50; i++) { p = await api.readNamespacedPod({ namespace, name }); if (p.status.phase === "Running") break; }
ok(p.status.conditions.some((c) => c.type === "Ready" && c.status === "True"), "it becomes ready");
const run = (command, input) => new Promise((resolve, reject) => {
  const got = { out: "", err: "" };
  const sink = (k) => new Writable({ write(chunk, _, done) { got[k] += chunk; done(); } });
  new k8s.Exec(kc).exec(namespace, name, "box", command, sink("out"), sink("err"), input === undefined ? null : Readable.from([input]), false,
    (status) => resolve({ ...got, status })).catch(reject);
});
const r = await run(["sh", "-c", "echo hi; echo err >&2"]);
ok(r.out === "hi\n" && r.err === "err\n" && r.status.status === "Success", "runs a command");
const bad = await run(["sh", "-c", "exit 7"]);
ok(bad.status.status === "Failure" && bad.status.details.causes[0].message === "7", "and one that fails");
const cat = await run(["head", "-c", "6"], "given\n");
ok(cat.out === "given\n", "input goes in");
const list = await api.listNamespacedPod({ namespace, labelSelector: "of=sdk" });
ok(list.items.length === 1, "finds it by its label");
ok((await api.readNamespacedPodLog({ namespace, name })).startsWith("the log of"), "reads its log");
const none = await api.createNamespacedPod({ namespace, body: { metadata: { name: "No Name" }, spec: { containers: [] } } }).catch((e) => e);
ok(none.code === 422, "what is no pod is refused");
await api.deleteNamespacedPod({ namespace, name });
ok((await api.readNamespacedPod({ namespace, name }).catch((e) => e)).code === 404, "deletes it");
process.exit();
