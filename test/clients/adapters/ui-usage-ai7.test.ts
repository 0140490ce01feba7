import { vi } from "vitest";
import { describeUIUsage } from "./ui-usage-suite.js";

vi.mock("ai", () => import("ai7"));
vi.mock("ai/test", () => import("ai7/test"));

describeUIUsage("ai 7");
