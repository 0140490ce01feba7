import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../../domain/json.js";
import { isObject } from "../shape.js";
import { branchesOf, type TreeNode } from "./branches.js";
import { messageOf } from "./claude-code-message.js";
import { withUsage } from "./claude-code-usage.js";
import { firstLine, firstText, microsOf, objectAt, rest, textAt } from "./fields.js";
import type { ForeignMessage, ForeignSession, JsonReader } from "./reader.js";

type Line = Record<string, unknown>;

/** A line that has a place in the transcript. */
interface Node {
  readonly uuid: string;
  readonly line: Line;
  readonly message: ForeignMessage | undefined;
  /** Whether the user has said it, so that it begins a run. */
  readonly isPrompt: boolean;
}

/** What lines without a place say of a session. */
interface Titles {
  readonly given: Map<string, string>;
  readonly summaries: Map<string, string>;
}

/** Fields that are the same in nearly every line of a transcript. They are kept once, with the session. */
const CONSTANT = ["cwd", "version", "gitBranch", "userType", "entrypoint", "slug"] as const;

const SAID: ReadonlySet<string> = new Set(["user", "assistant", "system"]);

/**
 * Transcripts of Claude Code, `~/.claude/projects/<project>/<session>.jsonl`, and those of its subagents. Each line
 * with content is a message. A prompt to which the user went back becomes a fork; the transcript of a subagent, in a
 * file of its own or not, a child of its session.
 */
export const claudeCode: JsonReader = {
  name: "Claude Code",
  isEntry: (value) => isObject(value) && isLine(value),
  async *read(entries, context) {
    const { notes, document } = context;
    const transcripts = new Map<string, Map<string, Node>>();
    /** The transcripts of lines, by their uuids; those of subagents apart. */
    const places = new Map<string, string>();
    const titles: Titles = { given: new Map(), summaries: new Map() };
    for await (const { value, place } of entries) {
      if (!isObject(value)) notes.leftOut("lines that are no entries of a transcript", place);
      else if (textAt(value, "uuid") === "" && !isObject(value.message)) noteTitle(titles, value);
      else {
        const side = value.isSidechain === true ? "side" : "main";
        const name = places.get(`${side} ${parentOf(value)}`) ?? transcriptOf(value);
        const uuid = textAt(value, "uuid");
        if (uuid !== "") places.set(`${side} ${uuid}`, name);
        const nodes = transcripts.get(name) ?? new Map<string, Node>();
        transcripts.set(name, nodes);
        add(nodes, value, uuid);
      }
    }
    for (const nodes of transcripts.values()) {
      const session = sessionOf(withUsage([...nodes.values()], context), titles, document.replace(/\.jsonl$/, ""));
      if (session) yield session;
    }
  },
};

function isLine(line: Line): boolean {
  const { type } = line;
  if (typeof type !== "string") return false;
  if (typeof line.sessionId === "string" || typeof line.leafUuid === "string") return true;
  return type === "file-history-snapshot" || (SAID.has(type) && typeof line.uuid === "string");
}

function parentOf(line: Line): string {
  return firstText(line, "parentUuid", "logicalParentUuid");
}

/** The name of the transcript that a line without a known parent belongs to. */
function transcriptOf(line: Line): string {
  const agent = line.isSidechain === true ? firstText(line, "agentId", "uuid") : "";
  return JSON.stringify([textAt(line, "sessionId"), agent]);
}

/** Adds a line, unless it is there already: lines are sometimes written twice. Other lines with its id stay, too. */
function add(nodes: Map<string, Node>, line: Line, uuid: string): void {
  const message = messageOf(line, uuid);
  let key = uuid || `line ${nodes.size + 1}`;
  for (let same = nodes.get(key); same; same = nodes.get(key)) {
    if (message === undefined || isDeepStrictEqual(same.line.message, line.message)) return;
    key += "~";
  }
  nodes.set(key, { uuid: key, line, message, isPrompt: line.type === "user" && message?.role === "user" });
}

