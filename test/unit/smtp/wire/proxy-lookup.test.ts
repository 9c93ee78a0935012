import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { createProxyLookup } from "../../../../src/smtp/wire/proxy-lookup.ts";

const FOUR: LookupAddress = { address: "192.0.2.1", family: 4 };
const SIX: LookupAddress = { address: "2001:db8::1", family: 6 };

function start() {
  let nowMs = 0;
  const asked: ((error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void)[] = [];
  const lookup = createProxyLookup(
    (_, __, callback) => asked.push(callback),
    () => nowMs,
  );
  const find = (all: boolean) =>
    new Promise((resolve) =>
      lookup("socks.test", { all }, (error, found) => resolve(error ? error.message : found)),
    );
  return {
    asked,
    find,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe("the name of a proxy", () => {
  it("is looked up once for simultaneous callers, and until it expires", async () => {
    const { asked, find, pass } = start();
    const first = Promise.all([find(true), find(false), find(true)]);
    assert.equal(asked.length, 1);
    asked[0]?.(null, [FOUR, SIX]);
    assert.deepEqual(await first, [[FOUR, SIX], "192.0.2.1", [FOUR, SIX]]);
    pass(LIMITS.smtp.proxyNameMs - 1);
    assert.deepEqual(await find(false), "192.0.2.1");
    assert.equal(asked.length, 1);
    pass(1);
    const again = find(true);
    assert.equal(asked.length, 2);
    asked[1]?.(null, [SIX]);
    assert.deepEqual(await again, [SIX]);
  });

  it("is asked for again after a failure, and an answer without addresses is one", async () => {
    const { asked, find } = start();
    const failed = find(true);
    asked[0]?.(new Error("ENOTFOUND"), []);
    assert.equal(await failed, "ENOTFOUND");
    const empty = find(true);
    asked[1]?.(null, []);
    assert.equal(await empty, "no address");
    void find(true);
    assert.equal(asked.length, 3);
  });
});
