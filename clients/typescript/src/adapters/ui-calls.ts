import type { UIMessage } from "ai";

type UIPart = UIMessage["parts"][number];
type Approval = { readonly approved?: boolean };
type ToolPart = {
  readonly state: string;
  readonly input?: unknown;
  /** The text of an input that is not complete, and how it is encoded. */
  readonly rawInput?: unknown;
  readonly inputEncoding?: unknown;
  readonly approval?: Approval;
};

const ENDED: ReadonlySet<string> = new Set(["output-available", "output-error", "output-denied"]);

/**
 * The parts with an end for each tool call that has none, because models refuse calls without results. A call that was
 * denied stays denied, and the others failed.
 */
export function withEndedCalls(parts: readonly UIPart[]): UIPart[] {
  return parts.map((part) => (isToolPart(part) && !ENDED.has(part.state) ? (ended(part) as unknown as UIPart) : part));
}

/** Whether a call waits for its end. */
export function hasOpenCalls(parts: readonly UIPart[]): boolean {
  return parts.some((part) => isToolPart(part) && !ENDED.has(part.state));
}

function ended({ approval, rawInput, inputEncoding, ...call }: ToolPart): ToolPart & { readonly errorText?: string } {
  if (approval?.approved === false) return { ...call, approval, state: "output-denied" };
  // An approval that nobody has given would be asked for again.
  const given = approval?.approved === true ? { approval } : {};
  const errorText = "The answer was interrupted before the tool had a result";
  return { ...call, input: call.input ?? {}, ...given, state: "output-error", errorText };
}

function isToolPart(part: UIPart): part is UIPart & ToolPart {
  return part.type === "dynamic-tool" || part.type.startsWith("tool-");
}
