import { prepareGo } from "./go.js";
import { describeScenario } from "./scenario.js";

for (const [title, client] of [
  ["Go (grpc-go)", "grpc-go"],
  ["Go (connect-go: Connect)", "connect"],
  ["Go (connect-go: gRPC-Web)", "grpc-web"],
  ["Go (connect-go: gRPC)", "grpc"],
] as const) {
  await describeScenario(title, async () => {
    const program = await prepareGo();
    return ({ grpcAddress, httpUrl }, scenario) => ({ program, args: [client, scenario, grpcAddress, httpUrl] });
  });
}
