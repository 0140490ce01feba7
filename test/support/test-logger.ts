import { Writable } from "node:stream";
import { type Logger, pino } from "pino";

/** A logger that keeps its lines as parsed JSON. */
export class TestLogger {
  readonly lines: Record<string, unknown>[] = [];
  readonly pino: Logger;

  constructor(level = "info") {
    const stream = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
        done();
      },
    });
    this.pino = pino({ level }, stream);
  }
}
