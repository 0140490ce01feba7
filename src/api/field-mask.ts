import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { invalidArgument } from "../domain/errors.js";

/** The fields that the `update_mask` of each request may name. */
const MASKABLE = {
  "sessionpool.v1.UpdateSessionRequest": ["title", "metadata", "labels", "expire_time", "owner"],
  "sessionpool.v1.UpdateMessageRequest": ["parts", "info.metadata", "info.role", "info.usage"],
  "sessionpool.v1.UpdateAnnotationRequest": ["thumb", "text", "author"],
  "sessionpool.v1.UpdateTodoRequest": ["content", "status", "priority"],
} as const;

type Maskable = typeof MASKABLE;

/** How many paths a mask may have. No request has more than five fields that it may name. */
export const MOST_PATHS = 100;
/** The error for more of them. */
export const TOO_MANY_PATHS = `update_mask names more than ${MOST_PATHS} paths`;

/**
 * The fields that the mask of a request names. Undefined when there is no mask or it is empty: the fields that are set
 * then apply.
 */
export function maskedFields<Name extends keyof Maskable>({
  $typeName,
  updateMask,
}: {
  readonly $typeName: Name;
  readonly updateMask?: FieldMask | undefined;
}): readonly Maskable[Name][number][] | undefined {
  if (updateMask === undefined || updateMask.paths.length === 0) return undefined;
  if (updateMask.paths.length > MOST_PATHS) throw invalidArgument(TOO_MANY_PATHS);
  const known = maskableFields($typeName);
  for (const path of updateMask.paths) {
    if (!known.includes(path)) {
      throw invalidArgument(`update_mask names ${JSON.stringify(path)}; it may name ${known.join(", ")}`);
    }
  }
  return updateMask.paths as Maskable[Name][number][];
}

/** The fields that the mask of a request with this type name may name. Throws if the request is not listed here. */
export function maskableFields(typeName: string): readonly string[] {
  const fields = (MASKABLE as Readonly<Record<string, readonly string[]>>)[typeName];
  if (fields === undefined) throw new Error(`The fields that the update_mask of ${typeName} may name are not listed`);
  return fields;
}
