import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, test } from "vitest";
import { comments } from "../../../../../gen/comments.js";
import { UpdateSessionRequestSchema } from "../../../../../gen/sessionpool/v1/session_service_pb.js";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";
import { readBindings } from "../../../../../src/server/rest/binding.js";
import { constraintsFor } from "../../../../../src/server/rest/openapi/constraints.js";
import { openApiDocument } from "../../../../../src/server/rest/openapi/openapi.js";
import { METHODS } from "../rest-server.js";

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
type Json = any;

let document: Json;
beforeAll(() => {
  document = JSON.parse(JSON.stringify(openApiDocument(METHODS, "1.2.3")));
});

const operations = (): Json[] =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method, ...operation })),
  );

function operation(method: string, path: string): Json {
  return document.paths[path][method];
}

/** Every value in the document that has this key. */
function* valuesOf(value: Json, key: string): Generator<Json> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === key) yield inner;
    yield* valuesOf(inner, key);
  }
}

/** What a message needs comments on: its fields, and itself unless the comment on its RPC describes it. */
function namesIn({ typeName, fields, nestedMessages }: DescMessage): string[] {
  const own = /(Request|Response)$/.test(typeName) ? [] : [typeName];
  return [...own, ...fields.map(({ name }) => `${typeName}.${name}`), ...nestedMessages.flatMap(namesIn)];
}

