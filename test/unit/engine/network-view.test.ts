import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createSharedBoard } from "../../../src/egress/shared-board.ts";
import { createNetworkView } from "../../../src/engine/network-view.ts";
import { createEgressRoutes } from "../../../src/smtp/wire/egress-routes.ts";
import type { FailureCause, RcptOutcome } from "../../../src/smtp/wire/outcome.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScriptedResolver } from "../../support/scripted-resolver.ts";

const SOURCES = ["192.0.2.1", "192.0.2.2"];
const TARGET = { site: "example.test", provider: null, published: true };

function view() {
  const clock = createFakeClock();
  const board = createSharedBoard(1, SOURCES.length);
  const told: string[] = [];
  const heloName = "probe.test";
  const paths = createEgressRoutes({
    heloName,
    sourceAddresses: SOURCES.map((address) => ({ address, heloName })),
    proxies: [],
  });
  const made = createNetworkView({
    clock,
    board,
    paths,
    resolver: createScriptedResolver({ "mx.example.test": { A: ["198.51.100.1"] } }),
    reach: {
      onSilent: ({ site, address }) => void told.push(`silent ${site} ${address}`),
      onFailed: ({ site, address }) => void told.push(`failed ${site} ${address}`),
      onReached: ({ site, address }) => void told.push(`reached ${site} ${address}`),
      addCandidate: (address) => void told.push(`candidate ${address}`),
    },
  });
  const silent = (change: { path?: string; site?: string; published?: boolean; beganMs?: number } = {}) =>
    made.onSilentDial({
      site: "example.test",
      address: "198.51.100.1",
      path: "192.0.2.1",
      published: true,
      beganMs: clock.now(),
      ...change,
    });
  const onAttempt = made.onAttempt.bind(made);
  const offerCandidate = made.offerCandidate.bind(made);
  return { onAttempt, offerCandidate, clock, board, told, silent };
}

function failed(cause: FailureCause, path = "192.0.2.1"): RcptOutcome {
  const at = { host: "mx.example.test", address: "198.51.100.1", path, tls: false, latencyMs: 1 };
  return { kind: "failure", stage: "connect", cause, detail: "", ...at };
}

describe("a silent dial, as a thread reports it", () => {
  it("is reported once for a site and route, for a while", () => {
    const { silent, told, clock } = view();
    silent();
    silent();
    silent({ site: "other.test" });
    silent({ path: "192.0.2.2" });
    assert.deepEqual(told, [
      "silent example.test 192.0.2.1 198.51.100.1",
      "silent other.test 192.0.2.1 198.51.100.1",
      "silent example.test 192.0.2.2 198.51.100.1",
    ]);
    clock.advance(LIMITS.network.silentEveryMs);
    silent();
    assert.equal(told.length, 4);
  });

  it("is not reported when a server was reached by the same route since, or the route is known to be down", () => {
    const { silent, told, board, clock } = view();
    const beganMs = clock.now();
    clock.advance(200);
    board.noteReached(0, clock.now());
    silent({ beganMs });
    silent({ beganMs, path: "192.0.2.2" });
    assert.deepEqual(told, ["silent example.test 192.0.2.2 198.51.100.1"], "the other way proves nothing");
    clock.advance(LIMITS.network.silentEveryMs);
    board.setRouteDown(1, true);
    silent({ path: "192.0.2.2" });
    assert.equal(told.length, 1);
  });

  it("says nothing where the domain names no mail server", () => {
    const { silent, told, onAttempt: attempted } = view();
    silent({ published: false });
    attempted({ ...TARGET, published: false }, failed("timeout"));
    assert.deepEqual(told, []);
  });
});

describe("an attempt, as a thread reports it", () => {
  it("is reported the first time that a site answers in a second, for a few sites a route", () => {
    const { onAttempt: attempted, told, clock } = view();
    const reached = (site: string, path = "192.0.2.1") =>
      attempted({ ...TARGET, site }, { ...failed("closed", path), stage: "rcpt" });
    const { reachedRemembered, reachedEveryMs } = LIMITS.network;
    const sites = Array.from({ length: 3 * reachedRemembered }, (_, i) => `s${i}.test`);
    for (const site of sites) {
      reached(site);
      reached("s0.test", "192.0.2.2");
      clock.advance(10);
      reached(site);
      clock.advance(10);
    }
    const told4 = sites.slice(0, reachedRemembered).map((site) => `reached ${site} 192.0.2.1 198.51.100.1`);
    const other = "reached s0.test 192.0.2.2 198.51.100.1";
    assert.deepEqual([...told].sort(), [...told4, other].sort());
    clock.advance(reachedEveryMs);
    reached("s9.test");
    assert.equal(told.at(-1), "reached s9.test 192.0.2.1 198.51.100.1");
  });

  it("is a failure when packets may not have travelled, an offer when it was not made", () => {
    const { onAttempt: attempted, told } = view();
    for (const cause of ["timeout", "unreachable", "proxy", "refused", "closed", "no_slot"] as const)
      attempted(TARGET, failed(cause));
    attempted(TARGET, failed("cut_off", "192.0.2.2"));
    assert.deepEqual(told, [
      ...Array(3).fill("failed example.test 192.0.2.1 198.51.100.1"),
      "candidate 192.0.2.2 198.51.100.1",
    ]);
  });

  it("offers a host by the route of its probes", async () => {
    const { offerCandidate: offer, told } = view();
    offer("example.test", "mx.example.test", "a@example.test");
    await new Promise((resolve) => setImmediate(resolve));
    assert.match(told.join(), /^candidate 192\.0\.2\.[12] 198\.51\.100\.1$/);
  });
});
