/** All that gRPC has escaped, and spaces at the ends, which HTTP would drop. */
const ESCAPED = /[^\x20-\x7e]+|%|^ +| +$/g;

/**
 * The value of the header `grpc-message`. Some clients, such as grpc-js, leave the escapes of punctuation in the text,
 * so nothing is escaped that need not be.
 */
export function toGrpcMessage(text: string): string {
  return text.replace(ESCAPED, (piece) => {
    const bytes = [...Buffer.from(piece)];
    return bytes.map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  });
}
