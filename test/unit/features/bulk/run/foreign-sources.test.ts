import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import {
  SourceUnavailable,
  watchForeignSources,
} from "../../../../../src/features/bulk/run/foreign-sources.ts";
import { ObjectsOutage } from "../../../../../src/stores/objects/object-errors.ts";
import { ForbiddenObject } from "../../../../../src/stores/objects/object-streams.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const { sourceAwayMs, sourceForgottenMs, sourcesWatched } = LIMITS.bulk;
const STEPS = sourceAwayMs / sourceForgottenMs;

function answer(status: number, name = "Error"): Error {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode: status } });
}

const BUSY = new ObjectsOutage("again and again", { cause: answer(503) });

/** Reads that fail with the test's error; streams fail half-way. */
function fixture() {
  const clock = createFakeClock();
  const failure: { error: Error | null } = { error: null };
  const watched = watchForeignSources(
    {
      async *openRead() {
        yield Buffer.from("half");
        if (failure.error !== null) throw failure.error;
      },
      async readRange() {
        if (failure.error !== null) throw failure.error;
        return Buffer.alloc(0);
      },
    },
    clock,
  );
  async function read(bucket: string | null, way: "openRead" | "readRange", key = "k"): Promise<unknown> {
    try {
      if (way === "readRange") await watched.readRange({ bucket, key }, { firstByte: 0, bytes: 1 });
      else for await (const _ of watched.openRead({ bucket, key }));
      return null;
    } catch (error) {
      return error;
    }
  }
  /** Distinct outcomes of a worker that reads again and again, until the last but one time. */
  async function readOn(...asked: Parameters<typeof read>): Promise<unknown[]> {
    const told = new Set([await read(...asked)]);
    for (let step = 1; step < STEPS; step++) {
      clock.advance(sourceForgottenMs);
      told.add(await read(...asked));
    }
    return [...told];
  }
  return { clock, failure, read, readOn };
}

describe("a bucket of a customer", () => {
  for (const way of ["openRead", "readRange"] as const) {
    it(`that fails is waited for so long, and no longer: ${way}`, async () => {
      const { clock, failure, read, readOn } = fixture();
      failure.error = BUSY;
      assert.deepEqual(await readOn("theirs", way), [BUSY]);
      clock.advance(sourceForgottenMs - 1);
      assert.equal(await read("theirs", way), BUSY);
      assert.equal(await read("theirs", way, "another"), BUSY);
      clock.advance(1);
      assert.ok((await read("theirs", way)) instanceof SourceUnavailable);
      assert.equal(await read("theirs", way, "another"), BUSY);
    });

    it(`that was read meanwhile is waited for anew: ${way}`, async () => {
      const { clock, failure, read, readOn } = fixture();
      failure.error = BUSY;
      await readOn("theirs", way);
      failure.error = null;
      assert.equal(await read("theirs", way), null);
      failure.error = BUSY;
      clock.advance(sourceForgottenMs);
      assert.equal(await read("theirs", way), BUSY);
    });

    it(`that was not read for long is waited for anew: ${way}`, async () => {
      const { clock, failure, read, readOn } = fixture();
      failure.error = BUSY;
      await readOn("theirs", way);
      clock.advance(sourceForgottenMs + 1);
      assert.equal(await read("theirs", way), BUSY);
    });

    it(`in another region is not waited for: ${way}`, async () => {
      const { failure, read } = fixture();
      const malformed = answer(400, "AuthorizationHeaderMalformed");
      for (const error of [answer(301), new ForbiddenObject("400", { cause: malformed })]) {
        failure.error = error;
        const told = await read("theirs", way);
        assert.ok(told instanceof SourceUnavailable && /another region/.test(told.message));
      }
    });

    it(`that denies access is not one that fails, nor are our credentials: ${way}`, async () => {
      const { clock, failure, read, readOn } = fixture();
      const letIn = answer(403, "InvalidAccessKeyId");
      for (const error of [letIn, new ForbiddenObject("no"), new TypeError("x")]) {
        failure.error = error;
        assert.deepEqual(await readOn("theirs", way), [error]);
        clock.advance(sourceForgottenMs);
        assert.equal(await read("theirs", way), error);
      }
    });
  }

  it("keeps few of them in mind, those that failed first", async () => {
    const { clock, failure, read } = fixture();
    failure.error = BUSY;
    const readAll = async () => {
      const told: unknown[] = [];
      for (let i = 0; i <= sourcesWatched; i++) told.push(await read("theirs", "readRange", `${i}`));
      return told;
    };
    for (let step = 0; step < STEPS; step++) {
      assert.deepEqual([...new Set(await readAll())], [BUSY]);
      clock.advance(sourceForgottenMs);
    }
    const told = await readAll();
    assert.ok(told.slice(0, sourcesWatched).every((error) => error instanceof SourceUnavailable));
    assert.equal(told[sourcesWatched], BUSY);
  });
});

describe("the deployment's own bucket", () => {
  for (const way of ["openRead", "readRange"] as const)
    it(`is waited for, whatever it takes: ${way}`, async () => {
      const { clock, failure, read, readOn } = fixture();
      for (const error of [BUSY, answer(301)]) {
        failure.error = error;
        assert.deepEqual(await readOn(null, way), [error]);
        clock.advance(sourceForgottenMs);
        assert.equal(await read(null, way), error);
      }
    });
});
