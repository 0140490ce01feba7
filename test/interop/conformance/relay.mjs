/** What Connect's conformance runner starts as the server: connects it to server.ts, which listens on this path. */
import { connect } from "node:net";
import { argv, stdin, stdout } from "node:process";

const server = connect(argv[2]);
stdin.pipe(server, { end: false });
server.pipe(stdout);
