import { describeSeeds } from "./seeds.js";

describeSeeds("atomic");
