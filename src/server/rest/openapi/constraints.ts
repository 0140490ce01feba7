import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { FieldBehavior, field_behavior as fieldBehavior } from "../../../../gen/google/api/field_behavior_pb.js";
import { maskableFields } from "../../../api/field-mask.js";
import { MOST_OWNER_BYTES } from "../../../domain/access.js";
import { MOST_ANNOTATION_BYTES, MOST_AUTHOR_BYTES } from "../../../domain/annotation.js";
import { MOST_TEXT_BYTES } from "../../../domain/attachment.js";
import { CURRENCIES } from "../../../domain/currencies.js";
import type { Limits } from "../../../domain/limits.js";
import { MOST_QUERY_BYTES } from "../../../domain/search.js";
import { MOST_TITLE_FILTER_BYTES } from "../../../domain/session-order.js";
import { MOST_GROUP_BY } from "../../../domain/usage-groups.js";
import { MOST_NAME_BYTES, MOST_TOKENS } from "../../../domain/validate-usage.js";

/** A JSON Schema as in OpenAPI 3.1. */
export type Schema = { readonly [keyword: string]: unknown };

/**
 * Constraints on values beyond their type. Ids, numbers of requests and field masks are recognised in every message, so
 * a new field of these kinds needs nothing here. Any other limit of a new field is declared in the tables of this file.
 * Lengths count characters here but bytes in the service, which are more for some texts.
 */
export interface Constraints {
  /** Constraints on the value of a field, wherever it occurs. */
  ofField(field: DescField): Schema;
  /** Constraints on a value that must not be empty, for example in a path. */
  ofRequired(field: DescField): Schema;
  /** Keywords for a message as a whole, next to its properties. */
  ofMessage(message: DescMessage): Schema;
}

/** Ids that the service does not check: that of a part is the caller's, and the todos are the same for any session. */
const UNCHECKED_IDS = ["TextDelta.part_id", "ListTodosRequest.session_id"];
const CONTROLS = "\\u0000-\\u001f\\u007f-\\u009f";

/** Whole numbers from 1 that a double holds; slightly narrower than what the service accepts, which is 2^53 - 1. */
const EXACT = "[1-9][0-9]{0,14}|[1-8][0-9]{15}";

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

/** Constraints on whole messages. */
const OF_MESSAGES: Readonly<Record<string, Schema>> = {
  TruncateMessagesRequest: { allOf: [CUT] },
  RevertSessionRequest: { allOf: [CUT] },
  Usage: {
    anyOf: [
      { properties: { cost: { maxLength: 0 }, currency: { maxLength: 0 } } },
      { required: ["cost", "currency"], properties: { cost: { minLength: 1 }, currency: { minLength: 1 } } },
    ],
  },
  Annotation: {
    anyOf: [
      { required: ["thumb"], properties: { thumb: { minLength: 1 } } },
      { required: ["text"], properties: { text: { minLength: 1 } } },
    ],
  },
};

const USED_NAME: Schema = { maxLength: MOST_NAME_BYTES, pattern: `^[^${CONTROLS}]*$` };
/** Whole numbers from 0 to MOST_TOKENS, which is a power of ten. */
const TOKENS: Schema = { pattern: `^([0-9]{1,${String(MOST_TOKENS).length - 1}}|${MOST_TOKENS})$`, examples: ["1200"] };
const USAGE: Readonly<Record<string, Schema>> = {
  "Usage.model": { ...USED_NAME, examples: ["gpt-5"] },
  "Usage.provider": { ...USED_NAME, examples: ["openai"] },
  "Usage.input_tokens": TOKENS,
  "Usage.output_tokens": TOKENS,
  "Usage.cached_input_tokens": TOKENS,
  "Usage.reasoning_tokens": TOKENS,
  "Usage.cost": { pattern: "^([0-9]{1,12}([.][0-9]{1,18})?)?$", examples: ["0.0125"] },
  "Usage.currency": { enum: ["", ...CURRENCIES], examples: ["USD"] },
  "Usage.start_time": { pattern: KEPT_YEARS },
  "Usage.first_token_time": { pattern: KEPT_YEARS },
  "Usage.duration": {
    pattern: `^([0-9]{1,6}|1[0-9]{6}|2[0-4][0-9]{5}|25[0-8][0-9]{4})([.][0-9]{1,9})?s$`,
    examples: ["1.5s"],
  },
};

const GROUP = `(day|model|provider|owner|session|tool|label:[^",${CONTROLS}]+)`;
/** Without keys in quotation marks. */
const GROUPS = `^(${GROUP}(,${GROUP})*)?$`;

