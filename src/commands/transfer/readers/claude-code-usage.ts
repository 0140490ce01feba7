import { objectAt, textAt } from "./fields.js";
import type { ForeignMessage, ReadContext } from "./reader.js";
import { isNewCall, usageFrom } from "./usage.js";

type Line = Readonly<Record<string, unknown>>;

interface Answer {
  readonly line: Line;
  readonly message: ForeignMessage | undefined;
}

/** The model that Claude Code names where none was called, such as in the message of an error. */
const NO_MODEL = "<synthetic>";

/**
 * The messages of a transcript's lines, with usage. A response is written as several lines, one for each block, which
 * all repeat its usage; the number of tokens that it wrote is whole only in the last one. The first line that is a
 * message gets what the last one says: a file that is imported again when it has grown has more lines, but the first
 * stays the first, so that the response counts once.
 */
export function withUsage<Node extends Answer>(nodes: readonly Node[], context: ReadContext): Node[] {
  const last = new Map<string, Line>();
  for (const { line } of nodes) {
    const call = callOf(line);
    if (call !== undefined) last.set(call, line);
  }
  return nodes.map((node) => {
    const { message, line } = node;
    const call = message && callOf(line);
    if (message === undefined || call === undefined || !isNewCall(call, context)) return node;
    const place = `${context.document}, line ${JSON.stringify(message.id)}`;
    return { ...node, message: { ...message, ...usageFrom(fieldsOf(last.get(call) ?? line), place, context) } };
  });
}

/** The name of the call that a line is from; undefined for lines that no model has written, and for copies of forks. */
function callOf(line: Line): string | undefined {
  const message = objectAt(line, "message");
  const isAnswer = line.type === "assistant" && textAt(message, "model") !== NO_MODEL && !line.forkedFrom;
  const hasUsage = message.usage !== undefined || line.costUSD !== undefined;
  if (!isAnswer || !hasUsage) return undefined;
  return JSON.stringify(["claude_code", textAt(message, "id") || textAt(line, "requestId") || textAt(line, "uuid")]);
}

function fieldsOf(line: Line): object {
  const { usage, model } = objectAt(line, "message");
  return { usage, model, costUSD: line.costUSD, durationMs: line.durationMs };
}
