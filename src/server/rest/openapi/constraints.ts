import type { DescField, DescMessage } from "@bufbuild/protobuf";
import type { Limits } from "../../../domain/limits.js";
import type { Schema } from "./schema.js";

/** What values must be besides their type. Lengths are characters here and bytes in the service, which are more for some texts. */
export interface Constraints {
  /** For the value of a field, wherever it stands. */
  ofField(field: DescField): Schema;
  /** For a value that may not be empty, in a path for example. */
  ofRequired(field: DescField): Schema;
  /** For a message as a whole: keywords beside its properties. */
  ofMessage(message: DescMessage): Schema;
  /** Fields that a request needs, by their proto names. */
  requiredOf(message: DescMessage): readonly string[];
}

const IDS = /^((origin_|new_|target_)?session_id|(up_to_)?message_id|parent_id|fork_point_id)$/;
/** Messages whose `id` is an id of the service; other ids are the caller's and not checked. */
const WITH_OWN_ID = ["MessageInfo"];
const CONTROLS = "\\u0000-\\u001f\\u007f-\\u009f";
const COUNTS = /^expected_(position|revision)$|^from_position$/;

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  AppendMessagesRequest: ["messages"],
  CopyMessagesRequest: ["target_session_id"],
  StartDraftRequest: ["message"],
  ExtendDraftRequest: ["version", "deltas"],
  FinishDraftRequest: ["version"],
};

/** One of the two names what stays. */
const CUT: Schema = {
  oneOf: [
    { required: ["upToMessageId"], properties: { upToMessageId: { minLength: 1 }, toStart: { const: false } } },
    { required: ["toStart"], properties: { upToMessageId: { maxLength: 0 }, toStart: { const: true } } },
  ],
};
const CUTS = ["TruncateMessagesRequest", "RevertSessionRequest"];

/** The constraints of a service with these limits. */
export function constraintsFor(limits: Limits): Constraints {
  const { idBytes, titleBytes, batchMessages, draftDeltas, labels, labelKeyBytes, labelValueBytes } = limits;
  const id = { maxLength: idBytes, pattern: `^(?!\\.{1,2}$)[^${CONTROLS}]*$` };
  const exact: Readonly<Record<string, Schema>> = {
    "MessageInfo.role": { minLength: 1 },
    "Part.type": { minLength: 1 },
    "CopyMessagesRequest.target_session_id": { ...id, minLength: 1 },
    "AppendMessagesRequest.messages": { minItems: 1, maxItems: batchMessages },
    "ExtendDraftRequest.deltas": { minItems: 1, maxItems: draftDeltas },
    "ExtendDraftRequest.version": { pattern: "^[1-9][0-9]{0,17}$" },
    "FinishDraftRequest.version": { pattern: "^[1-9][0-9]{0,17}$" },
  };

  const labelMap = {
    maxProperties: labels,
    propertyNames: { minLength: 1, maxLength: labelKeyBytes, pattern: `^[^=${CONTROLS}]+$` },
    additionalProperties: { type: "string", maxLength: labelValueBytes },
  };

  function ofField(field: DescField): Schema {
    const { name, parent } = field;
    const own = exact[`${parent.name}.${name}`];
    if (own !== undefined) return own;
    if (isId(field)) return id;
    if (name === "labels" && field.fieldKind === "map") return labelMap;
    if (name === "title") return { maxLength: titleBytes };
    if (name === "limit" && parent.name.endsWith("Request")) return { minimum: 1 };
    if (name === "offset") return { minimum: 0 };
    if (COUNTS.test(name)) return { pattern: "^(0|[1-9][0-9]{0,17})$" };
    return {};
  }

  return {
    ofField,
    ofRequired: (field) => (isId(field) ? { ...ofField(field), minLength: 1 } : ofField(field)),
    ofMessage: ({ name }) => (CUTS.includes(name) ? { allOf: [CUT] } : {}),
    requiredOf: ({ name }) => REQUIRED[name] ?? [],
  };
}

/** The list of todos takes any id. */
function isId({ name, parent }: DescField): boolean {
  if (parent.name === "ListTodosRequest") return false;
  return name === "id" ? WITH_OWN_ID.includes(parent.name) : IDS.test(name);
}
