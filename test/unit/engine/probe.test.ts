import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import type { DnsOutcome, Resolver } from "../../../src/dns/resolver.ts";
import { type ProbeControl, probeMailbox } from "../../../src/engine/probe.ts";
import type { Destination, SmtpPool } from "../../../src/smtp/pool/pool.ts";
import { createEgressRoutes } from "../../../src/smtp/wire/egress-routes.ts";
import { parseMailbox } from "../../../src/smtp/wire/mailbox.ts";
import type { FailureCause, RcptOutcome, Stage } from "../../../src/smtp/wire/outcome.ts";

const POLICY = {
  maxConnections: 1,
  transactionsPerSession: 1,
  rejectionsPerSession: 1,
  tls: "never",
  pipelineDepthMax: 1,
} as const;
const MAILBOX = parseMailbox("a@b.test") ?? assert.fail("a plain address");
const NO_DATA: DnsOutcome<string> = { status: "no_data", ttlS: 1, proven: true };

function failure(stage: Stage, cause: FailureCause, host = ""): RcptOutcome {
  return {
    kind: "failure",
    stage,
    cause,
    detail: "",
    host,
    address: "",
    path: "direct",
    tls: false,
    latencyMs: 0,
  };
}

function reply(stage: "greeting" | "ehlo" | "mail" | "rcpt", code: number, host = ""): RcptOutcome {
  const said = { code, enhanced: null, lines: [] };
  return { kind: "reply", stage, reply: said, host, address: "", path: "direct", tls: false, latencyMs: 0 };
}

/** Hosts by name, each with the outcome of a question there. `addresses` defaults to one for every host. */
function world(outcomes: Record<string, RcptOutcome>, addresses: Record<string, string[]> = {}) {
  const asked: Destination[] = [];
  const deadlines: number[] = [];
  const cutOff = { now: false };
  const attempts: string[] = [];
  const turns: string[] = [];
  const full = new Set<string>();
  /** As of `probeMailbox`. */
  const begun: { outcome: RcptOutcome | null } = { outcome: null };
  const shut = new Set<string>();
  const exchanger = (host: string) => ({ host, site: `site of ${host}`, provider: null, policy: POLICY });
  const resolver: Resolver = {
    mx: async () => NO_DATA as never,
    a: async (host) => {
      const records = (addresses[host] ?? ["192.0.2.1"]).filter((address) => !address.includes(":"));
      return records.length === 0 ? NO_DATA : { status: "ok", records, ttlS: 60 };
    },
    aaaa: async (host) => {
      const records = (addresses[host] ?? []).filter((address) => address.includes(":"));
      return records.length === 0 ? NO_DATA : { status: "ok", records, ttlS: 60 };
    },
    close: async () => {},
  };
  const pool: Pick<SmtpPool, "rcpt"> = {
    async rcpt(destination, _mailbox, { deadlineAt }) {
      asked.push(destination);
      deadlines.push(deadlineAt);
      return { ...(outcomes[destination.host] ?? failure("connect", "refused")), host: destination.host };
    },
  };
  const probe = (
    hosts: string[],
    control: ProbeControl = { cancelled: () => false, deadlineAt: 1 },
    provider: string | null = null,
  ) =>
    probeMailbox(
      {
        resolver,
        pool,
        paths: createEgressRoutes({ sourceAddresses: [], proxies: [], heloName: "probe.test" }),
        mayQueueAt: ({ site }) => {
          turns.push(site);
          return !full.has(site);
        },
        mayProbe: ({ site }) => !shut.has(site),
        isCutOff: () => cutOff.now,
        isAboutRecipient: (outcome) => outcome.kind === "reply" && outcome.reply.code !== 554,
        monotonic: () => 0,
        onAttempt: (outcome, { site }) => {
          attempts.push(outcome.host);
          assert.equal(site, `site of ${outcome.host}`);
        },
      },
      { exchangers: hosts.map((host) => ({ ...exchanger(host), provider })), published: true },
      MAILBOX,
      control,
      begun.outcome,
    );
  return {
    probe,
    begun,
    attempts,
    turns,
    full,
    shut,
    destinations: asked,
    deadlines,
    cutOff,
    asked: () => asked.map(({ host, address }) => `${host} ${address}`),
  };
}

describe("a route that is down", () => {
  it("is not tried, and each address there is reported", async () => {
    const { probe, cutOff, asked, attempts } = world({ one: reply("rcpt", 250) });
    cutOff.now = true;
    const outcome = await probe(["one", "two"]);
    assert.equal(outcome.kind === "failure" && outcome.cause, "cut_off");
    assert.deepEqual([asked(), attempts], [[], ["one", "two"]]);
  });
});

