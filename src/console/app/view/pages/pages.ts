// The pages that are not needed at first, in one file that is loaded when the first of them is opened.
export { Bin } from "./bin.js";
export { Compare } from "./compare.js";
export { Sessions } from "./sessions.js";
export { UsagePage } from "./usage.js";
