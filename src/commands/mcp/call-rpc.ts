import { API_METHODS, type ApiContext, type ApiMethod } from "../../api/method-table.js";
import { messageReader } from "../../codec/json-reader.js";
import { jsonMessageWriter } from "../../codec/json-writer.js";
import { textOf } from "../../domain/byte-string.js";
import type { Json } from "./cut-document.js";

/** Calls a unary RPC by its name, such as `MessageService.GetMessage`, with JSON and for the JSON of REST. */
export type CallRpc = (rpc: string, request: Json) => Promise<Json>;

/** Calls the RPCs of the table for as long as the signal is not aborted. Rejects with their errors. */
export function rpcCaller(context: ApiContext, signal: AbortSignal): CallRpc {
  return async (rpc, request) => {
    const { desc, unary } = methodOf(rpc);
    const answer = await unary(messageReader(desc.input)(withoutAbsent(request)), { ...context, signal });
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
