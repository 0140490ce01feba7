import { describeKills } from "./sqlite-kill.js";

describeKills(200);
