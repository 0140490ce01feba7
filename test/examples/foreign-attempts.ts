/** The ids with which one user tries to reach what another has. */
export interface Target {
  /** A session of the user who tries. */
  readonly own: string;
  readonly sessionId: string;
  readonly messageId: string;
  readonly draftId: string;
  readonly owner: string;
}

export interface Attempt {
  readonly service: "sessions" | "messages";
  readonly rpc: string;
  readonly request: Readonly<Record<string, unknown>>;
  /** The texts of the request, which an error may repeat. */
  readonly names: readonly string[];
  /** Whether it asks for an id that the other user has. */
  readonly takesId: boolean;
}

const MESSAGE = { info: { role: "user" }, parts: [{ type: "text", text: "Not yours" }] };

/** Calls of every RPC, at least one each, with the ids of another user. */
export function attempts({ own, sessionId, messageId, draftId, owner }: Target): readonly Attempt[] {
  const message = { sessionId, messageId };
  const draft = { sessionId, messageId: draftId };
  const sessions: readonly (readonly [string, object])[] = [
    ["createSession", { parentId: sessionId }],
    ["getSession", { sessionId }],
    ["loadSession", { sessionId }],
    ["listSessions", { parentId: sessionId }],
    ["listSessions", { owner }],
    ["listSessions", { noOwner: true }],
    ["updateSession", { sessionId, title: "Mine now" }],
    ["deleteSession", { sessionId }],
    ["forkSession", { sessionId, newSessionId: "stolen" }],
    ["shareSession", { sessionId, newSessionId: "stolen" }],
    ["revertSession", { sessionId, toStart: true }],
    ["unrevertSession", { sessionId }],
    ["createTicket", { sessionId, scope: "read" }],
    ["revokeTickets", { sessionId }],
    ["undeleteSession", { sessionId }],
    ["watchSessions", { owner }],
  ];
  const messages: readonly (readonly [string, object])[] = [
    ["appendMessage", { sessionId, message: MESSAGE }],
    ["appendMessages", { sessionId, messages: [MESSAGE] }],
    ["getMessage", message],
    ["listMessages", { sessionId }],
    ["searchMessages", { q: "piece", sessionId }],
    ["searchMessages", { q: "asks", owner }],
    ["countMessages", { sessionId }],
    ["copyMessages", { sessionId, targetSessionId: own }],
    ["copyMessages", { sessionId: own, targetSessionId: sessionId }],
    ["truncateMessages", { sessionId, toStart: true }],
    ["updateMessage", { ...message, parts: MESSAGE.parts }],
    ["deleteMessage", message],
    ["eraseMessage", message],
    ["watchMessages", { sessionId, fromPosition: 0 }],
    ["startDraft", { sessionId, message: { info: { role: "assistant" } } }],
    ["extendDraft", { ...draft, version: 1, deltas: [] }],
    ["finishDraft", { ...draft, version: 1 }],
    ["discardDraft", draft],
    ["listDrafts", { sessionId }],
  ];
  return [
    ...sessions.map((one) => attempt("sessions", ...one)),
    ...messages.map((one) => attempt("messages", ...one)),
    { ...attempt("sessions", "createSession", { sessionId }), takesId: true },
  ];
}

function attempt(service: Attempt["service"], rpc: string, request: object): Attempt {
  const names = Object.values(request).filter((value): value is string => typeof value === "string");
  return { service, rpc, request: request as Attempt["request"], names, takesId: false };
}
