import type { Output, PartView } from "../../../parts/part-view.js";
import { viewsOf } from "../../../parts/recognise.js";
import type { Annotation, Message } from "../api/types.js";
import { usageOf } from "../parts/usage.js";
import { jsonLine } from "../text/json-line.js";

/** Which messages a data set has. */
export type Choice = "up" | "down" | "noted" | "answers" | "selected";
/** What goes before each of them: everything, or the request that it answers and what followed that. */
export type Context = "all" | "turn";

/** A message of OpenAI's Chat Completions. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string | readonly object[] | null;
  readonly tool_calls?: readonly ChatCall[];
  readonly tool_call_id?: string;
}

interface ChatCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The positions of the messages that are chosen. */
export function chosen(
  messages: readonly Message[],
  annotations: readonly Annotation[],
  choice: Choice,
  selected: number | undefined,
): readonly number[] {
  if (choice === "selected") return selected !== undefined && selected < messages.length ? [selected] : [];
  const noted = notedBy(annotations, choice);
  const isChosen = ({ info, parts }: Message) =>
    choice === "answers" ? info.role === "assistant" && parts.length > 0 : noted.has(info.id);
  return [...messages.keys()].filter((position) => isChosen(messages[position] as Message));
}

/** The messages that feedback chooses. */
function notedBy(annotations: readonly Annotation[], choice: Choice): ReadonlySet<string> {
  const wanted = (one: Annotation) => choice === "noted" || one.thumb === choice;
  return new Set(annotations.filter(wanted).map(({ messageId }) => messageId));
}

/** How many messages of a session each kind of feedback chooses. */
export function countsOf(annotations: readonly Annotation[]): Readonly<Partial<Record<Choice, number>>> {
  const count = (choice: Choice) => notedBy(annotations, choice).size;
  return { up: count("up"), down: count("down"), noted: count("noted") };
}

/** What is chosen before the reader chooses: the best feedback that there is, or else what nearly every session has. */
export function usualChoice(counts: Readonly<Partial<Record<Choice, number>>>): Choice {
  return (["up", "noted"] as const).find((choice) => (counts[choice] ?? 0) > 0) ?? "answers";
}

/**
 * The lines of a data set: each has a chosen message with what came before it, as Chat Completions take it, and the
 * feedback on it.
 */
export function* dataSetLines(
  sessionId: string,
  messages: readonly Message[],
  annotations: readonly Annotation[],
  positions: readonly number[],
  context: Context,
): Generator<string> {
  const chats = messages.map(chatOf);
  for (const position of positions) {
    const message = messages[position] as Message;
    const first = context === "all" ? 0 : turnBefore(messages, position);
    const model = usageOf(message)?.model;
    const feedback = annotations
      .filter(({ messageId }) => messageId === message.info.id)
      .map(({ thumb, text, author, updateTime }) => ({ thumb, text, author, time: updateTime }));
    const line = {
      messages: answered(chats.slice(first, position + 1).flat()),
      metadata: { session_id: sessionId, message_id: message.info.id, ...(model && { model }), feedback },
    };
    yield jsonLine(line);
  }
}

/** Position of the request that a message answers. */
function turnBefore(messages: readonly Message[], position: number): number {
  for (let at = position; at > 0; at--) {
    const chat = chatOf(messages[at] as Message);
    if (at < position && chat.some(({ role }) => role === "user")) return at;
  }
  return 0;
}

/** What Chat Completions take as one message, and the results of its calls that follow it. */
interface Turn {
  readonly views: PartView[];
  readonly calls: ChatCall[];
  readonly results: ChatMessage[];
}

/**
 * A message as Chat Completions write it: calls beside the text, and each result as a message of its own. Some formats
 * keep the results of calls, and what was said after them, in the message of the calls; that becomes several.
 */
function chatOf(message: Message): readonly ChatMessage[] {
  const turns: Turn[] = [{ views: [], calls: [], results: [] }];
  const earlier: ChatMessage[] = [];
  for (const [i, view] of viewsOf(message).entries()) {
    const last = turns.at(-1) as Turn;
    if (view.kind === "call") {
      const call = callOf(view, message, i);
      last.calls.push(call);
      const isOver = view.output && (view.status === "done" || view.status === "failed");
      if (isOver) last.results.push(resultOf(call.id, view.output));
    } else if (view.kind === "result") {
      const of = turns.find(({ calls }) => calls.some(({ id }) => id === view.callId));
      // Anthropic's results come before what the user says with them.
      (of?.results ?? earlier).push(resultOf(view.callId, view.output));
    } else if (last.results.length > 0 && textOf(view).some((text) => text !== "")) {
      turns.push({ views: [view], calls: [], results: [] });
    } else {
      last.views.push(view);
    }
  }
  return [...earlier, ...turns.flatMap((turn) => chatOfTurn(turn, message.info.role))];
}

function chatOfTurn({ views, calls, results }: Turn, role: string): readonly ChatMessage[] {
  const content = contentOf(views, role);
  if (content === null && calls.length === 0) return results;
  const hasCalls = calls.length > 0;
  return [{ role: roleOf(role, hasCalls), content, ...(hasCalls && { tool_calls: calls }) }, ...results];
}

function resultOf(callId: string, output: Output): ChatMessage {
  return { role: "tool", tool_call_id: callId, content: outputText(output) };
}

/** Gives a result to calls in the middle that have none, because the format requires one. */
function answered(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const known = new Set(messages.flatMap(({ tool_call_id }) => tool_call_id ?? []));
  return messages.flatMap((message, i) => {
    const missing = (message.tool_calls ?? []).filter(({ id }) => i < messages.length - 1 && !known.has(id));
    return [message, ...missing.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "(no result)" }))];
  });
}

function roleOf(role: string, hasCalls: boolean): string {
  if (hasCalls) return "assistant";
  if (role === "tool") return "assistant";
  return ["system", "developer", "assistant"].includes(role) ? role : "user";
}

function contentOf(views: readonly PartView[], role: string): ChatMessage["content"] {
  const text = views.flatMap(textOf).join("\n\n");
  const images = views.flatMap((view) =>
    view.kind === "image" && (view.source || view.address)
      ? [{ type: "image_url", image_url: { url: view.source || view.address } }]
      : [],
  );
  if (images.length > 0 && role === "user") return [...(text ? [{ type: "text", text }] : []), ...images];
  return text === "" ? null : text;
}

/** Reasoning, notes and unknown data are left out; a file is named. */
function textOf(view: PartView): readonly string[] {
  switch (view.kind) {
    case "text":
    case "error":
      return [view.text];
    case "file":
      return [`[File: ${view.name}]`];
    case "attachment":
      return [`[File: ${view.attachment.name || view.attachment.attachmentId}]`];
    default:
      return [];
  }
}

function callOf(view: Extract<PartView, { kind: "call" }>, message: Message, i: number): ChatCall {
  const { args, name } = view;
  const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
  return { id: view.callId || `${message.info.id}-${i}`, type: "function", function: { name, arguments: text } };
}

function outputText({ text, json }: Output): string {
  return text ?? (json === undefined ? "" : JSON.stringify(json));
}
