import type { Message } from "@bufbuild/protobuf";
import { type ApiError, codeName } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";
import { API_METHODS, type ApiContext, type ApiMethod } from "../../api/method-table.js";
import { messageReader } from "../../codec/json-reader.js";
import { jsonMessageWriter } from "../../codec/json-writer.js";
import { textOf } from "../../domain/byte-string.js";
import { idsIn, isTold } from "../../server/call/call-audit.js";
import type { CommandAudit } from "../audited.js";
import type { Json } from "./cut-document.js";

/** Calls a unary RPC by its name, such as `MessageService.GetMessage`, with JSON and for the JSON of REST. */
export type CallRpc = (rpc: string, request: Json) => Promise<Json>;

/**
 * Calls the RPCs of the table for as long as the signal is not aborted, and tells the audit log of them. Rejects with
 * their errors.
 */
export function rpcCaller(context: ApiContext, signal: AbortSignal, audit?: CommandAudit): CallRpc {
  return async (rpc, json) => {
    const method = methodOf(rpc);
    const { desc, unary } = method;
    const request = messageReader(desc.input)(withoutAbsent(json));
    const tell = (answer: Message | undefined, failure?: ApiError) => {
      if (isTold(method, failure))
        audit?.write({ rpc: desc.name, ...idsIn(request, answer), result: codeName(failure?.code ?? 0) });
    };
    const answer = await unary(request, { ...context, signal }).catch((error: unknown) => {
      tell(undefined, toApiError(error));
      throw error;
    });
    tell(answer);
    return JSON.parse(textOf(jsonMessageWriter(desc.output)(answer)));
  };
}

export function methodOf(rpc: string): ApiMethod & Required<Pick<ApiMethod, "unary">> {
  const method = API_METHODS.find(({ desc }) => `${desc.parent.name}.${desc.name}` === rpc);
  if (method?.unary === undefined) throw new Error(`There is no unary RPC ${rpc}`);
  return { ...method, unary: method.unary };
}

/** The JSON as it is sent, without undefined fields. */
function withoutAbsent(json: unknown): unknown {
  return JSON.parse(JSON.stringify(json));
}
