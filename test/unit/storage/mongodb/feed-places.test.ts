import { expect, it } from "vitest";
import { FeedPlaces } from "../../../../src/storage/mongodb/feed-places.js";
import type { MongoCollections } from "../../../../src/storage/mongodb/mongo-collections.js";
import { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import { nextPlace } from "../../../../src/storage/mongodb/record-feed.js";

const found = { state: 0, row: 0, waiting: [] as number[], first: 0 };
let reads = 0;
let nowMs = 0;

function placesNow(): FeedPlaces {
  const collections = {
    sessions: {
      findOne: async () => ({ place: found.state }),
      find: () => ({ toArray: async () => [{ departures: found.waiting.map((place) => ({ place })) }] }),
    },
    departures: { findOne: async () => ({ place: found.row }) },
    feeds: {
      findOne: async () => {
        reads++;
        return { first: found.first };
      },
    },
  } as unknown as MongoCollections;
  return new FeedPlaces("default", collections, new MongoCommands(5000), { steadyMs: () => nowMs, timeMs: () => 0 });
}

const after = (place: number) => nextPlace(place, 0);

it("new places come after the last one of all kinds, which is read at most every 20 seconds", async () => {
  const places = placesNow();
  Object.assign(found, { state: 5, row: 6, waiting: [3, 7], first: 2 });
  expect(await places.next()).toEqual(after(7));
  Object.assign(found, { state: 9 });
  nowMs += 20_000;
  expect(await places.next()).toEqual(after(7));
  expect(reads).toBe(1);
  nowMs += 1;
  expect(await places.next()).toEqual(after(9));
});

it("new places never come before what was read once, but the last place is the one that is found", async () => {
  const places = placesNow();
  Object.assign(found, { state: 9, row: 0, waiting: [], first: 0 });
  await places.next();
  Object.assign(found, { state: 4 });
  expect(await places.last()).toBe(4);
  expect(await places.next()).toEqual(after(9));
});
