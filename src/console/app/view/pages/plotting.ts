// What the plots need of Observable Plot, in a file of its own that is loaded with the first plot.
export { barX, barY, dot, lineY, plot, ruleX, ruleY } from "@observablehq/plot";
