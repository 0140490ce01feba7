import { vi } from "vitest";
import { describeUIStreams } from "./ui-stream-suite.js";

vi.mock("ai", () => import("ai7"));
vi.mock("ai/test", () => import("ai7/test"));

describeUIStreams("ai 7");
