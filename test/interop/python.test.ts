import { preparePython } from "./python.js";
import { describeScenario } from "./scenario.js";

const PROGRAM = new URL("./python/scenario.py", import.meta.url).pathname;

await describeScenario("Python (grpcio)", async () => {
  const { program, env } = await preparePython();
  return ({ grpcAddress }, scenario) => ({ program, args: [PROGRAM, scenario, grpcAddress], env });
});