/** The constraints of a service with these limits. */
export function constraintsFor(limits: Limits): Constraints {
  const { idBytes, titleBytes, batchMessages, draftDeltas, labels, labelKeyBytes, labelValueBytes } = limits;
  const id = { examples: ["trip"], maxLength: idBytes, pattern: `^[^${CONTROLS}]*$`, not: { enum: [".", ".."] } };
  const label = { type: "string", pattern: `^[^=${CONTROLS}]+=`, examples: ["team=ops"] };
  /** Constraints on single fields. */
  const ofOneField: Readonly<Record<string, Schema>> = {
    "AppendMessagesRequest.messages": { maxItems: batchMessages },
    "ExtendDraftRequest.deltas": { maxItems: draftDeltas },
    "MessageInfo.timestamp": { pattern: KEPT_YEARS },
    ...USAGE,
    "SearchMessagesRequest.q": { maxLength: MOST_QUERY_BYTES },
    "ListSessionsRequest.title": { maxLength: MOST_TITLE_FILTER_BYTES },
    "ListSessionsRequest.order_by": {
      maxLength: MOST_TITLE_FILTER_BYTES,
      pattern: "^[ \\t]*((update_time|create_time|title)([ \\t]+desc)?)?[ \\t]*$",
      examples: ["title"],
    },
    "SumUsageRequest.group_by": { maxLength: MOST_GROUP_BY, pattern: GROUPS, examples: ["day,model"] },
    "SumUsageRequest.time_zone": { maxLength: 128, examples: ["Europe/Berlin"] },
    "SumUsageRequest.model": USED_NAME,
    "CreateTicketRequest.scope": { enum: ["read", "write"] },
    "UploadAttachmentRequest.name": { maxLength: MOST_TEXT_BYTES, pattern: `^[^${CONTROLS}]*$` },
    "Annotation.thumb": { enum: ["", "up", "down"] },
    "Annotation.text": { maxLength: MOST_ANNOTATION_BYTES },
    "Annotation.author": { maxLength: MOST_AUTHOR_BYTES, pattern: `^[^${CONTROLS}]*$` },
    "UploadAttachmentRequest.sha256": { pattern: "^[0-9A-Fa-f]{64}$" },
  };
  /** Constraints on all fields with a name, because a name means the same in every message. */
  const ofEveryField: Readonly<Record<string, Schema>> = {
    title: { maxLength: titleBytes },
    label: { items: label, maxItems: labels },
    labels: {
      maxProperties: labels,
      propertyNames: { minLength: 1, maxLength: labelKeyBytes, pattern: `^[^=${CONTROLS}]+$` },
      additionalProperties: { type: "string", maxLength: labelValueBytes },
    },
    limit: { minimum: 1 },
    expire_time: { pattern: YEARS_SINCE_1970 },
    owner: { maxLength: MOST_OWNER_BYTES, pattern: `^[^${CONTROLS}]*$` },
  };

  function ofField(field: DescField): Schema {
    return { ...ofAnyValue(field), ...(isRequired(field) && notEmpty(field)) };
  }

  function ofAnyValue(field: DescField): Schema {
    const { name, parent } = field;
    const named = ofOneField[`${parent.name}.${name}`] ?? ofEveryField[name];
    if (named !== undefined) return named;
    if (isId(field)) return id;
    if (field.message?.typeName === "google.protobuf.FieldMask") return maskOf(maskableFields(parent.typeName));
    return parent.name.endsWith("Request") ? ofNumber(field) : {};
  }

  return {
    ofField,
    ofRequired: (field) => (isId(field) ? { ...ofField(field), minLength: 1 } : ofField(field)),
    ofMessage: ({ name }) => OF_MESSAGES[name] ?? {},
  };
}

/** A field `…_id`, or the `id` of a message. That of a part belongs to the caller. */
function isId({ name, parent }: DescField): boolean {
  const path = `${parent.name}.${name}`;
  return path === "MessageInfo.id" || (name.endsWith("_id") && !UNCHECKED_IDS.includes(path));
}

/** No number of a request is negative. */
function ofNumber({ fieldKind, scalar }: DescField): Schema {
  if (fieldKind !== "scalar") return {};
  if (scalar === ScalarType.INT64) return { pattern: `^(0|${EXACT})$` };
  return scalar === ScalarType.INT32 ? { minimum: 0 } : {};
}

/** A required field must not have the value that it has when it is left out. */
function notEmpty(field: DescField): Schema {
  if (field.fieldKind === "list") return { minItems: 1 };
  if (field.fieldKind !== "scalar") return {};
  return field.scalar === ScalarType.STRING ? { minLength: 1 } : { pattern: `^(${EXACT})$` };
}

function maskOf(fields: readonly string[]): Schema {
  const paths = fields.map(protoCamelCase);
  const one = `(${paths.map((path) => path.replace(".", "\\.")).join("|")})`;
  return { pattern: `^${one}(,${one})*$`, examples: [paths[0]] };
}

/** A request needs the field. */
export function isRequired(field: DescField): boolean {
  return getOption(field, fieldBehavior).includes(FieldBehavior.REQUIRED);
}

/** Only the service sets the field. */
export function isOutputOnly(field: DescField): boolean {
  return getOption(field, fieldBehavior).includes(FieldBehavior.OUTPUT_ONLY);
}
