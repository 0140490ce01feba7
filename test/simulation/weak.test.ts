import { describeSeeds } from "./seeds.js";

describeSeeds("weak");
