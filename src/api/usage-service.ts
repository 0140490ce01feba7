import type { UsageService } from "../../gen/sessionpool/v1/usage_service_pb.js";
import { NotImplementedError } from "../domain/errors.js";
import type { ServiceMethods } from "./api-method.js";

export const usageMethods: ServiceMethods<typeof UsageService> = {
  sumUsage: { scope: "read", ticket: "none", handle: sumUsage },
};

async function sumUsage(): Promise<never> {
  throw new NotImplementedError("StorageProvider", "summing usage");
}
