import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { invalidArgument } from "../domain/errors.js";

/** The fields that a mask names. Undefined when there is no mask or it is empty: the fields that are set then apply. */
export function maskedFields<Field extends string>(
  mask: FieldMask | undefined,
  known: readonly Field[],
): readonly Field[] | undefined {
  if (mask === undefined || mask.paths.length === 0) return undefined;
  for (const path of mask.paths) {
    if (!known.includes(path as Field)) {
      throw invalidArgument(`update_mask names ${JSON.stringify(path)}; it may name ${known.join(", ")}`);
    }
  }
  return mask.paths as Field[];
}
