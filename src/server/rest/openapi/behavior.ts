import { type DescField, getOption } from "@bufbuild/protobuf";
import { FieldBehavior, field_behavior as fieldBehavior } from "../../../../gen/google/api/field_behavior_pb.js";

/** A request needs the field. */
export function isRequired(field: DescField): boolean {
  return getOption(field, fieldBehavior).includes(FieldBehavior.REQUIRED);
}

/** Only the service sets the field. */
export function isOutputOnly(field: DescField): boolean {
  return getOption(field, fieldBehavior).includes(FieldBehavior.OUTPUT_ONLY);
}
