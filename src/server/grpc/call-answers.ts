import { Metadata, type ServerInterceptor, status } from "@grpc/grpc-js";
import { REQUEST_ID, requestIdFrom } from "../request-id.js";

export type InterceptedCall = Parameters<ServerInterceptor>[1];

/** What all answers to a call tell. */
export interface CallAnswers {
  /** Undefined until the metadata has come: grpc-js refuses some calls before. */
  requestId: string | undefined;
}

/** What grpc-js itself answers with `internal`, though the client sent it. */
const CLIENT_FAULTS = /^Invalid grpc-timeout value/;

/**
 * Changes all answers to a call, including those of grpc-js itself: names the request in their metadata, once, and
 * reports faults of the client as `invalid_argument`.
 */
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
    const isClientFault = answer.code === status.INTERNAL && CLIENT_FAULTS.test(String(answer.details));
    const code = isClientFault ? status.INVALID_ARGUMENT : answer.code;
    const metadata = isNamed ? answer.metadata : named(answer.metadata ?? new Metadata());
    sendStatus.call(this, { code, details: answer.details, metadata });
  };
  return answers;
}
