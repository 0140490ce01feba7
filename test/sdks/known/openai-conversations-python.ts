import type { KnownFailures } from "../suite.js";

export const OPENAI_CONVERSATIONS_PYTHON: KnownFailures = {};
