import { firstLine } from "../../../parts/lines.js";
import type { PartView } from "../../../parts/part-view.js";
import { withoutPiles } from "../../../parts/piles.js";
import { viewsOf } from "../../../parts/recognise.js";
import type { Message } from "../api/types.js";

/** What a message says, for a line of a list. */
export interface Summary {
  /** Who says it: its role, but `tool` where it holds nothing but what tools answered. */
  readonly speaker: string;
  /** Empty if there is nothing in it. */
  readonly text: string;
}

/** How many names of each kind are listed. */
const MAX_NAMES = 3;

/** The first line of a message, or what it holds when it has no text. `toolOf` names the tool of a call by its id. */
export function summaryOf(
  message: Message,
  toolOf: (callId: string) => string | undefined = () => undefined,
  length?: number,
): Summary {
  const views = viewsOf(message);
  const isAnswer = views.length > 0 && views.every(({ kind }) => kind === "result");
  const said = views.map((view) => (view.kind === "text" ? lineOf(view.text, length) : "")).find(Boolean);
  return { speaker: isAnswer ? "tool" : message.info.role, text: said ?? contentsOf(views, toolOf) };
}

/** The first line with a letter or digit, or what there is. */
function lineOf(text: string, length?: number): string {
  return firstLine(text, length) || withoutPiles(text.trim().slice(0, length ?? 100));
}

/** The names of tools by the ids of their calls, as messages have them. */
export function toolNames(messages: readonly Message[]): ReadonlyMap<string, string> {
  const calls = messages.flatMap(viewsOf).filter((view) => view.kind === "call");
  return new Map(calls.map(({ callId, name }) => [callId, name]));
}

/** Names what is in a message, such as `calls bash and grep`. */
function contentsOf(views: readonly PartView[], toolOf: (callId: string) => string | undefined): string {
  const names = new Map<string, Set<string>>();
  for (const view of views) {
    const content = contentOf(view, toolOf);
    if (content === undefined) continue;
    const [what, name] = content;
    names.set(what, (names.get(what) ?? new Set()).add(name));
  }
  return firstLine([...names].map(([what, all]) => `${what} ${listed([...all].filter(Boolean))}`.trim()).join(", "));
}

/** What a part is, and its name. */
function contentOf(
  view: PartView,
  toolOf: (callId: string) => string | undefined,
): readonly [what: string, name: string] | undefined {
  switch (view.kind) {
    case "text":
      return undefined;
    case "reasoning":
      return ["reasoning", ""];
    case "call":
      return ["calls", view.name];
    case "result":
      return [view.isError ? "failed result of" : "result of", view.name || toolOf(view.callId) || "a tool"];
    case "image":
      return ["picture", view.name];
    case "file":
      return ["file", view.name];
    case "attachment": {
      const { name = "", mediaType = "" } = view.attachment;
      return [mediaType.startsWith("image/") ? "picture" : "file", name];
    }
    case "error":
      return ["error:", firstLine(view.text)];
    case "erased":
      return ["erased", ""];
    case "note":
      return [view.label, view.text];
    case "data":
      return [view.text ? "" : "data of the type", view.text || view.type];
  }
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES);
  const others = names.length - shown.length;
  if (others > 0) return `${shown.join(", ")} and ${others} more`;
  return [shown.slice(0, -1).join(", "), shown.at(-1) ?? ""].filter(Boolean).join(" and ");
}
