import { prepareJava } from "./java.js";
import { describeScenario } from "./scenario.js";

await describeScenario("Java (grpc-java)", async () => {
  const classPath = await prepareJava();
  const args = ["-XX:TieredStopAtLevel=1", "-cp", classPath, "sessionpool.test.Scenario"];
  return ({ grpcAddress }, scenario) => ({ program: "java", args: [...args, scenario, grpcAddress] });
});
