// HTTP/2 in front of a fake that speaks HTTP/1.1: h2.mjs PORT-OF-THE-FAKE PEM (key and certificate) prints the port on which it
// listens, with TLS and without. A stream becomes a request, trailers stay trailers, an answer that breaks off is a stream that
// is reset. What begins neither as HTTP/2 nor as TLS is handed through as it is.
import fs from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";

const back = Number(process.argv[2]);
const agent = new http.Agent({ keepAlive: true });
const OF_HTTP1 = new Set(["connection", "transfer-encoding", "keep-alive", "trailer"]);
const plain = (headers) => Object.fromEntries(Object.entries(headers).filter(([k]) => k[0] !== ":" && !OF_HTTP1.has(k)));

const pem = fs.readFileSync(process.argv[3]);
const plainly = http2.createServer();
const secretly = http2.createSecureServer({ key: pem, cert: pem, unknownProtocolTimeout: 2 ** 31 - 1 });

function serve(stream, headers) {
  const reset = () => stream.destroyed || stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  const request = http.request({ port: back, host: "127.0.0.1", agent, method: headers[":method"], path: headers[":path"],
    headers: { ...plain(headers), host: headers[":authority"] || "127.0.0.1" } });
  request.on("error", reset);
  request.on("response", (answer) => {
    if (stream.destroyed) return answer.destroy();
    const only = "grpc-status" in answer.headers;
    stream.respond({ ":status": answer.statusCode, ...plain(answer.headers) }, { endStream: only, waitForTrailers: !only });
    if (only) return answer.resume();
    answer.on("aborted", reset);
    answer.on("error", reset);
    stream.on("wantTrailers", () => stream.sendTrailers(answer.trailers));
    answer.pipe(stream);
  });
  stream.on("error", () => {});
  stream.on("close", () => request.destroy());
  stream.pipe(request);
}

for (const server of [plainly, secretly]) {
  server.on("stream", serve);
  server.on("sessionError", () => {});
}
secretly.on("tlsClientError", () => {});
secretly.on("unknownProtocol", (socket) => { // the SDK of Python names none (ALPN), and speaks HTTP/2
  socket.alpnProtocol = "h2";
  plainly.emit("connection", socket);
});

net.createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", (first) => {
    socket.pause();
    socket.unshift(first);
    if (first[0] === 0x16) return secretly.emit("connection", socket);
    if (first.subarray(0, 4).toString() === "PRI ") return plainly.emit("connection", socket);
    const through = net.connect(back, "127.0.0.1");
    through.on("error", () => socket.destroy());
    socket.pipe(through).pipe(socket);
  });
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
process.stdin.resume().on("end", () => process.exit());
