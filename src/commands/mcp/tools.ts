import { type ZodRawShape, z } from "zod";
import { DomainError } from "../../domain/errors.js";
import { listAttachments } from "./attachments.js";
import type { CallRpc } from "./call-rpc.js";
import type { Json } from "./cut-document.js";
import { MOST_BYTES, readPage, readTodos } from "./list-page.js";
import { type ReadSession, readSession } from "./read-session.js";

type Arguments = Readonly<Record<string, unknown>>;

/** A tool: an RPC as a model sees it. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The name of the RPC, such as `SessionService.LoadSession`. */
  readonly rpc: string;
  readonly input: ZodRawShape;
  /** Makes the answer. When absent, it is that of the RPC to the arguments unchanged. */
  readonly run?: (call: CallRpc, args: Arguments) => Promise<Json>;
  /** Whether it removes something that no other call can bring back. */
  readonly isDestructive?: boolean;
}

const sessionId = z.string().describe("Id of the session");
const pageToken = z.string().optional().describe("nextPageToken of the previous answer");
const limit = (most: string) => z.int().min(1).max(100).default(20).describe(`Most ${most} to return`);
const upToMessageId = z.string().describe("Id of the last message to keep");

const READING: readonly Tool[] = [
  {
    name: "list_sessions",
    title: "List sessions",
    description: "Lists conversation sessions, the most recently updated first.",
    rpc: "SessionService.ListSessions",
    input: {
      limit: limit("sessions"),
      pageToken,
      parentId: z.string().optional().describe("Only sessions that were made from this one"),
    },
    run: (call, args) => readPage(call, "SessionService.ListSessions", args, "sessions"),
  },
  {
    name: "read_session",
    title: "Read a session",
    description:
      "Returns a session and its last messages, oldest first. nextPageToken continues with older messages, or within a message that is too long for one answer: its texts then come in pieces, and textRange or dataJsonRange says which.",
    rpc: "SessionService.LoadSession",
    input: {
      sessionId,
      limit: limit("messages"),
      pageToken,
      messageId: z.string().optional().describe("Only this message, for example one that search_messages found"),
      maxBytes: z
        .int()
        .min(8 * 1024)
        .max(1024 * 1024)
        .default(MOST_BYTES)
        .describe("Most bytes of the answer"),
    },
    run: (call, args) => readSession(call, args as unknown as ReadSession),
  },
  {
    name: "search_messages",
    title: "Search messages",
    description:
      'Finds messages by words, all of which they contain, newest first, with snippets. "Several words" in quotation marks must follow each other; begin* matches how a word begins. read_session with a messageId reads a hit.',
    rpc: "MessageService.SearchMessages",
    input: {
      q: z.string().describe("Words to look for, at most 256 bytes"),
      sessionId: z.string().optional().describe("Only messages of this session"),
      label: z.array(z.string()).optional().describe("Only sessions with all of these labels, each as key=value"),
      role: z.string().optional().describe("Only messages with this role"),
      since: z.string().optional().describe("Only messages at or after this time, as 2026-01-31T12:00:00Z"),
      until: z.string().optional().describe("Only messages before this time"),
      limit: limit("hits"),
      pageToken,
    },
    run: (call, args) => readPage(call, "MessageService.SearchMessages", args, "hits").catch(explainNoIndex),
  },
  {
    name: "list_attachments",
    title: "List attachments",
    description:
      "Lists the attachments of a session, such as pictures, documents and long outputs, with the ids of the messages that name them. The uri of each is a resource with its content.",
    rpc: "AttachmentService.ListAttachments",
    input: { sessionId, limit: limit("attachments"), pageToken },
    run: listAttachments,
  },
  {
    name: "list_todos",
    title: "List todos",
    description: "Lists the todos that all sessions share.",
    rpc: "TodoService.ListTodos",
    input: { pageToken },
    run: (call, { pageToken }) => readTodos(call, pageToken as string | undefined),
  },
];

const WRITING: readonly Tool[] = [
  {
    name: "append_message",
    title: "Append a message",
    description:
      "Appends a text message to a session. Calling it again with the same messageId and text stores nothing twice.",
    rpc: "MessageService.AppendMessage",
    input: {
      sessionId,
      role: z.string().describe("Who speaks, such as user, assistant or system"),
      text: z.string().describe("Text of the message"),
      messageId: z.string().optional().describe("Id of the message; made when absent"),
      createSession: z.boolean().default(false).describe("Make the session if it is missing"),
    },
    run: (call, { role, text, messageId, ...args }) => {
      const message = { info: { id: messageId, role }, parts: [{ type: "text", text }] };
      return call("MessageService.AppendMessage", { ...args, message });
    },
  },
  {
    name: "fork_session",
    title: "Fork a session",
    description: "Makes a new session that begins with the messages of another one, which does not change.",
    rpc: "SessionService.ForkSession",
    input: {
      sessionId,
      upToMessageId: z.string().optional().describe("Id of the last message to take; all when absent"),
      newSessionId: z.string().optional().describe("Id of the new session; made when absent"),
      title: z.string().optional().describe("Title of the new session"),
    },
  },
  {
    name: "revert_session",
    title: "Revert a session",
    description:
      "Removes all messages after the given one. unrevert_session brings them back until the session changes in another way.",
    rpc: "SessionService.RevertSession",
    input: {
      sessionId,
      upToMessageId: upToMessageId.optional(),
      toStart: z.boolean().optional().describe("Keep no message, instead of upToMessageId"),
    },
  },
  {
    name: "unrevert_session",
    title: "Unrevert a session",
    description: "Brings back the messages that revert_session removed.",
    rpc: "SessionService.UnrevertSession",
    input: { sessionId },
  },
  {
    name: "add_todo",
    title: "Add a todo",
    description: "Adds a todo at the end of the list that all sessions share.",
    rpc: "TodoTrackerService.AddTodo",
    input: {
      content: z.string().describe("What is to be done"),
      status: z.string().default("pending").describe("pending, in_progress, completed, ..."),
      priority: z.string().default("medium").describe("high, medium, low, ..."),
    },
    run: (call, todo) => call("TodoTrackerService.AddTodo", { todo }),
  },
  {
    name: "update_todo",
    title: "Change a todo",
    description: "Changes the given fields of a todo.",
    rpc: "TodoTrackerService.UpdateTodo",
    input: {
      id: z.string().describe("Id of the todo"),
      content: z.string().optional().describe("What is to be done"),
      status: z.string().optional().describe("pending, in_progress, completed, ..."),
      priority: z.string().optional().describe("high, medium, low, ..."),
    },
    run: (call, todo) => call("TodoTrackerService.UpdateTodo", { todo }),
  },
  {
    name: "remove_todo",
    title: "Remove a todo",
    description: "Removes a todo from the list.",
    rpc: "TodoTrackerService.RemoveTodo",
    input: { id: z.string().describe("Id of the todo") },
    run: (call, { id }) => call("TodoTrackerService.RemoveTodo", { todoId: id }),
    isDestructive: true,
  },
];

function explainNoIndex(error: unknown): never {
  if (!(error instanceof DomainError) || error.code !== "unimplemented") throw error;
  const how = "a server that was started on this store with --search makes one; then start mcp again";
  throw new DomainError("unimplemented", `The store has no index of words: ${how}`, { cause: error });
}

/** The tools that a model gets: those that read, and on request those that write. */
export function toolsFor({ allowWrites }: { readonly allowWrites: boolean }): readonly Tool[] {
  return allowWrites ? [...READING, ...WRITING] : READING;
}
