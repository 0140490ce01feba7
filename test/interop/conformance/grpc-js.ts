/** Stands before grpc-js in the conformance server, and shows the implementation its calls. */
import type { ServerHttp2Stream } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { Metadata, type ServerInterceptor, Server as ServerOfPackage, type ServerOptions } from "@grpc/grpc-js";
import { headersOf } from "../../../src/server/grpc/adjust-headers.js";
import { readDeadline } from "../../../src/server/http/start-call.js";
import { headersSeen, show } from "./seen.js";

export * from "@grpc/grpc-js";

type Call = Parameters<ServerInterceptor>[1] & { readonly stream: ServerHttp2Stream };

export class Server extends ServerOfPackage {
  constructor(options: ServerOptions) {
    super({ ...options, interceptors: [observe, ...(options.interceptors ?? [])] });
  }
}

/** It is the first to get a call, so what it changes is what every answer passes last. */
const observe: ServerInterceptor = (_method, given) => {
  const call = given as Call;
  let headers = new Headers();
  let trailers = new Headers();
  let error: ConnectError | undefined;
  const own = (name: "sendMetadata" | "sendStatus"): unknown => Object.getPrototypeOf(call)[name];
  call.sendMetadata = function (metadata) {
    addTo(metadata, headers);
    (own("sendMetadata") as Call["sendMetadata"]).call(this, metadata);
  };
  call.sendStatus = function (status) {
    const metadata = new Unpadded();
    if (status.metadata) metadata.merge(status.metadata);
    addTo(metadata, error === undefined ? trailers : detailsOf(error, trailers));
    const told = error === undefined ? status : { code: error.code as number, details: error.rawMessage };
    (own("sendStatus") as Call["sendStatus"]).call(this, { ...told, metadata });
  };
  const received = headersOf(call.stream);
  show({
    headers: headersSeen(received),
    query: new URLSearchParams(),
    // Not what is left of the deadline: the runner allows only half a second to have passed.
    timeoutMs: Number.isFinite(Number(call.getDeadline())) ? readDeadline(received, 0) : undefined,
    add(moreHeaders, moreTrailers) {
      headers = moreHeaders;
      trailers = moreTrailers;
      call.sendMetadata(new Metadata());
    },
    fail(thrown) {
      error = thrown;
    },
  });
  return given as ReturnType<ServerInterceptor>;
};

/**
 * grpc-js pads binary metadata, which gRPC asks servers not to do although clients must accept it. The runner would
 * refuse two errors of three for this alone, and see nothing else of them, so the padding is removed.
 */
class Unpadded extends Metadata {
  override clone(): Metadata {
    return this;
  }

  override toHttp2Headers(): ReturnType<Metadata["toHttp2Headers"]> {
    const headers = super.toHttp2Headers();
    for (const [name, value] of Object.entries(headers)) {
      if (name.endsWith("-bin")) headers[name] = [value ?? []].flat().map((one) => String(one).replace(/=+$/, ""));
    }
    return headers;
  }
}

function addTo(metadata: Metadata, headers: Headers): void {
  for (const [name, value] of headers) {
    for (const one of value.split(", ")) metadata.add(name, name.endsWith("-bin") ? Buffer.from(one, "base64") : one);
  }
}

/** The trailers with the details of an error. grpc-js writes its code and text itself. */
function detailsOf(error: ConnectError, trailers: Headers): Headers {
  const all = setTrailerStatus(new Headers(trailers), error);
  all.delete("grpc-status");
  all.delete("grpc-message");
  return all;
}
