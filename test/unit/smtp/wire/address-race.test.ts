import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../../src/config/limits/limits.ts";
import { AddressRace } from "../../../../src/smtp/wire/address-race.ts";
import type { Closure, ConnectionHandler, ConnectionTarget } from "../../../../src/smtp/wire/connection.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const { nextAddressMs, addressesAtOnce } = LIMITS.smtp;
const REFUSED: Closure = { cause: "refused", detail: "ECONNREFUSED" };
const UNREACHABLE: Closure = { cause: "unreachable", detail: "ENETUNREACH" };

const targetOf = (address: string): ConnectionTarget => ({
  host: "mx.test",
  address,
  port: 25,
  localAddress: null,
  proxy: null,
});

/** A race among `addresses` by sockets that do only what the test says. */
function race(addresses: readonly string[], lookUp?: () => Promise<readonly ConnectionTarget[]>) {
  const clock = createFakeClock();
  /** Events, in order. */
  const seen: string[] = [];
  const sockets = new Map<string, ConnectionHandler>();
  const [first = "", ...rest] = addresses;
  let lookUps = 0;
  const made = new AddressRace(
    {
      first: targetOf(first),
      others: async () => {
        lookUps++;
        return lookUp === undefined ? rest.map(targetOf) : lookUp();
      },
      clock,
      dial: ({ address }, handler) => {
        seen.push(`dial ${address}`);
        sockets.set(address, handler);
        return {
          isAwaitingProxy: false,
          write: (text) => void seen.push(`write ${address} ${text}`),
          startTls: () => {},
          end: () => {},
          destroy: () => {
            if (sockets.delete(address)) seen.push(`destroy ${address}`);
          },
        };
      },
    },
    {
      onAttempt: () => {},
      onConnect: ({ address }) => void seen.push(`connected ${address}`),
      onData: () => {},
      onSecure: () => {},
      onClose: ({ cause }) => void seen.push(`closed ${cause}`),
    },
  );
  const handlerOf = (address: string) => sockets.get(address) ?? assert.fail(`${address} is not dialled`);
  return {
    made,
    clock,
    seen,
    lookUps: () => lookUps,
    connects: (address: string) => handlerOf(address).onConnect(),
    fails: (address: string, closure: Closure) => {
      const handler = handlerOf(address);
      sockets.delete(address);
      handler.onClose(closure);
    },
    open: () => [...sockets.keys()],
  };
}

describe("a race among the addresses of a host", () => {
  it("looks up and dials no other address while the first connects in time", async () => {
    const { clock, connects, seen, lookUps } = race(["A", "B"]);
    await clock.advanceAsync(nextAddressMs - 1);
    connects("A");
    await clock.advanceAsync(10_000);
    assert.deepEqual([seen, lookUps(), clock.pending], [["dial A", "connected A"], 0, 0]);
  });

  it("dials the next beside a slow one; the first that connects wins, the others are closed at once", async () => {
    for (const winner of ["A", "B"]) {
      const loser = winner === "A" ? "B" : "A";
      const { clock, connects, seen, made, open } = race(["A", "B", "C"]);
      await clock.advanceAsync(nextAddressMs);
      connects(winner);
      assert.deepEqual(seen, ["dial A", "dial B", `destroy ${loser}`, `connected ${winner}`]);
      made.write("EHLO", "latin1");
      assert.deepEqual([seen.at(-1), open(), clock.pending], [`write ${winner} EHLO`, [winner], 0]);
    }
  });

  it("dials one more every 250 ms, as many as are allowed at once", async () => {
    const addresses = ["A", "B", "C", "D", "E", "F"];
    const { clock, open } = race(addresses);
    for (let dialled = 1; dialled <= addresses.length; dialled++) {
      assert.equal(open().length, Math.min(dialled, addressesAtOnce));
      await clock.advanceAsync(nextAddressMs - 1);
      assert.equal(open().length, Math.min(dialled, addressesAtOnce));
      await clock.advanceAsync(1);
    }
    assert.equal(clock.pending, 0);
  });

  it("dials the next at once when one fails, and gives that one its full time", async () => {
    const { clock, connects, fails, seen } = race(["A", "B", "C"]);
    fails("A", REFUSED);
    await clock.advanceAsync(nextAddressMs - 1);
    assert.deepEqual(seen, ["dial A", "dial B"]);
    fails("B", UNREACHABLE);
    await clock.advanceAsync(0);
    connects("C");
    assert.deepEqual(seen, ["dial A", "dial B", "dial C", "connected C"]);
  });

  it("ends as the first address did when none connects", async () => {
    const { clock, fails, seen, made } = race(["A", "B", "C"]);
    await clock.advanceAsync(nextAddressMs);
    fails("B", UNREACHABLE);
    fails("C", UNREACHABLE);
    assert.equal(seen.at(-1), "dial C", "A may still connect");
    fails("A", REFUSED);
    assert.equal(seen.at(-1), "closed refused");
    const tried = made.others.map(({ target, closure }) => `${target.address} ${closure?.cause}`);
    assert.deepEqual([tried, clock.pending], [["B unreachable", "C unreachable"], 0]);
  });

  it("goes on with the first alone when there is no other, or the look-up fails or is late", async () => {
    const lookUps = [async () => [], () => Promise.reject(new Error("overloaded"))];
    for (const lookUp of lookUps) {
      const slow = race(["A"], lookUp);
      await slow.clock.advanceAsync(nextAddressMs);
      slow.connects("A");
      assert.deepEqual(slow.seen, ["dial A", "connected A"]);
      const dead = race(["A"], lookUp);
      dead.fails("A", REFUSED);
      await dead.clock.advanceAsync(0);
      assert.deepEqual(dead.seen, ["dial A", "closed refused"]);
    }
    let resolve = (_: readonly ConnectionTarget[]) => {};
    const late = new Promise<readonly ConnectionTarget[]>((found) => {
      resolve = found;
    });
    const { clock, connects, seen } = race(["A"], () => late);
    await clock.advanceAsync(nextAddressMs);
    connects("A");
    resolve([targetOf("B")]);
    await clock.advanceAsync(10_000);
    assert.deepEqual(seen, ["dial A", "connected A"]);
  });

  it("takes no address for slow that connected while the thread stood still", async () => {
    const { clock, connects, seen } = race(["A", "B"]);
    clock.advance(nextAddressMs);
    connects("A");
    await clock.advanceAsync(0);
    assert.deepEqual(seen, ["dial A", "connected A"]);
  });

  it("leaves nothing behind when it is given up", async () => {
    const { clock, seen, made, open } = race(["A", "B", "C"]);
    await clock.advanceAsync(nextAddressMs);
    made.destroy();
    await clock.advanceAsync(10_000);
    assert.deepEqual(seen, ["dial A", "dial B", "destroy A", "destroy B"]);
    assert.deepEqual([open(), clock.pending], [[], 0]);
  });
});