describe("hosts of one domain that different people run", () => {
  it("are each asked as a host of their own site", async () => {
    const { probe, destinations } = world({ two: reply("rcpt", 250) });
    await probe(["one", "two"]);
    assert.deepEqual(
      destinations.map(({ host, site, cap }) => [host, site, cap]),
      [
        ["one", "site of one", "site of one"],
        ["two", "site of two", "site of two"],
      ],
    );
  });

  it("are in no queue before an address of theirs is known", async () => {
    const { probe, turns } = world({ two: reply("rcpt", 250) }, { one: [] });
    await probe(["one", "two"]);
    assert.deepEqual(turns, ["site of two"]);
  });

  it("are skipped when the queue of the next one is long", async () => {
    const { probe, full, asked } = world({});
    full.add("site of two");
    const outcome = await probe(["one", "two"]);
    assert.deepEqual(
      [outcome.kind === "failure" && outcome.cause, outcome.host, asked()],
      ["no_slot", "two", ["one 192.0.2.1"]],
    );
  });

  it("block us each for themselves: the first is waited for where all do", async () => {
    const { probe, shut } = world({ two: reply("rcpt", 250) });
    shut.add("site of one");
    assert.equal((await probe(["one", "two"])).host, "two");
    shut.add("site of two");
    const outcome = await probe(["one", "two"]);
    assert.deepEqual([outcome.kind === "failure" && outcome.cause, outcome.host], ["held_back", "one"]);
  });
});

