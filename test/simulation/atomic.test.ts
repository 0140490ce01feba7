import { describeSeeds } from "./seeds.js";

// With the other store 5,000 a run.
describeSeeds("atomic", 2500);
