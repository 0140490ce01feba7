import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { FinishDraftRequestSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import type { ApiContext } from "../../../src/api/api-method.js";
import { finishDraft } from "../../../src/api/draft-handlers.js";

it("answers FinishDraft with the id under which the message was appended", async () => {
  const finish = async () => ({ messageIds: ["u1.u2"], position: 3 });
  const context = { rootPool: { sessions: { drafts: { finish } } } } as unknown as ApiContext;
  const request = create(FinishDraftRequestSchema, { sessionId: "s", messageId: "d", version: 2n });
  expect(await finishDraft(request, context)).toMatchObject({ messageId: "u1.u2", position: 3n });
});
