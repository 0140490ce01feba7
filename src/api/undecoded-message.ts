import type { JsonObject } from "@bufbuild/protobuf";
import type { MessageInfo, MessageWithParts, Part } from "../../gen/sessionpool/v1/message_service_pb.js";
import type { MessageBody } from "../domain/message-body.js";
import { toPartAttachment } from "./part-attachment.js";

/** A message whose parts and metadata are decoded when they are first read. */
export class UndecodedMessage implements MessageWithParts {
  readonly $typeName = "sessionpool.v1.MessageWithParts";
  readonly info: MessageInfo;
  readonly #body: MessageBody;
  #parts: Part[] | undefined;

  /** `info` comes without metadata. */
  constructor(info: MessageInfo, body: MessageBody) {
    this.info = body.hasMetadata ? withMetadata(info, body) : info;
    this.#body = body;
  }

  get parts(): Part[] {
    this.#parts ??= this.#body.parts.map(({ id, type, text, data, attachment }) => ({
      $typeName: "sessionpool.v1.Part",
      id,
      type,
      text,
      data: data as JsonObject | undefined,
      attachment: toPartAttachment(attachment),
    }));
    return this.#parts;
  }

  /** The same message with other information, whose metadata is the same. */
  withInfo(info: MessageInfo): UndecodedMessage {
    return new UndecodedMessage(info, this.#body);
  }

  /** The body of a message that can be passed on as it is stored; undefined for any other message. */
  static bodyOf(message: object): MessageBody | undefined {
    return #body in message ? message.#body : undefined;
  }
}

function withMetadata(info: MessageInfo, body: MessageBody): MessageInfo {
  return Object.defineProperty(info, "metadata", { get: () => body.metadata, enumerable: true, configurable: true });
}
