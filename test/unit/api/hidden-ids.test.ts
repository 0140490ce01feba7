import { create, type DescField, type DescMessage, fromJson, type Message, toJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type ListMessagesResponse,
  ListMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { idHider } from "../../../src/api/hidden-ids.js";
import { API_METHODS, type ApiContext } from "../../../src/api/method-table.js";
import { UndecodedMessage } from "../../../src/api/undecoded-message.js";
import { MessageBody } from "../../../src/domain/message-body.js";

/**
 * The fields of answers that hold ids of sessions. Those of others are emptied when the caller may not see the session,
 * and these are not: the caller would not have the answer if it could not see that session.
 */
const ALWAYS_VISIBLE = [
  "sessionpool.v1.MessageInfo.session_id",
  "sessionpool.v1.SearchHit.session_id",
  "sessionpool.v1.Session.session_id",
  // The feed tells callers only of sessions that they may see, or could see.
  "sessionpool.v1.SessionGone.session_id",
  "sessionpool.v1.SessionState.session_id",
  // Sums only hold usage of sessions that the caller may see.
  "sessionpool.v1.UsageRow.session_id",
];
const HIDDEN = ["sessionpool.v1.MessageInfo.origin_session_id", "sessionpool.v1.Session.parent_id"];

const OUTPUTS = [...new Map(API_METHODS.map(({ desc }) => [desc.output.typeName, desc.output])).values()];

describe("ids of sessions in answers", () => {
  it("are each hidden or always visible, whatever fields there are", () => {
    const fields = OUTPUTS.flatMap((output) => [...fieldsOf(output)]);
    const ids = fields.filter(({ name }) => /(session|parent)_ids?$/.test(name));
    const names = ids.map(({ parent, name }) => `${parent.typeName}.${name}`);
    expect([...new Set(names)].sort()).toEqual([...ALWAYS_VISIBLE, ...HIDDEN].sort());
  });

  it.each(OUTPUTS.map((output) => [output.name, output] as const))("are hidden in %s", async (_, output) => {
    for (const answer of filled(output)) {
      const before = JSON.stringify(toJson(output, answer));
      const mapped = await idHider(output)(answer, requestFor("asked"), contextSeeing());
      // Answers may be shared between callers.
      expect(JSON.stringify(toJson(output, answer))).toBe(before);
      for (const [name, value] of idsIn(toJson(output, mapped))) {
        expect(`${name} ${value}`).toBe(name === "sessionId" ? "sessionId id of sessionId" : name);
      }
    }
  });

  it.each(OUTPUTS.map((output) => [output.name, output] as const))("stay when visible in %s", async (_, output) => {
    for (const answer of filled(output)) {
      const context = contextSeeing("id of parentId", "id of originSessionId");
      expect(await idHider(output)(answer, requestFor("asked"), context)).toBe(answer);
      const one = withOneId(output, answer);
      expect(await idHider(output)(one, requestFor("one"), contextSeeing())).toBe(one);
    }
  });

  it("are asked for once each, and not at all when there are none", async () => {
    const asked: string[][] = [];
    const { desc } = API_METHODS.find(({ desc }) => desc.name === "ListSessions")!;
    const sessions = ["p", "q", "p", "", "asked"].map((parentId) => ({ parentId }));
    const hide = idHider(desc.output);
    await hide(create(desc.output, { sessions } as never), requestFor("asked"), contextOf(asked, []));
    await hide(create(desc.output), requestFor("asked"), contextOf(asked, []));
    expect(asked).toEqual([["p", "q"]]);
  });

  it("are hidden in messages that are not decoded, whose content stays", async () => {
    const info = { $typeName: "sessionpool.v1.MessageInfo", id: "m", originSessionId: "other", sessionId: "s" };
    const body = MessageBody.of({ parts: [{ id: "p", type: "text", text: "hello" }], metadata: { a: 1 } });
    const messages = [new UndecodedMessage(info as UndecodedMessage["info"], body)];
    const answer = { $typeName: "sessionpool.v1.ListMessagesResponse", messages, nextPageToken: "" } as const;
    const hide = idHider(ListMessagesResponseSchema);
    const hidden = (await hide(answer as never, requestFor("s"), contextSeeing())) as ListMessagesResponse;
    const [message] = hidden.messages;
    expect(message?.info).toMatchObject({ id: "m", originSessionId: "", sessionId: "s", metadata: { a: 1 } });
    expect(message?.parts).toMatchObject([{ text: "hello" }]);
    expect(UndecodedMessage.bodyOf(message as object)).toBe(body);
    expect(messages[0]?.info.originSessionId).toBe("other");
  });
});

/** All fields of a message and of the messages in it, without those of other packages. */
function* fieldsOf(desc: DescMessage): Generator<DescField> {
  for (const field of desc.fields) {
    yield field;
    if (isOurs(field.message)) yield* fieldsOf(field.message);
  }
}

function isOurs(desc: DescMessage | undefined): desc is DescMessage {
  return desc?.typeName.startsWith("sessionpool.") === true;
}

/** Messages in which all fields are set that hold texts or messages; one for each of the choices of its oneof. */
function filled(desc: DescMessage): readonly Message[] {
  const [choice] = desc.oneofs;
  const cases = choice === undefined ? [undefined] : choice.fields;
  return cases.map((chosen) => {
    const values: Record<string, unknown> = {};
    for (const field of desc.fields) {
      if (field.oneof !== undefined && field !== chosen) continue;
      const value = filledField(field);
      if (value === undefined) continue;
      if (field.oneof !== undefined) values[field.oneof.localName] = { case: field.localName, value };
      else values[field.localName] = field.fieldKind === "list" ? [value, value] : value;
    }
    return create(desc, values as never);
  });
}

function filledField(field: DescField): unknown {
  if (isOurs(field.message) && field.fieldKind !== "map") return filled(field.message)[0];
  return field.fieldKind === "scalar" && /Id$/.test(field.localName) ? `id of ${field.localName}` : undefined;
}

/** The fields of JSON at any depth that hold ids of sessions, with their values. */
function idsIn(json: unknown): readonly (readonly [string, unknown])[] {
  if (typeof json !== "object" || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) =>
    /^(parentId|sessionId|originSessionId)$/.test(name) ? [[name, value] as const] : idsIn(value),
  );
}

/** The same message, in which all ids are `one`. */
function withOneId(desc: DescMessage, answer: Message): Message {
  const json = JSON.stringify(toJson(desc, answer)).replaceAll(/"id of \w+"/g, '"one"');
  return fromJson(desc, JSON.parse(json));
}

function requestFor(sessionId: string): Message {
  return { sessionId } as unknown as Message;
}

function contextSeeing(...visible: readonly string[]): ApiContext {
  return contextOf([], visible);
}

function contextOf(asked: string[][], visible: readonly string[]): ApiContext {
  const visibleSessions = async (ids: Iterable<string>) => {
    asked.push([...ids]);
    return new Set(visible);
  };
  return { rootPool: { sessions: { visibleSessions } } } as unknown as ApiContext;
}
