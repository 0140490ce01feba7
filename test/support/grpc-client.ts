import type { DescMethod, DescService, JsonValue, Message } from "@bufbuild/protobuf";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { Client, type ClientReadableStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { wireMethod } from "../../src/codec/binary-codec.js";

export interface CallOptions {
  readonly key?: string;
  readonly timeoutMs?: number;
}

/** How a call ended: with an answer as JSON, or with gRPC's code and message. */
export type Outcome = { readonly answer: JsonValue } | { readonly code: number; readonly message: string };

/** A client over grpc-js that takes and returns proto3 JSON. */
export class GrpcClient {
  readonly #client: Client;

  constructor(address: string, creds = credentials.createInsecure()) {
    // Node 26 does not accept an address as the name of a TLS server. The tests' certificates name localhost.
    const options = { "grpc.ssl_target_name_override": "localhost", "grpc.default_authority": address };
    this.#client = new Client(address, creds, creds._isSecure() ? options : {});
  }

  call<S extends DescService>(
    service: S,
    name: string,
    request: JsonValue,
    options: CallOptions = {},
  ): Promise<Outcome> {
    const desc = methodOf(service, name);
    return this.callBytes(desc, wireMethod(desc).encodeRequest(fromJson(desc.input, request)), options);
  }

  /** Sends the bytes unchanged. */
  callBytes(desc: DescMethod, bytes: Uint8Array, { key, timeoutMs = 120_000 }: CallOptions = {}): Promise<Outcome> {
    return new Promise((resolve) => {
      const done = (error: ServiceError | null, answer?: Message) => {
        if (error !== null) resolve({ code: error.code, message: error.details });
        else resolve({ answer: toJson(desc.output, answer as Message) });
      };
      const path = `/${desc.parent.typeName}/${desc.name}`;
      const deadline = Date.now() + timeoutMs;
      const decode = (response: Buffer) => wireMethod(desc).decodeResponse(response);
      this.#client.makeUnaryRequest(path, Buffer.from, decode, bytes, metadataOf(key), { deadline }, done);
    });
  }

  /** Sends a stream of messages. */
  upload(desc: DescMethod, messages: readonly Message[], { key }: CallOptions = {}): Promise<Outcome> {
    return new Promise((resolve) => {
      const wire = wireMethod(desc);
      const encode = (value: Message) => Buffer.from(wire.encodeRequest(value));
      const decode = (response: Buffer) => wire.decodeResponse(response);
      const path = `/${desc.parent.typeName}/${desc.name}`;
      const stream = this.#client.makeClientStreamRequest(path, encode, decode, metadataOf(key), (error, answer) => {
        if (error !== null) resolve({ code: error.code, message: error.details });
        else resolve({ answer: toJson(desc.output, answer as Message) });
      });
      for (const message of messages) stream.write(message);
      stream.end();
    });
  }

  stream(
    service: DescService,
    name: string,
    request: JsonValue,
    { key }: CallOptions = {},
  ): ClientReadableStream<Message> {
    const desc = methodOf(service, name);
    const wire = wireMethod(desc);
    const path = `/${desc.parent.typeName}/${desc.name}`;
    const message = fromJson(desc.input, request);
    const encode = (value: Message) => Buffer.from(wire.encodeRequest(value));
    return this.#client.makeServerStreamRequest(
      path,
      encode,
      (bytes) => wire.decodeResponse(bytes),
      message,
      metadataOf(key),
    );
  }

  close(): void {
    this.#client.close();
  }
}

function methodOf(service: DescService, name: string): DescMethod {
  const desc = service.methods.find((method) => method.name === name);
  if (desc === undefined) throw new Error(`${service.typeName} has no ${name}`);
  return desc;
}

function metadataOf(key: string | undefined): Metadata {
  const metadata = new Metadata();
  if (key !== undefined) metadata.set("authorization", `Bearer ${key}`);
  return metadata;
}
