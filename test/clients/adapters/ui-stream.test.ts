import { describeUIStreams } from "./ui-stream-suite.js";

describeUIStreams("ai 6");
