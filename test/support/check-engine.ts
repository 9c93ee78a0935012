import assert from "node:assert/strict";
import type { Resolver } from "../../src/dns/resolver.ts";
import type { ReportedDial } from "../../src/egress/network-health.ts";
import { loadShaping } from "../../src/egress/shaping.ts";
import { createSharedBoard } from "../../src/egress/shared-board.ts";
import { createSiteQueues } from "../../src/egress/site-queues.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { createNetworkView } from "../../src/engine/network-view.ts";
import type { Destination } from "../../src/smtp/pool/pool.ts";
import type { RcptJobOptions } from "../../src/smtp/session/rcpt-job.ts";
import { createEgressRoutes } from "../../src/smtp/wire/egress-routes.ts";
import type { Mailbox } from "../../src/smtp/wire/mailbox.ts";
import type { FailureCause, RcptOutcome, Stage } from "../../src/smtp/wire/outcome.ts";
import { createReplyParser, type SmtpReply as ParsedReply } from "../../src/smtp/wire/reply.ts";
import { type CatchAllFact, createCatchAllFacts } from "../../src/verification/catch-all.ts";
import type { CheckMode, Evidence } from "../../src/verification/evidence.ts";
import type { Lists } from "../../src/verification/lists/lists.ts";
import { createSiteDirectory } from "../../src/verification/lists/site.ts";
import { checkWith } from "./engine-by.ts";
import { createFakeClock } from "./fake-clock.ts";
import { createLocalBehaviourMirror, createLocalBehaviours } from "./local-behaviours.ts";
import { createLocalBreakers, createLocalMirror } from "./local-breakers.ts";

/** The mail server's reply to a recipient. */
export type Reply = (address: string, host: string) => RcptOutcome | Promise<RcptOutcome>;

const at = (host: string) => ({ host, address: "192.0.2.1", path: "direct", tls: false, latencyMs: 1 });

/**
 * An outcome as a session parses it: equal short replies that do not name the recipient are the same object each time.
 */
export function replied(code: number, enhanced: string | null, text: string, host = ""): RcptOutcome {
  const replies: ParsedReply[] = [];
  const line = `${code} ${enhanced === null ? "" : `${enhanced} `}${text}\r\n`;
  const fault = createReplyParser().push(Buffer.from(line, "latin1"), (reply) => replies.push(reply) > 0);
  const [reply] = replies;
  assert.ok(fault === null && reply !== undefined && reply.enhanced === enhanced, line);
  return { kind: "reply", stage: "rcpt", reply, ...at(host) };
}

export function failed(stage: Stage, cause: FailureCause, host = ""): RcptOutcome {
  return { kind: "failure", stage, cause, detail: "", ...at(host) };
}

export const OK = replied(250, "2.1.5", "Ok");
export const UNKNOWN = replied(550, "5.1.1", "User unknown");

/** One shared object: the memory of replies is keyed by its identity. */
const SELF = { heloName: "probe.test", addresses: [] };

/** MX hosts, best first, of domains other than `example.test`; and hosts without an address. */
export interface Zone {
  hosts: Record<string, string[]>;
  nowhere: string[];
}

const { hosts: NO_HOSTS, nowhere: NOWHERE }: Zone = { hosts: {}, nowhere: [] };

/**
 * An engine whose mail servers answer as `reply` says; `example.test` has a primary and a backup MX.
 * @param onAsked called with the options of each RCPT question
 * @param general `isClear` of the circuit breaker is always false, so that no probe takes the fast path
 */
