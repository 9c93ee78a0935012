import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RcptJobOptions } from "../../../src/smtp/session/rcpt-job.ts";
import type { RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import { engine, failed, OK, UNKNOWN } from "../../support/check-engine.ts";

describe("the engine's reports about our network", () => {
  it("is every dial that was cut off, as soon as it was", async () => {
    const { check, seen } = engine(() => failed("connect", "timeout"));
    await check("alice");
    assert.deepEqual(
      seen.failed.map(({ site, address }) => `${site} ${address}`),
      ["example.test direct 192.0.2.1", "example.test direct 192.0.2.1"],
    );
  });

  it("is a proxy that lets nothing out; no other host is tried by it", async () => {
    const { check, seen, asked } = engine(() => failed("connect", "proxy"));
    const evidence = await check("alice");
    assert.deepEqual([evidence?.smtp?.class, evidence?.smtp?.fault], ["our_network", "our_network"]);
    assert.deepEqual([seen.failed.length, asked.length], [1, 1]);
  });

  it("is no refusal: packets travel", async () => {
    const { check, seen } = engine(() => failed("connect", "refused"));
    assert.equal((await check("alice"))?.smtp?.class, "no_connect");
    assert.deepEqual(seen.failed, []);
  });

  it("is the time at which a server took a connection, reported once a second at most", async () => {
    const { check, board, clock, seen } = engine(() => UNKNOWN);
    await check("alice");
    assert.equal(board.lastReachedMs(0), clock.now());
    await check("bob");
    assert.deepEqual(seen.reached, ["example.test direct 192.0.2.1"]);
    clock.advance(1_000);
    await check("carol");
    assert.equal(seen.reached.length, 2);
  });

  it("while it is down: no caller's host is dialled, and its address is offered for the next trial", async () => {
    const { check, board, asked, seen } = engine(() => OK);
    board.setNetworkDown(true);
    const evidence = await check("alice");
    assert.deepEqual([evidence?.smtp?.class, evidence?.smtp?.fault], ["our_network", "our_network"]);
    assert.deepEqual(asked, []);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen.candidates, ["direct 192.0.2.1"]);
  });

  it("while its route is down: the same, for that route alone", async () => {
    const { check, board, asked, seen } = engine(() => OK);
    board.noteReached(0, Date.UTC(2026, 0, 1));
    board.setRouteDown(0, true);
    const { smtp } = (await check("alice")) ?? assert.fail("no evidence");
    assert.deepEqual([smtp?.class, smtp?.rule, smtp?.path], ["our_network", "no_site_reachable", "direct"]);
    assert.deepEqual(asked, []);
    assert.deepEqual(seen.candidates, ["direct 192.0.2.1", "direct 192.0.2.1"]);
    board.setRouteDown(0, false);
    assert.equal((await check("bob"))?.smtp?.class, "accepted");
  });

  it("says so where no mail server was ever reached: that may be so for good", async () => {
    const { check, board } = engine(() => OK);
    board.setRouteDown(0, true);
    const { smtp } = (await check("alice")) ?? assert.fail("no evidence");
    assert.deepEqual([smtp?.class, smtp?.rule], ["our_network", "nothing_reached_yet"]);
  });

  it("gives up checks whose dial waits when the network goes down, and none whose dialogue has begun", async () => {
    const options: RcptJobOptions[] = [];
    const waiting: ((outcome: RcptOutcome) => void)[] = [];
    const { check, board, clock } = engine(
      () => new Promise<RcptOutcome>((resolve) => waiting.push(resolve)),
      (option) => options.push(option),
    );
    const [dialling, begun] = [check("alice"), check("bob")];
    await new Promise((resolve) => setImmediate(resolve));
    options[1]?.onTaken?.(clock.monotonic());
    board.setRouteDown(0, true);
    assert.deepEqual(
      options.map((option) => option.cancelled()),
      [true, false],
    );
    waiting[0]?.(failed("connect", "cancelled"));
    waiting[1]?.(UNKNOWN);
    assert.equal((await dialling)?.smtp?.class, "our_network");
    assert.equal((await begun)?.smtp?.class, "mailbox_not_found");
  });
});
