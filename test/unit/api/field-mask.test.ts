import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { UpdateMessageRequestSchema } from "../../../gen/sessionpool/v1/message_service_pb.js";
import { maskableFields, maskedFields } from "../../../src/api/field-mask.js";

const requestWith = (...paths: string[]) => create(UpdateMessageRequestSchema, { updateMask: { paths } });

test("a mask names fields of its own request only", () => {
  const fields = ["parts", "info.metadata", "info.role", "info.usage"];
  expect(maskedFields(requestWith(...fields))).toEqual(fields);
  expect(() => maskedFields(requestWith("parts", "title"))).toThrow(
    'update_mask names "title"; it may name parts, info.metadata, info.role, info.usage',
  );
});

test("a mask names at most 100 paths", () => {
  const paths = Array(100).fill("parts");
  expect(maskedFields(requestWith(...paths))).toEqual(paths);
  expect(() => maskedFields(requestWith(...paths, "parts"))).toThrow("update_mask names more than 100 paths");
});

test("an absent mask and an empty one name nothing", () => {
  expect(maskedFields(create(UpdateMessageRequestSchema))).toBeUndefined();
  expect(maskedFields(requestWith())).toBeUndefined();
});

test("a request whose fields are not listed is a fault of the program", () => {
  expect(() => maskableFields("sessionpool.v1.GetSessionRequest")).toThrow(
    "The fields that the update_mask of sessionpool.v1.GetSessionRequest may name are not listed",
  );
});
