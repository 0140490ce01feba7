import type { NewChatMessage, Part } from "../../domain/chat-message.js";
import type { JsonObject } from "../../domain/json.js";
import type { FileItem } from "./session-file.js";

/** A session as `opencode export` writes it: only what is read here. */
interface OpenCodeSession {
  readonly info: { readonly id: string; readonly title?: string; readonly parentID?: string } & JsonObject;
  readonly messages: readonly OpenCodeMessage[];
}

interface OpenCodeMessage {
  readonly info: {
    readonly id: string;
    readonly role: string;
    readonly time?: { readonly created?: number };
  } & JsonObject;
  readonly parts: readonly ({ readonly id?: string; readonly type: string; readonly text?: string } & JsonObject)[];
}

export function isOpenCode(value: unknown): boolean {
  const [first] = Array.isArray(value) ? value : [value];
  return (
    typeof first === "object" && first !== null && "info" in first && Array.isArray((first as OpenCodeSession).messages)
  );
}

/** One session, or a list of them. */
export function* readOpenCode(value: unknown): Iterable<FileItem> {
  for (const { info, messages } of (Array.isArray(value) ? value : [value]) as OpenCodeSession[]) {
    const { id, title = "", parentID = "", ...rest } = info;
    yield {
      session: {
        sessionId: id,
        parentId: parentID,
        forkPointId: "",
        inheritedCount: 0,
        title,
        metadata: { opencode: rest },
      },
    };
    let latestMicros = 0;
    for (const message of messages) {
      const converted = toMessage(message, latestMicros);
      latestMicros = converted.timestampMicros ?? latestMicros;
      yield { message: converted };
    }
  }
}

/** Never before the message in front of it: the order of the file counts. */
function toMessage({ info, parts }: OpenCodeMessage, earliestMicros: number): NewChatMessage {
  const { id, role, time, sessionID: _session, ...rest } = info;
  const created = time?.created;
  const timestampMicros =
    created === undefined ? earliestMicros || undefined : Math.max(created * 1000, earliestMicros);
  return {
    id,
    role,
    timestampMicros,
    parts: parts.map(toPart),
    metadata: { opencode: { ...rest, ...(time && { time }) } },
  };
}

function toPart({
  id,
  type,
  text,
  sessionID: _session,
  messageID: _message,
  ...data
}: OpenCodeMessage["parts"][number]): Part {
  return { id: id ?? "", type, text: text ?? "", data: Object.keys(data).length === 0 ? undefined : data };
}
