import { describeKills } from "./sqlite-kill.js";

describeKills(10, 300_000);
