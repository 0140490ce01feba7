import { expect, it } from "vitest";
import { runTwoUsers } from "./two-users/run.js";
import { STORES } from "./two-users/stores.js";

/** How many requests both send together: a few seconds of a quiet machine. */
const REQUESTS = 400;
const seed = Number(process.env.TWO_USERS_SEED ?? Date.now() % 2 ** 31);

it.for(Object.keys(STORES))("two users of one namespace learn nothing of each other: %s", async (name, context) => {
  const store = await STORES[name]!();
  if (store === null) return context.skip("its server is not installed");
  console.log(`Two users on ${name}: TWO_USERS_SEED=${seed}`);
  let left = REQUESTS;
  const report = await runTwoUsers(store.url, () => left-- <= 0, seed);
  await store.stop();
  expect(report.onOthers).toBeGreaterThan(REQUESTS / 10);
  expect(report.watched).toBeGreaterThan(0);
});
