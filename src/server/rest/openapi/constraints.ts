import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import type { Limits } from "../../../domain/limits.js";
import { MOST_QUERY_BYTES } from "../../../domain/search.js";
import { isRequired } from "./behavior.js";
import type { Schema } from "./json-schema.js";

/**
 * Constraints on values beyond their type. Lengths count characters here but bytes in the service, which are more for
 * some texts.
 */
export interface Constraints {
  /** Constraints on the value of a field, wherever it occurs. */
  ofField(field: DescField): Schema;
  /** Constraints on a value that must not be empty, for example in a path. */
  ofRequired(field: DescField): Schema;
  /** Keywords for a message as a whole, next to its properties. */
  ofMessage(message: DescMessage): Schema;
}

const IDS = /^((origin_|new_|target_)?session_id|(up_to_)?message_id|parent_id|fork_point_id)$/;
/** Messages whose `id` is an id of the service. Other ids belong to the caller and are not checked. */
const WITH_OWN_ID = ["MessageInfo"];
const CONTROLS = "\\u0000-\\u001f\\u007f-\\u009f";
const COUNTS = /^expected_(position|revision)$|^from_position$/;

/** Whole numbers from 1 that a double holds; slightly narrower than what the service accepts, which is 2^53 - 1. */
const EXACT = "[1-9][0-9]{0,14}|[1-8][0-9]{15}";

/** The fields that an update may name, in the form in which JSON writes the paths of a mask. */
const MASKS: Readonly<Record<string, readonly string[]>> = {
  UpdateSessionRequest: ["title", "metadata", "labels", "expireTime"],
  UpdateMessageRequest: ["parts", "info.metadata", "info.role"],
};

/** The years of times that fit into whole microseconds; slightly narrower than what the service accepts. */
const KEPT_YEARS = "^(1[7-9][0-9]{2}|2[01][0-9]{2}|22[0-4][0-9])-";
const YEARS_SINCE_1970 = "^(19[7-9][0-9]|2[01][0-9]{2}|22[0-4][0-9])-";

/** Exactly one of the two must be given: `upToMessageId`, which names the last message to keep, or `toStart`. */
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
  const id = { examples: ["trip"], maxLength: idBytes, pattern: `^[^${CONTROLS}]*$`, not: { enum: [".", ".."] } };
  const label = { type: "string", pattern: `^[^=${CONTROLS}]+=`, examples: ["team=ops"] };
  const exact: Readonly<Record<string, Schema>> = {
    "AppendMessagesRequest.messages": { maxItems: batchMessages },
    "ExtendDraftRequest.deltas": { maxItems: draftDeltas },
    "MessageInfo.timestamp": { pattern: KEPT_YEARS },
    "SearchMessagesRequest.q": { maxLength: MOST_QUERY_BYTES },
  };

  const labelMap = {
    maxProperties: labels,
    propertyNames: { minLength: 1, maxLength: labelKeyBytes, pattern: `^[^=${CONTROLS}]+$` },
    additionalProperties: { type: "string", maxLength: labelValueBytes },
  };

  function ofField(field: DescField): Schema {
    return { ...byName(field), ...(isRequired(field) && notEmpty(field)) };
  }

  function byName(field: DescField): Schema {
    const { name, parent } = field;
    const own = exact[`${parent.name}.${name}`];
    if (own !== undefined) return own;
    if (isId(field)) return id;
    if (name === "label" && field.fieldKind === "list") return { items: label, maxItems: labels };
    if (name === "labels" && field.fieldKind === "map") return labelMap;
    if (name === "title") return { maxLength: titleBytes };
    if (name === "limit" && parent.name.endsWith("Request")) return { minimum: 1 };
    if (name === "offset") return { minimum: 0 };
    if (name === "expire_time") return { pattern: YEARS_SINCE_1970 };
    if (name === "update_mask") return maskOf(MASKS[parent.name] ?? []);
    if (COUNTS.test(name)) return { pattern: `^(0|${EXACT})$` };
    return {};
  }

  return {
    ofField,
    ofRequired: (field) => (isId(field) ? { ...ofField(field), minLength: 1 } : ofField(field)),
    ofMessage: ({ name }) => (CUTS.includes(name) ? { allOf: [CUT] } : {}),
  };
}

/** The list of todos accepts any id. */
function isId({ name, parent }: DescField): boolean {
  if (parent.name === "ListTodosRequest") return false;
  return name === "id" ? WITH_OWN_ID.includes(parent.name) : IDS.test(name);
}

/** A required field must not have the value that it has when it is left out. */
function notEmpty(field: DescField): Schema {
  if (field.fieldKind === "list") return { minItems: 1 };
  if (field.fieldKind !== "scalar") return {};
  return field.scalar === ScalarType.STRING ? { minLength: 1 } : { pattern: `^(${EXACT})$` };
}

function maskOf(paths: readonly string[]): Schema {
  const one = `(${paths.map((path) => path.replace(".", "\\.")).join("|")})`;
  return { pattern: `^${one}(,${one})*$`, examples: [paths[0]] };
}