export function engine(
  reply: Reply,
  onAsked: (options: RcptJobOptions) => void = () => {},
  {
    hosts = NO_HOSTS,
    nowhere = NOWHERE,
    general = false,
    role = () => null,
  }: Partial<Zone> & { general?: boolean; role?: Lists["role"] } = {},
) {
  const clock = createFakeClock();
  const board = createSharedBoard(1, 1);
  const asked: string[] = [];
  const sites: string[] = [];
  const stored = new Map<string, CatchAllFact>();
  const seen: { failed: ReportedDial[]; candidates: string[]; reached: string[] } = {
    failed: [],
    candidates: [],
    reached: [],
  };
  const resolver: Resolver = {
    mx: async (domain) => ({
      status: "ok",
      ttlS: 60,
      records: (hosts[domain] ?? ["mx1.example.test", "mx2.example.test"]).map((exchange, i) => ({
        preference: 10 * (i + 1),
        exchange,
      })),
    }),
    a: async (host) =>
      nowhere.includes(host)
        ? { status: "no_data", ttlS: 60, proven: true }
        : { status: "ok", records: ["192.0.2.1"], ttlS: 60 },
    aaaa: async () => ({ status: "no_data", ttlS: 60, proven: true }),
    close: async () => {},
  };
  const paths = createEgressRoutes({ sourceAddresses: [], proxies: [], heloName: "probe.test" });
  const reach = {
    onSilent: () => {},
    onFailed: (dial: ReportedDial) => void seen.failed.push(dial),
    addCandidate: (address: string) => void seen.candidates.push(address),
    onReached: ({ site, address }: ReportedDial) => void seen.reached.push(`${site} ${address}`),
  };
  const behaviours = createLocalBehaviours(clock);
  const breakers = createLocalBreakers(clock);
  const { breaker } = createLocalMirror(breakers.authority, clock);
  const destinations: Destination[] = [];
  const probes: string[] = [];
  const strangers = { hit: 0, asked: 0 };
  async function answered(destination: Destination, mailbox: Mailbox, options: RcptJobOptions) {
    onAsked(options);
    asked.push(`${mailbox.address} ${destination.host}`);
    destinations.push(destination);
    const outcome = await reply(mailbox.address, destination.host);
    return { ...outcome, host: destination.host };
  }
  const made = createEngine({
    clock,
    resolver,
    pool: {
      rcpt: answered,
      ask: (destination, mailbox, asker) =>
        void answered(destination, mailbox, asker).then((outcome) => asker.onSettled(outcome)),
      drain: async () => {},
      close: () => {},
      depthAt: () => 10,
      holdBack: () => {},
      stats: () => ({ hosts: 0, sessions: 0, idle: 0, waiting: 0, jobs: 0 }),
    },
    paths,
    routeTrust: { trusts: () => true },
    lines: createSiteQueues(() => 10),
    lists: { disposable: () => ({ listed: false, source: "none" }), role, isFree: () => false },
    shaping: loadShaping(),
    sites: createSiteDirectory(),
    facts: createCatchAllFacts(clock, {
      get: async () => null,
      put: (key, answer) => void stored.set(key, answer),
    }),
    behaviours: createLocalBehaviourMirror(behaviours.authority, clock).behaviours,
    breaker: {
      guard: (target) => breaker.guard(target),
      isClear: (...way) => !general && breaker.isClear(...way),
      isClearForSite: (...way) => breaker.isClearForSite(...way),
    },
    network: createNetworkView({ clock, board, paths, resolver, reach }),
    self: { heloName: "probe.test", at: () => SELF },
    catchAllLookUps: strangers,
    onProbe: (provider, outcome) => void probes.push(`${provider} ${outcome}`),
  });
  /** Asks as a batch does. */
  async function askAbout(address: string, mode: CheckMode, cancelled = () => false) {
    const onSite = (site: string) => void sites.push(site);
    return checkWith(made, address, "probed", { mode, cancelled, onSite });
  }
  const ask = (local: string, mode: CheckMode, cancelled?: () => boolean) =>
    askAbout(`${local}@example.test`, mode, cancelled);
  /** Asks as a single request does: it never gives up because the site is busy. */
  async function check(local: string): Promise<Evidence | null> {
    const known = await ask(local, "single");
    assert.notEqual(known, "busy");
    return known as Evidence | null;
  }
  return {
    ...{ check, ask, askAbout, asked, destinations, probes },
    ...{ strangers, behaviours, breakers, board, clock, stored, seen, sites },
  };
}
