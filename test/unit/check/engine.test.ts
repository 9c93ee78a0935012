import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBoard } from "../../../src/check/board.ts";
import { type CatchAllFact, createCatchAllFacts } from "../../../src/check/catch-all.ts";
import { createEngine } from "../../../src/check/engine.ts";
import type { CheckMode, Evidence } from "../../../src/check/evidence.ts";
import type { ReportedDial } from "../../../src/check/network-health.ts";
import { createNetworkView } from "../../../src/check/network-view.ts";
import { loadShaping } from "../../../src/check/shaping.ts";
import { createSiteDirectory } from "../../../src/check/site.ts";
import { createSiteLines } from "../../../src/check/site-lines.ts";
import { LIMITS } from "../../../src/core/limits.ts";
import type { Resolver } from "../../../src/dns/resolver.ts";
import type { JobOptions } from "../../../src/smtp/job.ts";
import type { FailureCause, RcptOutcome, Stage } from "../../../src/smtp/outcome.ts";
import { createPaths } from "../../../src/smtp/path.ts";
import type { Destination } from "../../../src/smtp/pool.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createLocalBreakers, createLocalMirror, FIRST_MS } from "../../support/local-breakers.ts";

type Reply = (address: string, host: string) => RcptOutcome | Promise<RcptOutcome>;

const at = (host: string) => ({ host, address: "192.0.2.1", path: "direct", tls: false, latencyMs: 1 });

function replied(code: number, enhanced: string | null, text: string, host = ""): RcptOutcome {
  return { kind: "reply", stage: "rcpt", reply: { code, enhanced, lines: [text] }, ...at(host) };
}

function failed(stage: Stage, cause: FailureCause, host = ""): RcptOutcome {
  return { kind: "failure", stage, cause, detail: "", ...at(host) };
}

const OK = replied(250, "2.1.5", "Ok");
const UNKNOWN = replied(550, "5.1.1", "User unknown");

/** An engine whose mail servers answer as `reply` says; `example.test` has a primary and a backup MX. */
function engine(reply: Reply, onAsked: (options: JobOptions) => void = () => {}) {
  const clock = createFakeClock();
  const board = createBoard(1, 1);
  const asked: string[] = [];
  const sites: string[] = [];
  const stored = new Map<string, CatchAllFact>();
  const seen: { failed: ReportedDial[]; candidates: string[]; reached: string[] } = {
    failed: [],
    candidates: [],
    reached: [],
  };
  const resolver: Resolver = {
    mx: async () => ({
      status: "ok",
      ttlS: 60,
      records: [
        { preference: 10, exchange: "mx1.example.test" },
        { preference: 20, exchange: "mx2.example.test" },
      ],
    }),
    a: async () => ({ status: "ok", records: ["192.0.2.1"], ttlS: 60 }),
    aaaa: async () => ({ status: "no_data", ttlS: 60, proven: true }),
    close: async () => {},
  };
  const paths = createPaths({ sourceAddresses: [], proxies: [], heloName: "probe.test" });
  const reach = {
    silent: () => {},
    failed: (dial: ReportedDial) => void seen.failed.push(dial),
    candidate: (address: string) => void seen.candidates.push(address),
    reached: ({ site, address }: ReportedDial) => void seen.reached.push(`${site} ${address}`),
  };
  const made = createEngine({
    clock,
    resolver,
    pool: {
      async rcpt(destination: Destination, mailbox, options) {
        onAsked(options);
        asked.push(`${mailbox.address} ${destination.host}`);
        const outcome = await reply(mailbox.address, destination.host);
        return { ...outcome, host: destination.host };
      },
      drain: async () => {},
      close: () => {},
      depthAt: () => 10,
      holdBack: () => {},
      stats: () => ({ hosts: 0, sessions: 0, idle: 0, waiting: 0, jobs: 0 }),
    },
    paths,
    house: { trusts: () => true },
    lines: createSiteLines(() => 10),
    lists: { disposable: () => ({ listed: false, source: "none" }), role: () => null, isFree: () => false },
    shaping: loadShaping(),
    sites: createSiteDirectory(),
    facts: createCatchAllFacts(clock, {
      get: async () => null,
      put: (key, answer) => void stored.set(key, answer),
    }),
    breaker: createLocalMirror(createLocalBreakers(clock).authority, clock).breaker,
    network: createNetworkView({ clock, board, paths, resolver, reach }),
    self: { heloName: "probe.test", at: () => ({ heloName: "probe.test", addresses: [] }) },
    onProbe: () => {},
  });
  /** As a batch asks. */
  function ask(local: string, mode: CheckMode, cancelled = () => false) {
    const onSite = (site: string) => void sites.push(site);
    return made.check(`${local}@example.test`, "probed", { mode, cancelled, onSite });
  }
  /** As a request asks: its site is never too busy. */
  async function check(local: string): Promise<Evidence | null> {
    const known = await ask(local, "single");
    assert.notEqual(known, "busy");
    return known as Evidence | null;
  }
  return { check, ask, asked, board, clock, stored, seen, sites };
}

