import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { branchesOf, type TreeNode } from "./branches.js";
import { itemMessage } from "./codex-item.js";
import { firstLine, firstText, listAt, microsOf, objectAt, rest, textAt } from "./fields.js";
import type { ForeignMessage, ForeignSession, JsonReader, ReadContext } from "./reader.js";
import { isNewCall, usageFrom } from "./usage.js";

type Line = Record<string, unknown>;

const TYPES: ReadonlySet<unknown> = new Set([
  ...["session_meta", "response_item", "event_msg", "turn_context", "compacted"],
]);

/** Events that repeat what items say. */
const TOLD: ReadonlyMap<unknown, { readonly role: string; readonly type: string }> = new Map([
  ["user_message", { role: "user", type: "text" }],
  ["agent_message", { role: "assistant", type: "text" }],
  ["agent_reasoning", { role: "assistant", type: "reasoning" }],
]);

/**
 * Rollouts of the Codex CLI, `~/.codex/sessions/…/rollout-….jsonl`, and those of its first versions, whose lines are
 * items without an envelope. Each item is a message. What the user took back becomes a fork.
 */
export const codex: JsonReader = {
  name: "Codex CLI",
  isEntry: (value) => isObject(value) && (isRolloutLine(value) || isOldHead(value) || isItem(value)),
  async *read(entries, context) {
    let rollout = new Rollout(context);
    for await (const { value, place } of entries) {
      if (!isObject(value)) {
        context.notes.leftOut("lines that are no items of a rollout", place);
        continue;
      }
      const head = headOf(value);
      if (head && rollout.isOver(head)) {
        yield* rollout.sessions();
        rollout = new Rollout(context);
      }
      if (head) rollout.begin(head);
      else rollout.add(value);
    }
    yield* rollout.sessions();
  },
};

function isRolloutLine(value: Line): boolean {
  return TYPES.has(value.type) && isObject(value.payload);
}

/** A message of the Responses API, of a rollout without its first line. */
function isItem(value: Line): boolean {
  const types = listAt(value, "content").map((block) => textAt(block, "type"));
  return value.type === "message" && types.some((type) => type === "input_text" || type === "output_text");
}

/** The first line of an old rollout. */
function isOldHead(value: Line): boolean {
  const isNamed = typeof value.id === "string" && typeof value.timestamp === "string";
  return isNamed && value.type === undefined && ("instructions" in value || "git" in value);
}

function headOf(line: Line): Line | undefined {
  if (line.type === "session_meta") return objectAt(line, "payload");
  return isOldHead(line) ? line : undefined;
}

/** One session, as its lines come. */
class Rollout {
  readonly #context: ReadContext;
  readonly #items = new MessageTree();
  /** Messages as events tell them, for rollouts without items. */
  readonly #told = new MessageTree();
  /** What the user typed, by which it is told from what Codex puts into messages of the user. */
  readonly #typed = new Set<string>();
  #head: Line | undefined;
  #title = "";
  #model = "";
  #count = 0;
  /** The totals of all calls so far, as they were last told. */
  #totals = "";
  #start: number | undefined;
  #end: number | undefined;

  constructor(context: ReadContext) {
    this.#context = context;
  }

