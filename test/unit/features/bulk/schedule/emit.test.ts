import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../../src/config/limits/limits.ts";
import { createEmitter, type EmitterDeps } from "../../../../../src/features/bulk/schedule/emit.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";

const { emitRestMs, emitEveryMs } = LIMITS.bulk;

/** The rest after an emission that found retries of these egresses, each with so many workers; "": anybody's. */
async function restWith(workers: Record<string, number>): Promise<number> {
  // The look for egresses is its only statement outside of a transaction; nothing is due.
  const sql = Object.assign(async () => Object.keys(workers).map((egress) => ({ egress })), {
    begin: async () => ({ tasks: [], last: null }),
  }) as unknown as EmitterDeps["sql"];
  const retries = (egress: string) => ({
    countConsumers: async () => workers[egress] ?? 0,
    add: async () => undefined,
  });
  const streams = { retries } as unknown as EmitterDeps["streams"];
  const emitter = createEmitter({ sql, streams, clock: createFakeClock() });
  await emitter.emitRetries();
  return emitter.retryRestMs();
}

describe("the rest between two emissions of retries that a worker asks for", () => {
  it("is by the workers of all egresses together: an emission serves them all, and each of them asks", async () => {
    assert.equal(await restWith({ a: 3 }), 3 * emitRestMs);
    assert.equal(await restWith({ a: 3, b: 2 }), 5 * emitRestMs);
    assert.equal(await restWith({ a: 1, b: 1, c: 1, d: 1 }), 4 * emitRestMs);
  });

  it("is by all workers where some retries are anybody's, those of a named egress counted once", async () => {
    assert.equal(await restWith({ "": 4 }), 4 * emitRestMs);
    assert.equal(await restWith({ "": 4, a: 3 }), 4 * emitRestMs);
    // New workers register at one stream after the other.
    assert.equal(await restWith({ "": 3, a: 2, b: 2 }), 4 * emitRestMs);
  });

  it("is that of one worker where there is none, and never longer than the relay's", async () => {
    assert.equal(await restWith({}), emitRestMs);
    assert.equal(await restWith({ gone: 0 }), emitRestMs);
    const nodes = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`node-${at}`, 1]));
    assert.equal(await restWith(nodes), emitEveryMs);
  });
});
