import type { DescField, DescMessage } from "@bufbuild/protobuf";

const text = (content: string) => [{ type: "text", text: content }];

/** Bodies that work one after another, in this order, on a server without data. */
const BODIES: Readonly<Record<string, object>> = {
  CreateSessionRequest: { sessionId: "trip", title: "Kyoto in May" },
  AppendMessageRequest: { info: { id: "m1", role: "user" }, parts: text("When do the azaleas bloom?") },
  AppendMessagesRequest: {
    messages: [{ info: { id: "m2", role: "assistant" }, parts: text("Late April to the middle of May.") }],
  },
  UpdateSessionRequest: { title: "Kyoto in spring" },
  UpdateMessageRequest: { info: { role: "user" }, parts: text("When do the azaleas and the maples bloom?") },
  ForkSessionRequest: { newSessionId: "other-way", upToMessageId: "m1" },
  ShareSessionRequest: { newSessionId: "trip-to-share" },
  CopyMessagesRequest: { targetSessionId: "trip-to-copy-to" },
  StartDraftRequest: { message: { info: { id: "m9", role: "assistant" } } },
  ExtendDraftRequest: { version: "1", deltas: [{ appendText: { text: "Late April" } }] },
  FinishDraftRequest: { version: "2", deltas: [{ appendText: { text: " to the middle of May." } }] },
  CreateAnnotationRequest: { annotationId: "note-1", messageId: "m2", thumb: "up", text: "Right." },
  UpdateAnnotationRequest: { text: "Right, but say which year." },
  RevertSessionRequest: { upToMessageId: "m1" },
  CreateTicketRequest: { scope: "read" },
  TruncateMessagesRequest: { upToMessageId: "m1" },
};

/** An example of a request's body; undefined where an empty one suffices. */
export function exampleBody(request: DescMessage): object | undefined {
  return BODIES[request.name];
}

/** A value for a path field that goes with these bodies. */
export function exampleInPath({ name, parent }: DescField): string {
  if (name === "session_id") return "trip";
  if (name === "attachment_id") return ATTACHMENT_ID;
  if (name === "annotation_id") return "note-1";
  return parent.name.endsWith("DraftRequest") ? "m9" : "m1";
}

const ATTACHMENT_ID = "notes";
const IN_QUERIES: Readonly<Record<string, string>> = { q: "azaleas", attachment_id: ATTACHMENT_ID, name: "notes.txt" };

/** A value for a field of a query; undefined where none is needed. */
export function exampleInQuery({ name }: DescField): string | undefined {
  return IN_QUERIES[name];
}