  /** Whether a head begins another session. A fork's or subagent's rollout repeats the head of its source. */
  isOver(head: Line): boolean {
    if (this.#head === undefined || head.id === this.#head.id) return false;
    return textAt(this.#head, "forked_from_id") === "" && parentOf(this.#head) === undefined;
  }

  begin(head: Line): void {
    this.#head ??= head;
    this.#note(microsOf(head.timestamp));
  }

  add(line: Line): void {
    const time = microsOf(line.timestamp);
    this.#note(time);
    const payload = isRolloutLine(line) ? objectAt(line, "payload") : line;
    if (line.type === "event_msg") this.#addEvent(payload, time);
    else if (line.type === "turn_context") this.#model = textAt(payload, "model") || this.#model;
    else if (line.type === "compacted") this.#addMessage(compacted(payload), time);
    else if (line.type !== "session_meta") this.#addMessage(itemMessage(payload), time);
  }

  *sessions(): Generator<ForeignSession> {
    const isTold = !this.#items.nodes.some(({ message }) => message?.role === "user" || message?.role === "assistant");
    const { nodes, last } = isTold ? this.#told : this.#items;
    if (nodes.length === 0) return;
    const said = nodes.map((node) => ({ ...node, message: node.message && this.#asTyped(node.message) }));
    const { messages, forks } = branchesOf(said, last ?? nodes[0]?.id);
    const prompt = messages.find(({ role }) => role === "user");
    const text = prompt?.parts.find(({ type, text }) => type === "text" && text)?.text ?? "";
    const fields = rest(this.#head, "id", "timestamp") ?? {};
    yield {
      sessionId: textAt(this.#head, "id") || idOf(this.#context.document),
      parentId: parentOf(this.#head),
      title: this.#title || firstLine(text),
      metadata: { codex: { ...fields, ...(this.#model !== "" && { model: this.#model }) } as JsonObject },
      createTimeMicros: this.#start,
      updateTimeMicros: this.#end,
      messages,
      forks,
    };
  }

  #note(time: number | undefined): void {
    if (time === undefined) return;
    this.#start = Math.min(this.#start ?? time, time);
    this.#end = Math.max(this.#end ?? time, time);
  }

  #addMessage(message: Omit<ForeignMessage, "id"> | undefined, timestampMicros: number | undefined): void {
    // Counted even if nothing comes of it, so that the ids stay when a later version understands more.
    this.#count += 1;
    if (message === undefined) return;
    const id = `item-${this.#count}`;
    const model = message.role === "assistant" && this.#model !== "" && { metadata: { codex: { model: this.#model } } };
    this.#items.add({ ...message, ...model, id, timestampMicros });
  }

  #addEvent(event: Line, timestampMicros: number | undefined): void {
    const text = firstText(event, "message", "text");
    const said = TOLD.get(event.type);
    if (said !== undefined && text !== "") {
      const id = `event-${this.#told.nodes.length + 1}`;
      this.#told.add({ id, role: said.role, timestampMicros, parts: [{ type: said.type, text }] });
    }
    if (event.type === "user_message" && text.trim() !== "") this.#typed.add(text.trim());
    else if (event.type === "thread_name_updated") this.#title = firstText(event, "thread_name", "name");
    else if (event.type === "thread_rolled_back") this.#takeBack(Number(event.num_turns) || 0);
    else if (event.type === "token_count") this.#addUsage(objectAt(event, "info"), timestampMicros);
    else if (event.type === "error") {
      this.#addMessage({ role: "system", parts: [{ type: "error", text }] }, timestampMicros);
    }
  }

  /**
   * The tokens of the call that has just ended go to the last message that it made. Codex tells them several times, and
   * a fork's rollout repeats those of its source: with the same totals at the same time, they are of the same call.
   */
  #addUsage(info: Line, timeMicros: number | undefined): void {
    const totals = JSON.stringify(objectAt(info, "total_token_usage"));
    const call = JSON.stringify(["codex", timeMicros, totals]);
    if (info.last_token_usage === undefined || totals === this.#totals || !isNewCall(call, this.#context)) return;
    this.#totals = totals;
    const said = { usage: info.last_token_usage, model: this.#model, provider: textAt(this.#head, "model_provider") };
    this.#items.setUsage(usageFrom(said, `${this.#context.document}, item ${this.#count}`, this.#context));
  }

  #takeBack(prompts: number): void {
    this.#items.takeBack(prompts, (message) => this.#asTyped(message).role === "user");
    this.#told.takeBack(prompts, ({ role }) => role === "user");
  }

  /** The message; one of the user that was not typed, if events tell what was, is one of the system. */
  #asTyped(message: ForeignMessage): ForeignMessage {
    if (message.role !== "user" || this.#typed.size === 0) return message;
    const texts = message.parts.map(({ type, text = "" }) => (type === "text" ? text : ""));
    const text = texts.join("").trim();
    const isTyped = text === "" || [...this.#typed].some((typed) => text.includes(typed) || typed.includes(text));
    return isTyped ? message : { ...message, role: "system" };
  }
}

/** The session that started this one as its subagent. */
function parentOf(head: Line | undefined): string | undefined {
  const spawn = objectAt(objectAt(objectAt(head, "source"), "subagent"), "thread_spawn");
  return textAt(spawn, "parent_thread_id") || undefined;
}

function compacted(payload: Line): Omit<ForeignMessage, "id"> {
  const text = textAt(payload, "message");
  const count = listAt(payload, "replacement_history").length;
  return { role: "system", parts: [{ type: "text", text: text || `(compacted to ${count} items)` }] };
}

/** The id at the end of a rollout's name. */
function idOf(document: string): string {
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(document)?.[0] ?? "";
}

/** The messages of a conversation that is told from its beginning, and of which the last ones may be taken back. */
class MessageTree {
  readonly nodes: TreeNode[] = [];
  /** The newest message that was not taken back; undefined when there is none. */
  last: string | undefined;

  add(message: ForeignMessage): void {
    this.nodes.push({ id: message.id, parent: this.last, message });
    this.last = message.id;
  }

  /** Gives the last message of the assistant its usage, if it has none. */
  setUsage(usage: Pick<ForeignMessage, "usage">): void {
    const place = this.nodes.findLastIndex(({ message }) => message?.role === "assistant");
    const { message, ...node } = this.nodes[place] ?? { id: "", parent: undefined };
    if (message !== undefined && message.usage === undefined)
      this.nodes[place] = { ...node, message: { ...message, ...usage } };
  }

  /** Goes back to before the last messages of the user, as many as `count`. */
  takeBack(count: number, isUsers: (message: ForeignMessage) => boolean): void {
    const byId = new Map(this.nodes.map((node) => [node.id, node]));
    for (let left = count; left > 0 && this.last !== undefined; ) {
      const node = byId.get(this.last);
      if (node?.message && isUsers(node.message)) left -= 1;
      this.last = node?.parent;
    }
  }
}