describe("catch-all, as the engine asks it", () => {
  it("is believed of the host that said it, not of a backup that accepts everybody", async () => {
    let primaryUp = true;
    const { check, asked } = engine((address, host) => {
      if (host === "mx2.example.test") return OK;
      if (!primaryUp) return failed("connect", "refused");
      return address.startsWith("alice@") ? OK : UNKNOWN;
    });
    assert.equal((await check("alice"))?.smtp?.catchAll, "refused");
    primaryUp = false;
    const ghost = await check("ghost");
    assert.deepEqual([ghost?.smtp?.mxHost, ghost?.smtp?.catchAll], ["mx2.example.test", "accepted"]);
    assert.ok(asked.some((line) => line.startsWith("q") && line.endsWith(" mx2.example.test")));
  });

  it("is asked with the same stranger again, whom greylisting then lets in", async () => {
    const met = new Set<string>();
    const { check, clock } = engine((address) => {
      if (!met.has(address)) {
        met.add(address);
        return replied(450, "4.2.0", "Greylisted, try again later");
      }
      return address.startsWith("alice@") ? OK : UNKNOWN;
    });
    assert.equal((await check("alice"))?.smtp?.class, "greylisted");
    assert.equal((await check("alice"))?.smtp?.catchAll, "inconclusive");
    clock.advance(600_000);
    assert.equal((await check("alice"))?.smtp?.catchAll, "refused");
  });

  it("remembers nothing that we failed to ask", async () => {
    for (const cause of ["no_slot", "cancelled"] as const) {
      let failing = true;
      const { check } = engine((address) => {
        if (address.startsWith("alice@")) return OK;
        return failing ? failed("connect", cause) : UNKNOWN;
      });
      assert.equal((await check("alice"))?.smtp?.catchAll, "not_probed");
      failing = false;
      assert.equal((await check("alice"))?.smtp?.catchAll, "refused");
    }
  });

  it("keeps an inconclusive answer to this process", async () => {
    const { check, stored } = engine((address) =>
      address.startsWith("alice@") ? OK : replied(451, "4.3.0", "later"),
    );
    assert.equal((await check("alice"))?.smtp?.catchAll, "inconclusive");
    assert.equal(stored.size, 0);
  });

  it("holds up an answer that is there only for its own short budget", async () => {
    const { check, clock } = engine((address) =>
      address.startsWith("alice@") ? OK : new Promise<RcptOutcome>(() => {}),
    );
    const first = check("alice");
    await clock.advanceAsync(1);
    const second = check("alice");
    await clock.advanceAsync(LIMITS.check.catchAllBudgetMs);
    assert.equal((await second)?.smtp?.catchAll, "not_probed");
    void first;
  });
});

describe("catch-all, as rows of a job ask it", () => {
  it("is waited for longer than a request would", async () => {
    const { ask, clock } = engine((address) =>
      address.startsWith("alice@") ? OK : new Promise<RcptOutcome>(() => {}),
    );
    const first = ask("alice", "bulk");
    await clock.advanceAsync(1);
    const known: (Evidence | "busy" | null)[] = [];
    void ask("alice", "bulk").then((evidence) => known.push(evidence));
    await clock.advanceAsync(LIMITS.check.catchAllBudgetMs);
    assert.equal(known.length, 0);
    await clock.advanceAsync(LIMITS.bulk.catchAllBudgetMs);
    const [second] = known;
    assert.equal(second !== "busy" && second?.smtp?.catchAll, "not_probed");
    void first;
  });
});