describe("openApiDocument", () => {
  test("is valid OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    const broken = structuredClone(document);
    delete broken.paths["/session"].get.responses[200].description;
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  test("describes the limits of values, as the service enforces them", () => {
    const { schemas } = document.components;
    const id = operation("get", "/session/{sessionId}").parameters[0].schema;
    expect(id).toMatchObject({ minLength: 1, maxLength: 128 });
    const pattern = new RegExp(id.pattern, "u");
    expect(["trip", "a/b", "..a", "京都"].every((text) => pattern.test(text))).toBe(true);
    expect(["a\n", "\u0085"].some((text) => pattern.test(text))).toBe(false);
    expect(id.not).toEqual({ enum: [".", ".."] });
    expect(schemas.MessageInfo.properties).toMatchObject({ id: { maxLength: 128 }, role: { minLength: 1 } });
    expect(schemas.Part.properties.id.maxLength).toBeUndefined();
    const bodyOf = (path: string) => operation("post", path).requestBody;
    expect(bodyOf("/session/{sessionId}/message:batch")).toMatchObject({
      required: true,
      content: {
        "application/json": {
          schema: { required: ["messages"], properties: { messages: { minItems: 1, maxItems: 1000 } } },
        },
      },
    });
    expect(bodyOf("/session/{sessionId}/message:truncate").content["application/json"].schema.allOf).toHaveLength(1);
    expect(bodyOf("/session").required).toBe(false);
    expect(bodyOf("/session").content["application/json"].schema.properties.labels).toMatchObject({
      maxProperties: 32,
      propertyNames: { minLength: 1, maxLength: 64 },
    });
    expect(bodyOf("/session").content["application/json"].schema.properties.owner.maxLength).toBe(128);
    const ticket = bodyOf("/session/{sessionId}/ticket").content["application/json"].schema;
    expect(ticket.properties.scope.enum).toEqual(["read", "write"]);
    const small = JSON.stringify(openApiDocument(METHODS, "1", { ...DEFAULT_LIMITS, idBytes: 17 }));
    expect(small).toContain('"maxLength":17');
  });

  test("describes a duration as the text that JSON has, and an annotation as one that says something", () => {
    const { schemas } = document.components;
    expect(schemas.Duration).toBeUndefined();
    for (const [text, isDuration] of [
      ["1.5s", true],
      ["3s", true],
      ["1.5", false],
      ["s", false],
    ] as const) {
      expect(new RegExp(schemas.Usage.properties.duration.pattern).test(text), text).toBe(isDuration);
      expect(new RegExp(schemas.UsageSums.properties.duration.pattern).test(text), text).toBe(isDuration);
    }
    const change = operation("patch", "/session/{sessionId}/annotation/{annotationId}").requestBody;
    expect(schemas.Annotation.anyOf).toHaveLength(2);
    expect(change.content["application/json"].schema.anyOf).toBeUndefined();
  });

  test("allows no count beyond 2^53 - 1, which the service refuses", () => {
    const inQuery = (method: string, path: string, name: string): string =>
      operation(method, path).parameters.find((one: Json) => one.name === name).schema.pattern;
    const inBody = (path: string, name: string): string =>
      operation("post", path).requestBody.content["application/json"].schema.properties[name].pattern;
    for (const pattern of [
      inQuery("post", "/session/{sessionId}/message", "expectedPosition"),
      inQuery("delete", "/session/{sessionId}/message/{messageId}", "expectedRevision"),
      inQuery("get", "/session/{sessionId}/message:watch", "fromPosition"),
      inBody("/session/{sessionId}/revert", "expectedRevision"),
      inBody("/session/{sessionId}/draft/{messageId}:extend", "version"),
    ]) {
      expect(["1", "10", "999999999999999", "8999999999999999"].every((text) => new RegExp(pattern).test(text))).toBe(
        true,
      );
      expect(["9007199254740992", "10000000000000000", "01"].some((text) => new RegExp(pattern).test(text))).toBe(
        false,
      );
    }
  });

  test("lets a mask name the fields that the handler accepts", () => {
    const session = operation("patch", "/session/{sessionId}").requestBody.content["application/json"].schema;
    const ofSession = new RegExp(session.properties.updateMask.pattern);
    expect("title,metadata,labels,expireTime").toMatch(ofSession);
    expect("revision").not.toMatch(ofSession);
    const { parameters } = operation("patch", "/session/{sessionId}/message/{messageId}");
    const ofMessage = new RegExp(parameters.find(({ name }: Json) => name === "updateMask").schema.pattern);
    expect("parts,info.metadata,info.role").toMatch(ofMessage);
    expect("info.id").not.toMatch(ofMessage);
  });

  test("throws for a mask whose fields are not listed", () => {
    const { updateMask } = UpdateSessionRequestSchema.field;
    const unlisted = { ...updateMask, parent: { ...updateMask.parent, typeName: "test.Unlisted" } } as DescField;
    expect(() => constraintsFor(DEFAULT_LIMITS).ofField(unlisted)).toThrow(/update_mask of test\.Unlisted/);
  });

  test("recognises ids and the numbers of requests in messages that it does not know", () => {
    const { ofField } = constraintsFor(DEFAULT_LIMITS);
    const as = (field: DescField, name: string, message: string): DescField =>
      ({ ...field, name, parent: { ...field.parent, name: message } }) as DescField;
    const { sessionId, expectedRevision, title } = UpdateSessionRequestSchema.field;
    expect(ofField(as(sessionId, "root_id", "NewRequest"))).toMatchObject({ maxLength: 128 });
    expect(ofField(as(expectedRevision, "at_most", "NewRequest"))).toHaveProperty("pattern");
    expect(ofField(as(expectedRevision, "at_most", "NewResponse"))).toEqual({});
    expect(ofField(as(title, "no_such_field", "NewRequest"))).toEqual({});
  });

  test("refers only to components that exist, and to every one of them", () => {
    const references = new Set<string>(valuesOf(document, "$ref"));
    for (const reference of references) {
      const target = reference
        .slice(2)
        .split("/")
        .reduce((value: Json, key) => value?.[key], document);
      expect(target, reference).toBeDefined();
    }
    for (const kind of ["schemas", "parameters", "responses"]) {
      const names = Object.keys(document.components[kind]).filter(
        (name) => !references.has(`#/components/${kind}/${name}`),
      );
      expect(names).toEqual([]);
    }
  });

  test("has every binding, each with an id of its own and exactly the parameters of its path", () => {
    const bindings = METHODS.flatMap(({ desc }) => readBindings(desc));
    expect(operations()).toHaveLength(bindings.length);
    expect(new Set(operations().map(({ operationId }) => operationId)).size).toBe(bindings.length);
    for (const { path, parameters } of operations()) {
      const named = parameters.filter((one: Json) => one.in === "path").map((one: Json) => `{${one.name}}`);
      expect(path.match(/\{[^}]+\}/g) ?? []).toEqual(named);
    }
  });

  test("does not mention what REST does not serve", () => {
    expect(JSON.stringify(document)).not.toMatch(/TodoTracker|AddTodo/);
  });

  test("takes its descriptions from the comments of the API", () => {
    const get = operation("get", "/session/{sessionId}");
    expect(get.description).toBe(comments["sessionpool.v1.SessionService.GetSession"]);
    expect(get.summary).toBe("Returns a session with its exact `message_count` and `update_time`");
    expect(get.parameters[0].description).toBe(comments["sessionpool.v1.GetSessionRequest.session_id"]);
    expect(document.components.schemas.Session.properties.title.description).toBe(
      comments["sessionpool.v1.Session.title"],
    );
    expect(document.tags.map(({ name }: Json) => name)).toEqual([
      "SessionService",
      "MessageService",
      "AttachmentService",
      "UsageService",
      "AnnotationService",
      "TodoService",
    ]);
    for (const one of operations()) expect(one.summary).toMatch(/^[A-Z].*[^.]$/);
  });

  test("finds a comment on every service, RPC, message and field of the API", () => {
    const files = new Set(METHODS.map(({ desc }) => desc.parent.file));
    const names = [...files].flatMap(({ services, messages }) => [
      ...services.flatMap(({ typeName, methods }) => [typeName, ...methods.map(({ name }) => `${typeName}.${name}`)]),
      ...messages.flatMap(namesIn),
    ]);
    expect(names.length).toBeGreaterThan(METHODS.length);
    expect(names.filter((name) => !comments[name])).toEqual([]);
  });

  test("describes the bytes of attachments, and what HTTP says of them", () => {
    const upload = operation("post", "/session/{sessionId}/attachment");
    expect(upload.requestBody.content["application/octet-stream"].schema.format).toBe("binary");
    const named = (one: Json, place: string): string[] =>
      one.parameters.filter((p: Json) => p.in === place).map((p: Json) => p.name);
    expect(named(upload, "query")).toEqual(["attachmentId", "name", "sha256", "createSession"]);
    expect(named(upload, "header")).toEqual(["Content-Digest"]);
    expect(Object.keys(upload.responses)).toEqual(expect.arrayContaining(["200", "409", "413", "415"]));
    const download = operation("get", "/session/{sessionId}/attachment/{attachmentId}");
    expect(named(download, "query")).toEqual([]);
    expect(named(download, "header")).toEqual(["Range", "If-Range", "If-None-Match", "If-Match"]);
    expect(Object.keys(download.responses)).toEqual(expect.arrayContaining(["200", "206", "304", "404", "412", "416"]));
    expect(download.responses[206].headers).toHaveProperty("Content-Range");
    expect(download.responses[200].content["*/*"].schema.format).toBe("binary");
  });

  test("describes queries, bodies and answers as the bindings define them", () => {
    const append = operation("post", "/session/{sessionId}/message");
    expect(append.requestBody.content["application/json"].schema).toEqual({
      $ref: "#/components/schemas/MessageWithParts",
    });
    expect(append.requestBody.required).toBe(true);
    const inQuery = (one: Json): string[] =>
      one.parameters.filter((p: Json) => p.in === "query").map((p: Json) => p.name);
    expect(inQuery(append)).toEqual(["expectedPosition", "createSession"]);
    const fork = operation("post", "/session/{sessionId}/fork");
    expect(inQuery(fork)).toEqual([]);
    expect(fork.requestBody.required).toBe(false);
    expect(Object.keys(fork.requestBody.content["application/json"].schema.properties)).toEqual([
      "upToMessageId",
      "newSessionId",
      "title",
    ]);
    const list = operation("get", "/session/{sessionId}/message");
    expect(inQuery(list)).toEqual([
      "limit",
      "offset",
      "pageToken",
      "newestFirst",
      "includeAncestors",
      "since",
      "until",
    ]);
    expect(list.requestBody).toBeUndefined();
    for (const path of ["/{sessionId}/todo", "/session/{sessionId}/todo"]) {
      expect(operation("get", path).responses[200].content["application/json"].schema).toEqual({
        type: "array",
        items: { $ref: "#/components/schemas/Todo" },
      });
    }
  });

  test("lets the body of an update leave out every field", () => {
    const { required, content } = operation("patch", "/session/{sessionId}/message/{messageId}").requestBody;
    expect(required).toBe(true);
    const { schema } = content["application/json"];
    expect(schema).not.toHaveProperty("required");
    expect(schema.properties.parts.items).toEqual({ $ref: "#/components/schemas/Part" });
    expect(schema.properties.info).toMatchObject({ type: "object", additionalProperties: false });
    expect(schema.properties.info).not.toHaveProperty("required");
    expect(schema.properties.info.properties.role).toMatchObject({ type: "string", minLength: 1 });
  });

  test("gives types as proto3 JSON writes them", () => {
    const { MessageInfo, MessageWithParts } = document.components.schemas;
    expect(MessageInfo.properties.position).toMatchObject({ type: "string", format: "int64", readOnly: true });
    expect(MessageInfo.properties.timestamp).toMatchObject({ type: "string", format: "date-time" });
    expect(MessageInfo.properties.metadata).toMatchObject({ type: "object", additionalProperties: true });
    expect(MessageInfo.required).toEqual(["role"]);
    expect(MessageWithParts.required).toEqual(["info"]);
    expect(MessageWithParts.properties.parts).toMatchObject({
      type: "array",
      items: { $ref: "#/components/schemas/Part" },
    });
  });

  test("describes streams, errors and authentication", () => {
    const watch = operation("get", "/session/{sessionId}/message:watch");
    const feed = operation("get", "/session:watch");
    const resuming = operations().filter(({ parameters }) =>
      parameters.some(({ name }: Json) => name === "Last-Event-ID"),
    );
    expect(new Set(resuming.map(({ operationId }) => operationId))).toEqual(
      new Set([watch.operationId, feed.operationId]),
    );
    for (const { parameters, responses } of [watch, feed]) {
      expect(Object.keys(responses[200].content)).toEqual(["text/event-stream", "application/x-ndjson"]);
      const header = parameters.find(({ name }: Json) => name === "Last-Event-ID");
      expect(header.description).toContain("`resumeToken` wins");
    }
    expect(document.components.schemas.WatchSessionsResponse.allOf).toEqual([
      { oneOf: ["created", "changed", "deleted", "heartbeat"].map((name) => ({ required: [name] })) },
    ]);
    expect(document.components.schemas.WatchMessagesResponse.allOf).toEqual([
      {
        oneOf: ["appended", "truncated", "heartbeat", "draft", "draftExtended", "draftEnded", "updated", "deleted"].map(
          (name) => ({ required: [name] }),
        ),
      },
    ]);
    expect(Object.keys(operation("get", "/session/{sessionId}").responses)).toContain("404");
    expect(Object.keys(operation("patch", "/session/{sessionId}").responses)).toEqual(
      expect.arrayContaining([
        "400",
        "401",
        "403",
        "404",
        "409",
        "413",
        "415",
        "429",
        "500",
        "501",
        "503",
        "504",
        "default",
      ]),
    );
    for (const path of [
      "/session/{sessionId}/fork",
      "/session/{sessionId}/share",
      "/session/{sessionId}/message:batch",
    ])
      expect(Object.keys(operation("post", path).responses), path).toEqual(expect.arrayContaining(["404", "409"]));
    expect(Object.keys(operation("get", "/session").responses)).not.toContain("413");
    expect(document.components.responses.Error429.headers).toHaveProperty("Retry-After");
    expect(document.components.securitySchemes.bearer).toMatchObject({ type: "http", scheme: "bearer" });
    expect(document.info.version).toBe("1.2.3");
  });
});
