import { type ZodRawShape, z } from "zod";

/** A tool: an RPC as a model sees it. Its arguments are fields of the request, in JSON. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The full name of the RPC. */
  readonly rpc: string;
  readonly input: ZodRawShape;
  /** Makes the request as proto3 JSON. When absent, the request is the arguments unchanged. */
  readonly request?: (args: Readonly<Record<string, unknown>>) => unknown;
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
    rpc: "sessionpool.v1.SessionService.ListSessions",
    input: {
      limit: limit("sessions"),
      pageToken,
      parentId: z.string().optional().describe("Only sessions that were made from this one"),
    },
  },
  {
    name: "read_session",
    title: "Read a session",
    description: "Returns a session and its last messages, oldest first. nextPageToken continues with older messages.",
    rpc: "sessionpool.v1.SessionService.LoadSession",
    input: { sessionId, limit: limit("messages"), pageToken },
  },
  {
    name: "list_todos",
    title: "List todos",
    description: "Lists the todos that all sessions share.",
    rpc: "sessionpool.v1.TodoService.ListTodos",
    input: {},
  },
];

const WRITING: readonly Tool[] = [
  {
    name: "append_message",
    title: "Append a message",
    description:
      "Appends a text message to a session. Calling it again with the same messageId and text stores nothing twice.",
    rpc: "sessionpool.v1.MessageService.AppendMessage",
    input: {
      sessionId,
      role: z.string().describe("Who speaks, such as user, assistant or system"),
      text: z.string().describe("Text of the message"),
      messageId: z.string().optional().describe("Id of the message; made when absent"),
      createSession: z.boolean().default(false).describe("Make the session if it is missing"),
    },
    request: ({ role, text, messageId, ...args }) => ({
      ...args,
      message: { info: { id: messageId, role }, parts: [{ type: "text", text }] },
    }),
  },
  {
    name: "fork_session",
    title: "Fork a session",
    description: "Makes a new session that begins with the messages of another one, which does not change.",
    rpc: "sessionpool.v1.SessionService.ForkSession",
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
    rpc: "sessionpool.v1.SessionService.RevertSession",
    input: {
      sessionId,
      upToMessageId: upToMessageId.optional(),
      toStart: z.boolean().optional().describe("Keep no message, instead of upToMessageId"),
    },
  },
  {
    name: "unrevert_session",
    title: "Undo reverts of a session",
    description: "Brings back the messages that revert_session removed.",
    rpc: "sessionpool.v1.SessionService.UnrevertSession",
    input: { sessionId },
  },
  {
    name: "add_todo",
    title: "Add a todo",
    description: "Adds a todo at the end of the list that all sessions share.",
    rpc: "sessionpool.v1.TodoTrackerService.AddTodo",
    input: {
      content: z.string().describe("What is to be done"),
      status: z.string().default("pending").describe("pending, in_progress, completed, ..."),
      priority: z.string().default("medium").describe("high, medium, low, ..."),
    },
    request: (todo) => ({ todo }),
  },
  {
    name: "update_todo",
    title: "Change a todo",
    description: "Changes the given fields of a todo.",
    rpc: "sessionpool.v1.TodoTrackerService.UpdateTodo",
    input: {
      id: z.string().describe("Id of the todo"),
      content: z.string().optional().describe("What is to be done"),
      status: z.string().optional().describe("pending, in_progress, completed, ..."),
      priority: z.string().optional().describe("high, medium, low, ..."),
    },
    request: (todo) => ({ todo }),
  },
  {
    name: "remove_todo",
    title: "Remove a todo",
    description: "Removes a todo from the list.",
    rpc: "sessionpool.v1.TodoTrackerService.RemoveTodo",
    input: { id: z.string().describe("Id of the todo") },
    request: ({ id }) => ({ todoId: id }),
    isDestructive: true,
  },
];

/** The tools that a model gets: those that read, and on request those that write. */
export function toolsFor({ allowWrites }: { readonly allowWrites: boolean }): readonly Tool[] {
  return allowWrites ? [...READING, ...WRITING] : READING;
}
