import { Metadata, type ServerInterceptor, status } from "@grpc/grpc-js";
import { REQUEST_ID, requestIdFrom } from "../http/request-facts.js";

export type InterceptedCall = Parameters<ServerInterceptor>[1];

/** What all answers to a call tell. */
export interface CallAnswers {
  /** Undefined until the metadata has come. */
  requestId: string | undefined;
}

/** Names the request, once, in the metadata of all answers to a call, including those of grpc-js itself. */
export function adjustAnswers(call: InterceptedCall): CallAnswers {
  const answers: CallAnswers = { requestId: undefined };
  const { sendMetadata, sendStatus } = call;
  let isNamed = false;
  const named = (metadata: Metadata): Metadata => {
    if (!isNamed) metadata.set(REQUEST_ID, answers.requestId ?? requestIdFrom(undefined));
    isNamed = true;
    return metadata;
  };
  call.sendMetadata = function (metadata) {
    sendMetadata.call(this, named(metadata));
  };
  call.sendStatus = function (answer) {
    const metadata = isNamed ? answer.metadata : named(answer.metadata ?? new Metadata());
    // grpc-js would send the text "OK" with success, for which gRPC has no text.
    const details = answer.code === status.OK ? "" : answer.details;
    sendStatus.call(this, { code: answer.code, details, metadata });
  };
  return answers;
}
