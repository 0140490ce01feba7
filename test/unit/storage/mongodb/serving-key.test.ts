import { describe, expect, it } from "vitest";
import { servingKey } from "../../../support/mongo-plan.js";

const find = (collection: string, filter: object, sort: object = {}) =>
  servingKey({ name: "find", command: { find: collection, filter, sort } });

describe("servingKey, on which the tests of the store's queries rely,", () => {
  it("finds the index for a range, for single values and for an order", () => {
    expect(find("messages", { log: "a", seq: { $gte: 1, $lte: 9 } }, { seq: -1 })).toBe("log_seq");
    expect(find("messages", { log: { $in: ["a"] }, id: { $in: ["b"] } })).toBe("log_id");
    expect(find("messages", { named: { $exists: true }, "named.log": "a" }, { log: 1, seq: 1 })).toBe("named_target");
    expect(find("sessions", { _id: "u", revision: 3 })).toBe("_id_");
    expect(find("sessions", { namespace: "n", place: { $gt: 1 } }, { place: 1, _id: 1 })).toBe("namespace_place");
    expect(find("sessions", { namespace: "n", tombstone: "" }, { update_time: -1, session_id: -1 })).toBe(
      "namespace_update",
    );
  });

  it("finds no index for a filter, an order or a range that no index starts with", () => {
    expect(find("messages", { role: "user" })).toBeNull();
    expect(find("messages", {})).toBeNull();
    expect(find("messages", { "named.log": "a" })).toBeNull();
    expect(find("departures", { place: { $gt: 1 } })).toBeNull();
    expect(find("messages", { seq: { $gte: 1 } })).toBeNull();
    expect(find("messages", { log: "a" }, { timestamp: 1 })).toBeNull();
    expect(find("messages", { session_id: "s", seq: 4 }, { seq: 1 })).toBeNull();
    expect(find("sessions", { namespace: "n" }, { update_time: -1 })).toBeNull();
    expect(find("sessions", { namespace: "n", sweep_time: { $lte: 1 } }, { sweep_time: 1 })).toBeNull();
  });
});
