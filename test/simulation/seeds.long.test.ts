import { describeSeeds } from "./seeds.js";

describeSeeds("atomic", 50_000);
describeSeeds("weak", 50_000);
