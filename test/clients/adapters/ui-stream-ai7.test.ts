import { vi } from "vitest";
import { describeUIStreams } from "./ui-stream-suite.js";

vi.mock("ai", () => import("ai7"));

describeUIStreams("ai 7");
