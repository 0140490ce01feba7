/** Messages of PostgreSQL's protocol 3.0: a type of one byte, a length that counts itself, and the content. */

const SYNC = "S";
const QUERY = "Q";
const PARSE = "P";
const BIND = "B";
const READY_FOR_QUERY = "Z";

/** Calls back with each message of a stream of chunks. The first message of a client has no type. */
export function messageReader(onMessage: (message: Buffer) => void, beginsUntyped: boolean): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let isUntyped = beginsUntyped;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const lengthAt = isUntyped ? 0 : 1;
      if (rest.length < lengthAt + 4) return;
      const end = lengthAt + rest.readInt32BE(lengthAt);
      if (rest.length < end) return;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      isUntyped = false;
      onMessage(message);
    }
  };
}

/** Whether the server carries out and answers what it has got up to this message of a client. */
export function endsStatement(message: Buffer): boolean {
  return typeOf(message) === SYNC || typeOf(message) === QUERY;
}

/** Whether this message of a server ends the answer to a statement. */
export function endsAnswer(message: Buffer): boolean {
  return typeOf(message) === READY_FOR_QUERY;
}

/** The text of a statement, given its messages. `prepared` maps names to the texts of statements that are prepared. */
export function textOf(messages: readonly Buffer[], prepared: Map<string, string>): string {
  let text = "";
  for (const message of messages) {
    const [first = "", second = ""] = message.subarray(5).toString().split("\u0000", 2);
    if (typeOf(message) === QUERY) text = first;
    if (typeOf(message) === PARSE) {
      prepared.set(first, second);
      text = second;
    }
    // The name of a portal comes before that of the statement.
    if (typeOf(message) === BIND) text = prepared.get(second) ?? text;
  }
  return text;
}

/** A NoticeResponse with these fields, each a letter and its value. */
export function notice(fields: Readonly<Record<string, string>>): Buffer {
  const content = Object.entries(fields).map(([letter, value]) => `${letter}${value}\u0000`);
  const body = Buffer.from(`${content.join("")}\u0000`);
  const head = Buffer.from("N\u0000\u0000\u0000\u0000");
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

function typeOf(message: Buffer): string {
  return String.fromCharCode(message[0] as number);
}
