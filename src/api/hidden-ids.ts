import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { ApiContext } from "./api-method.js";
import { UndecodedMessage } from "./undecoded-message.js";

/** Fields of answers that hold the id of another session, which the caller may not see. */
const HIDDEN: ReadonlySet<string> = new Set(["parent_id", "origin_session_id"]);

/** Where the messages of a type hold such ids, by the names of the fields. */
interface Places {
  readonly ids: readonly string[];
  readonly within: readonly { readonly name: string; readonly oneof?: string | undefined; readonly places: Places }[];
}

type Values = Record<string, unknown>;

/**
 * Empties the ids of sessions that the caller may not see, for callers with limited access. Takes the type of an RPC's
 * answers, so that a new field with one of the names cannot be missed.
 */
export function idHider(
  desc: DescMessage,
): (answer: Message, request: Message, context: ApiContext) => Promise<Message> {
  const places = placesIn(desc);
  if (places === undefined) return (answer) => Promise.resolve(answer);
  return async (answer, request, context) => {
    // The caller would have no answer if it could not see the session that it asks about.
    const { sessionId: asked = "" } = request as { readonly sessionId?: string };
    const ids = new Set<string>();
    mapIds(answer as unknown as Values, places, (id) => {
      if (id !== "" && id !== asked) ids.add(id);
      return id;
    });
    if (ids.size === 0) return answer;
    const visible = await context.rootPool.sessions.visibleSessions(ids, context);
    return mapIds(answer as unknown as Values, places, (id) =>
      id === asked || visible.has(id) ? id : "",
    ) as unknown as Message;
  };
}

/** Undefined when there are none. */
function placesIn(desc: DescMessage): Places | undefined {
  const ids: string[] = [];
  const within: Places["within"][number][] = [];
  for (const field of desc.fields) {
    if (HIDDEN.has(field.name)) ids.push(field.localName);
    // A Struct is the caller's, and contains itself.
    const places = field.message?.file.proto.package === desc.file.proto.package && placesIn(field.message);
    if (places) within.push({ name: field.localName, oneof: field.oneof?.localName, places });
  }
  return ids.length === 0 && within.length === 0 ? undefined : { ids, within };
}

/** The same message if no id changes; otherwise a copy, because answers may be shared between callers. */
function mapIds(message: Values, { ids, within }: Places, map: (id: string) => string): Values {
  let mapped = message;
  const set = (name: string, value: unknown) => {
    if (value !== mapped[name]) mapped = copyWith(mapped, name, value);
  };
  for (const name of ids) set(name, map(message[name] as string));
  for (const { name, oneof, places } of within) {
    const one = (value: unknown) => mapIds(value as Values, places, map);
    if (oneof !== undefined) {
      const chosen = message[oneof] as { readonly case?: string; readonly value?: unknown };
      if (chosen.case !== name) continue;
      const value = one(chosen.value);
      if (value !== chosen.value) set(oneof, { ...chosen, value });
      continue;
    }
    const value = message[name];
    if (value === undefined) continue;
    if (!Array.isArray(value)) set(name, one(value));
    else if (value.length > 0) {
      const list = value.map(one);
      if (list.some((item, i) => item !== value[i])) set(name, list);
    }
  }
  return mapped;
}

function copyWith(message: Values, name: string, value: unknown): Values {
  return message instanceof UndecodedMessage && name === "info"
    ? (message.withInfo(value as UndecodedMessage["info"]) as unknown as Values)
    : { ...message, [name]: value };
}
