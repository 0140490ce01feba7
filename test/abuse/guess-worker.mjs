/**
 * Sends wrong keys without a pause. It runs in a thread of its own, because in the test's thread it would starve the
 * observed client.
 */
import { connect } from "node:net";
import { workerData } from "node:worker_threads";

const { url, from, count, refused } = workerData;
const { hostname, port } = new URL(url);
const refusals = new Int32Array(refused);
let guesses = 0;

function open() {
  const socket = connect({ port: Number(port), host: hostname, localAddress: from });
  const ask = () => {
    guesses += 1;
    socket.write(`GET /session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess-${guesses}\r\n\r\n`);
  };
  socket.on("connect", ask);
  socket.on("error", () => undefined);
  socket.on("close", () => setTimeout(open, 50));
  socket.on("data", (chunk) => {
    if (!/^HTTP\/1\.1 4/.test(chunk.toString("latin1"))) return;
    Atomics.add(refusals, 0, 1);
    ask();
  });
}

for (let i = 0; i < count; i += 1) open();