describe("what the engine tells of our network", () => {
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

  it("is the time at which a server took a connection, told once a second at most", async () => {
    const { check, board, clock, seen } = engine(() => UNKNOWN);
    await check("alice");
    assert.equal(board.lastReachedMs(0), clock.now());
    await check("bob");
    assert.deepEqual(seen.reached, ["example.test direct 192.0.2.1"]);
    clock.advance(1_000);
    await check("carol");
    assert.equal(seen.reached.length, 2);
  });

  it("while it is down: nobody is dialled for a caller, and the address is offered for the next trial", async () => {
    const { check, board, asked, seen } = engine(() => OK);
    board.setNetworkDown(true);
    const evidence = await check("alice");
    assert.deepEqual([evidence?.smtp?.class, evidence?.smtp?.fault], ["our_network", "our_network"]);
    assert.deepEqual(asked, []);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen.candidates, ["direct 192.0.2.1"]);
  });

  it("while nothing leaves by its way: the same, of that way alone", async () => {
    const { check, board, asked, seen } = engine(() => OK);
    board.setWayDown(0, true);
    const { smtp } = (await check("alice")) ?? assert.fail("no evidence");
    assert.deepEqual([smtp?.class, smtp?.rule, smtp?.path], ["our_network", "no_site_reachable", "direct"]);
    assert.deepEqual(asked, []);
    assert.deepEqual(seen.candidates, ["direct 192.0.2.1", "direct 192.0.2.1"]);
    board.setWayDown(0, false);
    assert.equal((await check("bob"))?.smtp?.class, "accepted");
  });

  it("gives up who waits in a dial when nothing leaves any more, and nobody whose dialogue has begun", async () => {
    const options: JobOptions[] = [];
    const waiting: ((outcome: RcptOutcome) => void)[] = [];
    const { check, board } = engine(
      () => new Promise<RcptOutcome>((resolve) => waiting.push(resolve)),
      (option) => options.push(option),
    );
    const [dialling, begun] = [check("alice"), check("bob")];
    await new Promise((resolve) => setImmediate(resolve));
    options[1]?.onTurn?.();
    board.setWayDown(0, true);
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

describe("the breaker, as the engine works it", () => {
  const blocked = replied(
    554,
    "5.7.1",
    "Service unavailable; Client host [192.0.2.9] blocked using zen.spamhaus.org",
  );

  it("stops probing a site that blocks us", async () => {
    const { check, asked } = engine(() => blocked);
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) await check(`a${i}`);
    const before = asked.length;
    const evidence = await check("one-more");
    assert.deepEqual([evidence?.smtp?.class, evidence?.smtp?.rule], ["sender_blocked", "breaker_open"]);
    assert.deepEqual([evidence?.smtp?.path, evidence?.smtp?.retryAfterS], ["direct", FIRST_MS / 1_000]);
    assert.equal(asked.length, before);
  });

  it("asks again with one probe when the time is over, and with all once it is let in", async () => {
    let answer: (outcome: RcptOutcome) => void = () => {};
    let blocks = true;
    const { check, asked, clock } = engine(() =>
      blocks ? blocked : new Promise<RcptOutcome>((resolve) => (answer = resolve)),
    );
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) await check(`a${i}`);
    clock.advance(FIRST_MS);
    blocks = false;
    const before = asked.length;
    const [trial, ...others] = Array.from({ length: 5 }, (_, i) => check(`b${i}`));
    for (const other of others) assert.equal((await other)?.smtp?.rule, "breaker_open");
    assert.equal(asked.length, before + 1);
    answer(UNKNOWN);
    assert.equal((await trial)?.smtp?.class, "mailbox_not_found");
    const next = check("c");
    await new Promise((resolve) => setImmediate(resolve));
    answer(UNKNOWN);
    assert.equal((await next)?.smtp?.class, "mailbox_not_found");
  });

  it("lets a row wait that is accepted where the stranger cannot be asked any more", async () => {
    let turnBack: () => void = () => {};
    const { ask, check } = engine((address) => {
      if (address.startsWith("alice")) return OK;
      if (address.startsWith("a")) return blocked;
      return new Promise<RcptOutcome>((resolve) => {
        turnBack = () => resolve(failed("connect", "held_back"));
      });
    });
    const asked = ask("alice", "bulk");
    for (let i = 0; i < LIMITS.breaker.blocksToOpen; i++) await check(`a${i}`);
    turnBack();
    const row = await asked;
    assert.ok(row !== null && row !== "busy");
    assert.deepEqual([row.smtp?.class, row.smtp?.rule], ["sender_blocked", "breaker_open"]);
  });

  it("is not closed by an end that says nothing of us", async () => {
    let n = 0;
    const { check, asked } = engine(() => (n++ % 2 === 0 ? blocked : failed("connect", "no_slot")));
    for (let i = 0; i < LIMITS.breaker.blocksToOpen * 2; i++) await check(`a${i}`);
    const before = asked.length;
    await check("one-more");
    assert.equal(asked.length, before);
  });
});

describe("a busy site, as the engine meets it", () => {
  /** Servers that answer when the test says so. */
  function silent() {
    const answers: ((outcome: RcptOutcome) => void)[] = [];
    const world = engine(() => new Promise((resolve) => answers.push(resolve)));
    return { ...world, answers };
  }
  const { maxConnections } = loadShaping().policyFor(null);
  const LINE = maxConnections * 10 * LIMITS.bulk.lineFillings;

  it("is left at once by a row in bulk, waited for by a patient one and by a request", async () => {
    const { ask, answers, sites, asked } = silent();
    const waiting = Array.from({ length: LINE }, (_, i) => ask(`a${i}`, "bulk"));
    assert.equal(await ask("late", "bulk"), "busy");
    assert.deepEqual(new Set(sites), new Set(["example.test"]));
    assert.equal(asked.length, LINE);
    const patient = ask("patient", "patient");
    const request = ask("request", "single");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked.length, LINE + 2);
    for (const answer of answers) answer(UNKNOWN);
    for (const known of await Promise.all([...waiting, patient, request]))
      assert.equal(known !== "busy" && known?.smtp?.class, "mailbox_not_found");
    const next = ask("next", "bulk");
    await new Promise((resolve) => setImmediate(resolve));
    answers.at(-1)?.(UNKNOWN);
    assert.notEqual(await next, "busy", "who has left the line is not counted");
  });

  it("that gave us no slot is no evidence for a row, as it is for a request", async () => {
    const { ask } = engine(() => failed("connect", "no_slot"));
    assert.deepEqual([await ask("a", "bulk"), await ask("a", "patient")], ["busy", "busy"]);
    const evidence = await ask("a", "single");
    assert.equal(evidence !== "busy" && evidence?.smtp?.fault, "our_network");
  });

  it("does not use up a patient row's time, which begins with its turn", async () => {
    const options: JobOptions[] = [];
    const { ask, clock } = engine(
      () => new Promise<RcptOutcome>(() => {}),
      (option) => options.push(option),
    );
    void ask("a", "patient");
    void ask("b", "bulk");
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(60_000);
    const [patient, bulk] = options;
    assert.deepEqual([patient?.deadlineAt, bulk?.deadlineAt], [Infinity, LIMITS.smtp.probeBudgetMs]);
    patient?.onTurn?.();
    assert.equal(patient?.deadlineAt, 60_000 + LIMITS.smtp.probeBudgetMs);
    clock.advance(1_000);
    patient?.onTurn?.();
    assert.equal(patient?.deadlineAt, 60_000 + LIMITS.smtp.probeBudgetMs, "a second turn gives no more");
  });

  it("is asked about its stranger before all who wait there", async () => {
    const urgent: boolean[] = [];
    const { check } = engine(
      (address) => (address.startsWith("alice@") ? OK : UNKNOWN),
      (option) => urgent.push(option.urgent === true),
    );
    await check("alice");
    assert.deepEqual(urgent, [false, true]);
  });
});