function noteTitle({ given, summaries }: Titles, line: Line): void {
  const title = firstText(line, "customTitle", "aiTitle");
  const sessionId = textAt(line, "sessionId");
  // A title that the user gave stands above one that was made.
  const isGiven = textAt(line, "customTitle") !== "";
  if (title !== "" && (isGiven || !given.has(sessionId))) given.set(sessionId, title);
  // A file may hold summaries of other sessions, too: the message tells whose a summary is.
  if (line.type === "summary") summaries.set(textAt(line, "leafUuid"), textAt(line, "summary"));
}

function sessionOf(nodes: readonly Node[], { given, summaries }: Titles, document: string): ForeignSession | undefined {
  const said = nodes.filter(({ message }) => message !== undefined);
  const [first] = nodes;
  if (said.length === 0 || first === undefined) return undefined;
  // A transcript that goes on with another session's may begin with lines of that one.
  const isOwn = nodes.some(({ line }) => line.sessionId === document);
  const main = isOwn ? document : textAt(first.line, "sessionId") || document;
  const isSidechain = first.line.isSidechain === true;
  const common = commonOf(nodes);
  const titleOfMain = given.get(main) ?? nodes.map(({ uuid }) => summaries.get(uuid)).findLast((one) => one);
  const prompt = said.find(({ isPrompt }) => isPrompt)?.message;
  const times = nodes.map(({ line }) => microsOf(line.timestamp)).filter((time) => time !== undefined);
  const { messages, forks } = branchesOf(treeOf(nodes, common), said.at(-1)?.uuid);
  return {
    sessionId: isSidechain ? `${main}~agent-${firstText(first.line, "agentId", "uuid")}` : main,
    parentId: isSidechain ? main : undefined,
    title: (isSidechain ? undefined : titleOfMain) ?? firstLine(textOf(prompt)),
    metadata: { claude_code: { ...common, ...(isSidechain && { agentId: textAt(first.line, "agentId") }) } },
    createTimeMicros: times.length > 0 ? times.reduce((a, b) => Math.min(a, b)) : undefined,
    updateTimeMicros: times.length > 0 ? times.reduce((a, b) => Math.max(a, b)) : undefined,
    messages,
    forks,
  };
}

function textOf(message: ForeignMessage | undefined): string {
  return message?.parts.find(({ type, text }) => type === "text" && text)?.text ?? "";
}

function commonOf(nodes: readonly Node[]): JsonObject {
  const found = CONSTANT.map((name) => [name, nodes.map(({ line }) => line[name]).find(Boolean)] as const);
  return Object.fromEntries(found.filter(([, value]) => typeof value === "string")) as JsonObject;
}

/**
 * The tree in which only prompts begin branches. In the file, results of calls that were made at once hang from
 * different lines, as if all but one of them were left behind; they belong to the same run. A file whose answers name
 * no parents has no branches.
 */
function treeOf(nodes: readonly Node[], common: JsonObject): TreeNode[] {
  const byId = new Map(nodes.map((node) => [node.uuid, node]));
  /** The lines of the run that each line belongs to: of a prompt and its answers. */
  const runOf = new Map<Node, Node[]>();
  const isLinked = nodes.every(({ line }) => line.type !== "assistant" || parentOf(line) !== "");
  let before: Node | undefined;
  return nodes.map((node) => {
    const named = byId.get(parentOf(node.line));
    const isRoot = isLinked && node.line.parentUuid === null && parentOf(node.line) === "";
    // A line whose parent is unknown follows the line before it; a prompt that has none begins anew.
    const parent = named && runOf.has(named) ? named : isRoot && node.isPrompt ? undefined : before;
    const run = parent && runOf.get(parent);
    const own = run === undefined || node.isPrompt ? [] : run;
    const previous = run?.at(-1);
    own.push(node);
    runOf.set(node, own);
    before = node;
    return { id: node.uuid, parent: previous?.uuid, message: node.message && withoutCommon(node.message, common) };
  });
}

function withoutCommon(message: ForeignMessage, common: JsonObject): ForeignMessage {
  const fields = objectAt(message.metadata, "claude_code");
  const same = CONSTANT.filter((name) => fields[name] === common[name] || fields[name] === "");
  const kept = rest(fields, ...same);
  const { metadata: _metadata, ...others } = message;
  return kept ? { ...others, metadata: { claude_code: kept } } : others;
}