describe("MX fail-over", () => {
  it("stops at the first host that replies to the recipient", async () => {
    const { probe, asked } = world({ one: reply("rcpt", 550), two: reply("rcpt", 250) });
    const outcome = await probe(["one", "two"]);
    assert.deepEqual([outcome.kind === "reply" && outcome.reply.code, asked()], [550, ["one 192.0.2.1"]]);
  });

  it("goes on after a host that is dead, silent, or turns us away at the door", async () => {
    for (const first of [
      failure("connect", "refused"),
      failure("connect", "timeout"),
      failure("greeting", "closed"),
      reply("greeting", 554),
      reply("ehlo", 421),
    ]) {
      const { probe, asked } = world({ one: first, two: reply("rcpt", 250) });
      const outcome = await probe(["one", "two"]);
      assert.equal(outcome.host, "two");
      assert.equal(asked().length, 2);
    }
  });

  it("does not shop for a better answer once MAIL or RCPT was answered for good", async () => {
    for (const first of [reply("mail", 550), reply("rcpt", 550), failure("rcpt", "smtputf8_missing")]) {
      const { probe, asked } = world({ one: first, two: reply("rcpt", 250) });
      assert.equal((await probe(["one", "two"])).host, "one");
      assert.equal(asked().length, 1);
    }
  });

  it("takes a definite answer of the next host after a temporary reply or a broken dialogue", async () => {
    for (const first of [
      reply("mail", 451),
      reply("rcpt", 450),
      reply("rcpt", 421),
      failure("mail", "closed"),
      failure("rcpt", "closed"),
      failure("rcpt", "timeout"),
    ])
      for (const code of [250, 550]) {
        const { probe, asked } = world({ one: first, two: reply("rcpt", code) });
        const outcome = await probe(["one", "two"]);
        assert.deepEqual([outcome.host, outcome.kind === "reply" && outcome.reply.code], ["two", code]);
        assert.equal(asked().length, 2);
      }
  });

  it("remembers the first temporary reply where the others have no answer about the recipient", async () => {
    for (const second of [
      reply("rcpt", 451),
      reply("rcpt", 554),
      reply("greeting", 554),
      failure("connect", "refused"),
      failure("connect", "no_slot"),
      failure("connect", "cut_off"),
      failure("connect", "proxy"),
      failure("mail", "smtputf8_missing"),
    ]) {
      const { probe } = world({ one: reply("rcpt", 450), two: second });
      const outcome = await probe(["one", "two"]);
      assert.deepEqual([outcome.host, outcome.kind === "reply" && outcome.reply.code], ["one", 450]);
    }
    const { probe, full, shut } = world({ one: reply("rcpt", 450), two: reply("rcpt", 250) });
    full.add("site of two");
    assert.equal((await probe(["one", "two"])).host, "one", "a long line elsewhere");
    full.clear();
    const gone = world({ one: reply("rcpt", 450), two: failure("connect", "cancelled") });
    const left = await gone.probe(["one", "two"]);
    assert.equal(left.kind === "failure" && left.cause, "cancelled", "nobody waits any more");
    shut.add("site of two");
    assert.equal((await probe(["one", "two"])).host, "one", "a site that blocks us");
  });

  it("does not hold a reply back from a request until silent exchangers have used up its time", async () => {
    const { interactiveFailOverMs: hurriedFailOverMs } = LIMITS.smtp;
    for (const [hurried, first, expected] of [
      [true, reply("rcpt", 450), hurriedFailOverMs],
      [true, reply("greeting", 421), hurriedFailOverMs],
      [true, failure("connect", "refused"), 30_000],
      [false, reply("rcpt", 450), 30_000],
    ] as const) {
      const { probe, deadlines } = world({ one: first, two: failure("connect", "timeout") });
      await probe(["one", "two"], { cancelled: () => false, deadlineAt: 30_000, isInteractive: hurried });
      assert.deepEqual(deadlines, [30_000, expected]);
    }
  });

  it("prefers a reply to a dialogue that broke off at the same stage", async () => {
    const { probe } = world({ one: failure("rcpt", "closed"), two: reply("rcpt", 450) });
    assert.equal((await probe(["one", "two"])).host, "two");
  });

  it("asks one host of a named provider, whose hosts are one service, unless it was not reached", async () => {
    const { probe, asked } = world({ one: reply("rcpt", 450), two: reply("rcpt", 250) });
    assert.equal((await probe(["one", "two"], undefined, "google")).host, "one");
    assert.equal(asked().length, 1);
    const dead = world({ two: reply("rcpt", 250) });
    assert.equal((await dead.probe(["one", "two"], undefined, "google")).host, "two");
  });

  it("tries all addresses of a host, in both families", async () => {
    const { probe, asked } = world(
      { one: reply("rcpt", 450) },
      { one: ["192.0.2.1", "192.0.2.2", "2001:db8::1"] },
    );
    await probe(["one"]);
    assert.deepEqual(asked(), ["one 192.0.2.1", "one 2001:db8::1", "one 192.0.2.2"]);
  });

  it("skips addresses that were dialled beside another one and failed too, and reports each", async () => {
    const tried = ["2001:db8::1", "192.0.2.2"].map((address) => ({
      address,
      path: "direct",
      cause: "refused" as const,
      detail: "",
    }));
    const dead = failure("connect", "timeout");
    const first = { ...dead, address: "192.0.2.1", tried } as RcptOutcome;
    const addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"];
    const { probe, asked, attempts, destinations } = world({ one: first }, { one: addresses });
    await probe(["one"]);
    assert.deepEqual(asked(), ["one 192.0.2.1", "one 192.0.2.3"]);
    assert.deepEqual(attempts.length, 6);
    assert.deepEqual(
      destinations.map(({ alone }) => alone),
      [false, false],
    );
  });

  it("dials an address that was slow alone, once another has answered in its place", async () => {
    const busy = { ...reply("rcpt", 450, "one"), address: "2001:db8::1" };
    const addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1", "2001:db8::2"];
    const { probe, begun, destinations } = world({ one: reply("rcpt", 450) }, { one: addresses });
    begun.outcome = busy;
    await probe(["one"]);
    assert.deepEqual(
      destinations.map(({ address, alone }) => [address, alone]),
      [
        ["192.0.2.1", true],
        ["192.0.2.2", false],
        ["2001:db8::2", false],
        ["192.0.2.3", false],
      ],
    );
  });

  it("reports the outcome that got furthest when no host replies", async () => {
    const { probe } = world({
      one: failure("connect", "timeout"),
      two: reply("greeting", 554),
      three: failure("connect", "refused"),
    });
    const outcome = await probe(["one", "two", "three"]);
    assert.deepEqual([outcome.host, outcome.stage], ["two", "greeting"]);
  });

  it("reports every attempt, also those that were not the last", async () => {
    const { probe, attempts } = world({ one: failure("connect", "timeout"), two: reply("rcpt", 250) });
    await probe(["one", "two"]);
    assert.deepEqual(attempts, ["one", "two"]);
  });

  it("asks a bounded number of hosts and addresses", async () => {
    const hosts = Array.from({ length: 100 }, (_, i) => `mx${i}`);
    const many = Object.fromEntries(hosts.map((host) => [host, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]]));
    const { probe, asked } = world({}, many);
    await probe(hosts);
    assert.equal(asked().length, LIMITS.smtp.attemptsPerProbe);
    const one = world({});
    await one.probe(hosts);
    assert.equal(one.asked().length, LIMITS.smtp.hostsTried);
  });

  it("says so when no host has an address", async () => {
    const { probe, asked } = world({}, { one: [], two: [] });
    const outcome = await probe(["one", "two"]);
    assert.deepEqual([outcome.kind === "failure" && outcome.cause, asked()], ["no_address", []]);
  });

  it("does not try in vain: without a slot, or without a waiter", async () => {
    const { probe, asked } = world({ one: failure("connect", "no_slot"), two: reply("rcpt", 250) });
    await probe(["one", "two"]);
    assert.equal(asked().length, 1);
    const gone = await probe(["one"], { cancelled: () => true, deadlineAt: 1 });
    assert.equal(gone.kind === "failure" && gone.cause, "cancelled");
  });

  it("starts nothing after its deadline", async () => {
    const { probe, asked } = world({ one: reply("rcpt", 250) });
    const outcome = await probe(["one"], { cancelled: () => false, deadlineAt: 0 });
    assert.deepEqual([outcome.kind === "failure" && outcome.cause, asked()], ["timeout", []]);
  });
});
