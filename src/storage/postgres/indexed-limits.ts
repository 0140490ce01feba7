import { invalidArgument } from "../../domain/errors.js";
import { DEFAULT_LIMITS, type Limits } from "../../domain/limits.js";

/**
 * A row of an index of PostgreSQL takes at most 2,704 bytes. Beside up to 100 bytes of its own, the longest ones hold a
 * namespace, which is at most 512 bytes, and then two ids (`sessions_by_parent`) or a label and an id
 * (`labels_by_time`).
 */
const MOST_ID_BYTES = 512;
const MOST_LABEL_BYTES = 1500;

/**
 * Checks the limits on what indexes hold. Without this, texts within higher limits would be refused one by one, each
 * only when it does not happen to be compressible. Infinite ones, which an import has, promise nothing, so there each
 * text is refused by itself. `invalid_argument`: a limit is too high.
 */
export function checkIndexedLimits(limits: Partial<Limits> = {}): void {
  const { idBytes, labelKeyBytes, labelValueBytes } = { ...DEFAULT_LIMITS, ...limits };
  if (idBytes > MOST_ID_BYTES && Number.isFinite(idBytes)) {
    throw invalidArgument(
      `--limit-id-bytes is ${idBytes}; the indexes of PostgreSQL hold ids of at most ${MOST_ID_BYTES} bytes`,
    );
  }
  // Keys have no control characters. In values, U+0000 and U+0001 take two bytes.
  const labelBytes = labelKeyBytes + 2 * labelValueBytes;
  if (labelBytes > MOST_LABEL_BYTES && Number.isFinite(labelBytes)) {
    throw invalidArgument(
      `--limit-label-key-bytes and twice --limit-label-value-bytes are ${labelBytes} together; the indexes of PostgreSQL hold at most ${MOST_LABEL_BYTES}`,
    );
  }
}
