import { describeKills } from "./sqlite-kill.js";

describeKills(200, 1_200_000);
