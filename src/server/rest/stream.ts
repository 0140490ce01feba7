import type { ServerResponse } from "node:http";
import { type DescMethod, getOption, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import Negotiator from "negotiator";
import { resumption as resumptionOption } from "../../../gen/sessionpool/v1/options_pb.js";
import { sharingLast } from "../../api/sharing-last.js";
import type { MessageWriter } from "../../codec/json-writer.js";
import { textOf, type Utf8 } from "../../domain/byte-string.js";
import { onOneLine } from "../../domain/json.js";
import { type HttpRequest, type HttpResponse, isGone } from "../http/exchange.js";
import { HttpProblem, problemJson, toProblem } from "../http/problem.js";
import { header, writeHead } from "../http/respond.js";

/** How events of a stream, and the error that ends it, are written. */
interface Framing {
  readonly contentType: StreamType;
  readonly frame: (event: Message) => Buffer;
  readonly frameProblem: (problem: string) => string;
}

/** The framings of one route. All of its clients share them, and so the bytes of an event that several of them get. */
export type Framings = Readonly<Record<StreamType, Framing>>;

/** The media types of streams. A client that has no preference gets the first. */
export const STREAM_TYPES = ["text/event-stream", "application/x-ndjson"] as const;
type StreamType = (typeof STREAM_TYPES)[number];

export function makeFramings(desc: DescMethod, write: MessageWriter): Framings {
  return { "text/event-stream": serverSentEvents(desc, write), "application/x-ndjson": jsonLines(write) };
}

/** Events or lines, whichever the client prefers. Throws a problem when it accepts neither. */
export function chooseFraming(request: HttpRequest, framings: Framings): Framing {
  return framings[chooseType(header(request, "accept") || "*/*")];
}

function chooseType(accept: string): StreamType {
  const negotiator = new Negotiator({ headers: { accept } });
  const [chosen] = negotiator.mediaTypes([...STREAM_TYPES, ...STREAM_TYPES.map((type) => `${type};charset=utf-8`)]);
  const type = STREAM_TYPES.find((one) => chosen?.startsWith(one));
  if (type !== undefined) return type;
  // Clients that ask every call for JSON get lines of it.
  if (negotiator.mediaType(["application/json"]) !== undefined) return "application/x-ndjson";
  const text = `Accept must allow ${STREAM_TYPES.join(" or ")}; it is ${JSON.stringify(accept)}`;
  throw new HttpProblem(Code.InvalidArgument, text, { status: 406 });
}

function jsonLines(write: MessageWriter): Framing {
  return {
    contentType: "application/x-ndjson",
    frame: sharingLast((event) => Buffer.from(`{"result":${lineOf(write(event))}}\n`)),
    frameProblem: (problem) => `{"error":${onOneLine(problem)}}\n`,
  };
}

/** Some line readers treat more characters as line ends than these formats do. */
function lineOf(json: Utf8): string {
  return onOneLine(textOf(json));
}

/** `event:` is the member of the response's oneof that is set, and `id:` the token that resumes after the event. */
function serverSentEvents(desc: DescMethod, write: MessageWriter): Framing {
  const { output } = desc;
  const oneof = output.oneofs[0];
  const resumption = getOption(desc, resumptionOption);
  const token = output.fields.find((field) => field.name === resumption.token);
  return {
    contentType: "text/event-stream",
    frame: sharingLast((event) => {
      const fields = event as Message & Record<string, unknown>;
      const kind = oneof && (fields[oneof.localName] as { case?: string }).case;
      const id = token && fields[token.localName];
      const text = `${kind ? `event: ${kind}\n` : ""}${id ? `id: ${id}\n` : ""}data: ${lineOf(write(event))}\n\n`;
      return Buffer.from(text);
    }),
    frameProblem: (problem) => `event: error\ndata: ${onOneLine(problem)}\n\n`,
  };
}

/**
 * A browser that reconnects sends the id of the last event. It becomes the request's token unless the query gives one,
 * and replaces the starting point, which is still in the URL. The method's `resumption` option names both fields.
 */
export function resumeFrom(request: Message, desc: DescMethod, lastEventId: string | undefined): void {
  const { input } = desc;
  const resumption = getOption(desc, resumptionOption);
  const token = input.fields.find((field) => field.name === resumption.token);
  if (!token || !lastEventId) return;
  const fields = request as Message & Record<string, unknown>;
  if (fields[token.localName]) return;
  fields[token.localName] = lastEventId;
  const start = input.fields.find((field) => field.name === resumption.start);
  if (start) delete fields[start.localName];
}

/**
 * Sends the headers at once, and then each event as it comes, as fast as the client reads. A client that reads nothing
 * for `stalledMs` is disconnected. Never rejects, because after the headers an error can only be reported in the
 * stream.
 */
export async function sendStream(
  response: HttpResponse,
  events: AsyncIterable<Message>,
  framing: Framing,
  options: {
    readonly requestId: string;
    readonly headOnly: boolean;
    readonly stalledMs: number;
    readonly onUnexpected: (error: unknown) => void;
  },
): Promise<void> {
  if (isGone(response)) return closeEvents(events);
  writeHead(response, 200, {
    "content-type": framing.contentType,
    vary: "Accept",
    // Tells nginx and similar proxies to pass events on at once.
    "x-accel-buffering": "no",
  });
  if (options.headOnly) {
    response.end();
    return closeEvents(events);
  }
  (response as ServerResponse).flushHeaders();
  try {
    for await (const event of events) {
      if (!(await write(response, framing.frame(event), options.stalledMs))) return;
    }
    response.end();
  } catch (error) {
    if (isGone(response)) return;
    options.onUnexpected(error);
    (response as ServerResponse).end(framing.frameProblem(problemJson(toProblem(error), options.requestId)));
  }
}

/** Writes some bytes once there is room for them; resolves to whether the client is still reading. */
export async function write(response: HttpResponse, frame: Uint8Array, stalledMs: number): Promise<boolean> {
  if (isGone(response)) return false;
  if ((response as ServerResponse).write(frame)) return true;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => response.destroy(), stalledMs);
    const done = (): void => {
      clearTimeout(timer);
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });
  return !isGone(response);
}

async function closeEvents(events: AsyncIterable<Message>): Promise<void> {
  await events[Symbol.asyncIterator]().return?.();
}
