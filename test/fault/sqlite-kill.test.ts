import { describeKills } from "./sqlite-kill.js";

describeKills(10, 120_000);
