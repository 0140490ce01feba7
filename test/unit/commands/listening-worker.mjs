/**
 * A worker with two ports, which answers each connection with its process id. With HOLDS_CHANNEL, another process keeps
 * its channel open after its end.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

const CHANNEL = 3;
const servers = ["first", "second"].map(() =>
  createServer((socket) => socket.end(`${process.pid}`)).listen(0, "127.0.0.1"),
);
await Promise.all(servers.map((server) => once(server, "listening")));
const holder = process.env.HOLDS_CHANNEL
  ? spawn("sleep", ["60"], { stdio: ["ignore", "ignore", "ignore", CHANNEL] }).pid
  : undefined;
process.send({ ports: servers.map((server) => server.address().port), holder });
