import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asOfDay, findUpdates, type RefreshSources } from "../../../../scripts/lists/refresh.ts";
import { LIST_RELEASES } from "../../../../src/verification/lists/releases.ts";

const sources = (changes: Partial<RefreshSources> = {}): RefreshSources => ({
  newest: async (name) => ({ version: LIST_RELEASES[name].version, releasedAt: "2026-11-01T10:00:00Z" }),
  namesInUse: () => ["a.test", "b.test"],
  namesOf: async () => ({ names: ["b.test", "d.test", "c.test", "c.test"], dataAt: null }),
  isDoubtful: (name) => name === "c.test",
  ...changes,
});

describe("a refresh of the lists", () => {
  it("has nothing to do where all are the newest, and reads none", async () => {
    const namesOf = () => assert.fail("a release was read");
    assert.deepEqual(await findUpdates(LIST_RELEASES, sources({ namesOf })), []);
  });

  it("reports what a newer release adds and removes, and what needs a decision", async () => {
    const newest: RefreshSources["newest"] = async (name) =>
      name === "mailchecker"
        ? { version: "99.0.0", releasedAt: "2026-11-01T10:00:00Z" }
        : sources().newest(name);
    assert.deepEqual(await findUpdates(LIST_RELEASES, sources({ newest })), [
      {
        name: "mailchecker",
        from: LIST_RELEASES.mailchecker,
        to: { version: "99.0.0", asOf: "2026-11-01" },
        added: ["c.test", "d.test"],
        removed: ["a.test"],
        doubtful: ["c.test"],
      },
    ]);
  });

  it("takes the day that data name themselves, where they are older than their release", () => {
    assert.equal(asOfDay("2026-05-13T21:28:19Z", new Date("2026-02-18T00:14:44Z")), "2026-02-18");
    assert.equal(asOfDay("2026-05-13T21:28:19Z", new Date("2026-08-01T00:00:00Z")), "2026-05-13");
    assert.equal(asOfDay("2026-05-13T21:28:19Z", null), "2026-05-13");
  });
});
