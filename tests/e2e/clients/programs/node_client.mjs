// node_client.mjs CLIENT WHAT URL [FILE]: one request by fetch, http, undici, or ws
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";

const [client, what, url, file] = process.argv.slice(2);
const body = file ? readFileSync(file) : undefined;

async function byFetch(fetch, options = {}) {
	const answer = await fetch(url, { method: body ? "POST" : "GET", body, ...options });
	if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText} ${await answer.text()}`);
	for await (const piece of answer.body) process.stdout.write(piece);
}

function byHttp() {
	return new Promise((done, failed) => {
		const request = (url.startsWith("https:") ? https : http).request(url, { method: body ? "POST" : "GET" }, (answer) => {
			if (answer.statusCode !== 200) console.error(answer.statusCode, answer.statusMessage);
			answer.pipe(process.stdout);
			answer.on("end", () => (answer.statusCode === 200 ? done() : failed(new Error(answer.statusMessage))));
		});
		request.on("error", failed);
		request.end(body);
	});
}

function byWebSocket(WebSocket) {
	return new Promise((done, failed) => {
		const ws = new WebSocket(url);
		ws.onopen = () => ws.send("hi");
		ws.onmessage = (m) => { console.log(String(m.data)); ws.close(); done(); };
		ws.onerror = (e) => failed(e.error ?? new Error(e.message || "the connection failed"));
	});
}

const by = {
	fetch: () => (what === "ws" ? byWebSocket(globalThis.WebSocket) : byFetch(fetch)),
	http: byHttp,
	undici: async () => {
		const undici = await import("undici");
		return what === "ws" ? byWebSocket(undici.WebSocket) : byFetch(undici.fetch, { dispatcher: new undici.EnvHttpProxyAgent() });
	},
	ws: async () => byWebSocket((await import("ws")).WebSocket),
};
by[client]().catch((e) => {
	for (let one = e; one; one = one.cause) console.error(String(one.message ?? one));
	process.exit(1);
});
