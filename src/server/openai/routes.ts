import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { MessageService } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../../gen/sessionpool/v1/session_service_pb.js";
import type { ExactObject } from "../../codec/exact-json.js";
import {
  type ConversationRequest,
  createConversation,
  createItems,
  deleteConversation,
  deleteItem,
  listItems,
  type Rpc,
  retrieveConversation,
  retrieveItem,
  updateConversation,
} from "./conversations.js";
import { badParameter, OpenAiProblem } from "./read.js";

/** The action of a method on a path. */
export interface Operation {
  /** The RPC whose scope and place the request takes before its body is read. */
  readonly admittedAs: DescMethod;
  readonly run: (rpc: Rpc, request: ConversationRequest) => Promise<ExactObject>;
  /** The parameters that the query may have. */
  readonly query: readonly string[];
}

export interface Route extends Operation {
  readonly sessionId: string;
  readonly itemId: string;
}

type Operations = Readonly<Record<string, Operation>>;

const sessions = SessionService.method;
const messages = MessageService.method;
/** `include` changes nothing, because everything that was stored is returned anyway. */
const INCLUDE = ["include", "include[]"];

const PATHS: readonly (readonly [path: RegExp, operations: Operations])[] = [
  [/^$/, { POST: { admittedAs: sessions.createSession, run: createConversation, query: [] } }],
  [
    /^\/([^/]+)$/,
    {
      GET: { admittedAs: sessions.getSession, run: retrieveConversation, query: [] },
      POST: { admittedAs: sessions.updateSession, run: updateConversation, query: [] },
      DELETE: { admittedAs: sessions.deleteSession, run: deleteConversation, query: [] },
    },
  ],
  [
    /^\/([^/]+)\/items$/,
    {
      GET: { admittedAs: messages.listMessages, run: listItems, query: ["after", "limit", "order", ...INCLUDE] },
      POST: { admittedAs: messages.appendMessages, run: createItems, query: INCLUDE },
    },
  ],
  [
    /^\/([^/]+)\/items\/([^/]+)$/,
    {
      GET: { admittedAs: messages.getMessage, run: retrieveItem, query: INCLUDE },
      DELETE: { admittedAs: messages.deleteMessage, run: deleteItem, query: [] },
    },
  ],
];

/** Below this path lie the conversations. */
export const OPENAI_BASE = "/v1/conversations";

/** Finds the route of a request. Throws OpenAiProblem when there is none. */
export function findRoute(method: string, path: string): Route {
  const rest = path.startsWith(OPENAI_BASE) ? path.slice(OPENAI_BASE.length) : undefined;
  for (const [pattern, operations] of PATHS) {
    const match = rest === undefined ? null : pattern.exec(rest);
    if (match === null) continue;
    const name = method === "HEAD" ? "GET" : method;
    // Over HTTP/2 a client may send any method, and objects inherit members such as `constructor`.
    if (!Object.hasOwn(operations, name)) throw notAllowed(method, Object.keys(operations));
    return { ...(operations[name] as Operation), sessionId: decode(match[1] ?? ""), itemId: decode(match[2] ?? "") };
  }
  throw new OpenAiProblem(
    Code.NotFound,
    `No such path: ${path}. Of OpenAI's API this server has ${OPENAI_BASE} and what lies below it; it runs no models`,
    {},
  );
}

/** Reads the query. Throws for a parameter that the operation does not know, and for one that is repeated. */
export function readQuery(query: string, known: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams(query);
  for (const name of new Set(parameters.keys())) {
    if (!known.includes(name))
      throw new OpenAiProblem(Code.InvalidArgument, `Unknown parameter: '${name}'`, { param: name });
    if (!INCLUDE.includes(name) && parameters.getAll(name).length > 1) throw badParameter(name, "it is repeated");
  }
  return parameters;
}

function notAllowed(method: string, allowed: readonly string[]): OpenAiProblem {
  const allow = [...allowed, ...(allowed.includes("GET") ? ["HEAD"] : [])].sort().join(", ");
  return new OpenAiProblem(Code.Unimplemented, `${method} is not allowed here: ${allow}`, {
    status: 405,
    headers: { allow },
  });
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badParameter("path", `${JSON.stringify(segment)} is not percent-encoded UTF-8`);
  }
}
