import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { encodeEnvelope, type UniversalServerResponse } from "@connectrpc/connect/protocol";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { toGrpcMessage } from "../http/grpc-message.js";
import { COMPRESSED_FLAG, ENVELOPE_BYTES } from "./connect-request.js";

const MESSAGE = "grpc-message";

/** Writes the text of an error in trailers as gRPC does; connect-node escapes too much. Returns the trailers. */
export function withGrpcMessage(trailers: Headers): Headers {
  const message = trailers.get(MESSAGE);
  if (message !== null) trailers.set(MESSAGE, toGrpcMessage(decodeURIComponent(message)));
  return trailers;
}

/** Rewrites the trailers of gRPC-Web as {@link withGrpcMessage} does. They are the last envelope of the body. */
export function withGrpcWebMessage(answer: UniversalServerResponse): UniversalServerResponse {
  const { header, body } = answer;
  if (!header?.get("content-type")?.startsWith("application/grpc-web")) return answer;
  return { ...answer, body: rewriteTrailers(body, header.get("grpc-encoding")) };
}

/** connect-node yields one envelope at a time. */
async function* rewriteTrailers(
  body: UniversalServerResponse["body"],
  encoding: string | null,
): AsyncIterable<Uint8Array> {
  for await (const envelope of body ?? []) {
    const flags = envelope[0] ?? 0;
    if ((flags & trailerFlag) === 0) {
      yield envelope;
      continue;
    }
    const data = envelope.subarray(ENVELOPE_BYTES);
    const plain =
      (flags & COMPRESSED_FLAG) === 0 ? data : encoding === "br" ? brotliDecompressSync(data) : gunzipSync(data);
    yield encodeEnvelope(trailerFlag, trailerSerialize(withGrpcMessage(trailerParse(plain))));
  }
}
