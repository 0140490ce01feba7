import { expect, it } from "vitest";
import { runTwoUsers } from "./two-users/run.js";
import { STORES } from "./two-users/stores.js";

/** How long the users of each store go on, for example `TWO_USERS_MINUTES=1`. */
const minutes = Number(process.env.TWO_USERS_MINUTES ?? 10);
const seed = Number(process.env.TWO_USERS_SEED ?? Date.now() % 2 ** 31);

it.for(Object.keys(STORES))("two users learn nothing of each other in ten minutes: %s", async (name, context) => {
  const store = await STORES[name]!();
  if (store === null) return context.skip("its server is not installed");
  const endMs = Date.now() + minutes * 60_000;
  const report = await runTwoUsers(store.url, () => Date.now() >= endMs, seed);
  await store.stop();
  console.log(`Two users on ${name}, ${minutes} minutes, TWO_USERS_SEED=${seed}: ${JSON.stringify(report)}`);
  expect(report.requests).toBeGreaterThan(minutes * 10);
  expect(report.onOthers).toBeGreaterThan(report.requests / 10);
});
