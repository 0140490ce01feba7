import type { ApiMethod } from "./api-method.js";

export type { ApiContext, ApiMethod, Scope } from "./api-method.js";

/** Every RPC of every service. */
export const API_METHODS: readonly ApiMethod[] = [];
