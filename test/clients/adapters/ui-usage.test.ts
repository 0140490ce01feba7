import { describeUIUsage } from "./ui-usage-suite.js";

describeUIUsage("ai 6");
