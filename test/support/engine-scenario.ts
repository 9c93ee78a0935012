import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";
import type { BulkJob } from "../../src/features/bulk/jobs/job-view.ts";
import type { VerificationResult } from "../../src/features/verify/answer/verification-result.ts";
import { ended, ledgerState, resultLines, submitted } from "./bulk.ts";
import type { MailHost } from "./mail-world/host.ts";
import type { MailWorld } from "./mail-world/world.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "./service.ts";
import { createClosing } from "./store.ts";
import { until } from "./until.ts";

/** The answer about one address, with its origin. */
export interface Told {
  verdict: string;
  reason: string;
  fault: string | null;
  /** Stage of the SMTP dialogue that gave the answer; "" when no mail server was asked. */
  stage: string;
  /** Id of the classification rule. */
  rule: string;
  code: number;
  catchAll: string;
  cached: boolean;
}

/** An ended job, with the result of each address. */
export interface DoneJob {
  job: BulkJob;
  told: Map<string, Told>;
}

/** One deployment for one scenario of a mail server: an API, a bulk worker on request, and the mail world. */
export interface EngineScenario {
  readonly world: MailWorld;
  readonly deployment: TestDeployment;
  readonly api: TestApi;
  host(name: string): MailHost;
  /** Makes `domain` a site of its own, unknown so far, with `name` as its mail server. */
  site(domain: string, name: string): MailHost;
  /** Resolves once `holds` is true of the mail world; fails when that takes too long. */
  sees(what: string, holds: () => boolean): Promise<unknown>;
  /** The answer to one request, with its evidence. `query` is appended, e.g. `&refresh=true`. */
  ask(address: string, query?: string): Promise<Told>;
  /** The whole answer. */
  send(address: string): Promise<VerificationResult>;
  /** The final result of the check, also where the deadline answered first: polls until the cache has it. */
  askOn(address: string): Promise<Told>;
  /** `verdict reason fault`, for each of them, asked all at once. */
  askAll(addresses: readonly string[]): Promise<string[]>;
  /** Runs a job from submission to its end, and asserts that exactly the chargeable rows were charged. */
  job(addresses: readonly string[]): Promise<DoneJob>;
  /** Waits until the calls of `ask` have been charged `expected` units. */
  spent(expected: number): Promise<void>;
}

export interface EngineScenarioOptions {
  /** Settings of all processes. */
  settings?: Record<string, string>;
  /** A bulk worker (and a relay) runs too. */
  bulk?: true;
}

/** Reasons that docs/verdicts.md lists as free of charge: `unknown` because of a failure. */
const FREE: ReadonlySet<string> = new Set([
  ...["dns_error", "sender_blocked", "greylisted", "rate_limited_by_server", "smtp_protocol_error"],
  ...["no_connect", "timeout", "our_network", "deadline", "internal_error"],
]);

/** One thread, so that rows of a site share one pool. Deferred rows are retried after a second. */
const SETTINGS = { CHECK_THREADS: "1", DEFERRAL_FIRST_S: "1", DEFERRAL_MAX_S: "8", DNSBL_ZONES: "none" };

/**
 * Opens the scenario before the file's tests and closes it after them. After each test it asserts that no host has seen
 * a malformed or out-of-turn command.
 */
export function engineScenario({ settings = {}, bulk }: EngineScenarioOptions = {}): EngineScenario {
  const closing = createClosing();
  let deployment: TestDeployment;
  let api: TestApi;
  let asker: Team;
  let submitter: Team;

  before(async () => {
    deployment = await createDeployment();
    closing.after(() => deployment.stop());
    const all = { ...SETTINGS, ...settings };
    const roles = [deployment.startBulk, deployment.startRelay].slice(0, bulk === true ? 2 : 0);
    [api] = await Promise.all([deployment.startApi(all), ...roles.map((start) => start(all))]);
    asker = await deployment.team("enterprise", { ratePerS: 10_000, rateBurst: 10_000 });
    submitter = await deployment.team("enterprise");
  });
  afterEach(() => assertOrderly(deployment.world));
  after(closing.close);

  /** Polls again after a 503: Postgres may be slow on a loaded machine. */
  function send(address: string, query = ""): Promise<VerificationResult> {
    return until(`${address} is taken`, async () => {
      const { status, body } = await api.verify(asker.liveKey, address, `&evidence=true${query}`);
      if (status === 503) return null;
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    });
  }
  const ask = async (address: string, query = "") => toldOf(await send(address, query));

  return {
    get world() {
      return deployment.world;
    },
    get deployment() {
      return deployment;
    },
    get api() {
      return api;
    },
    host: (name) => deployment.world.host(name),
    sees: (what, holds) => until(what, holds),
    site(domain, name) {
      const host = deployment.world.host(name);
      deployment.world.dns.set(`mx.${domain}`, { a: [host.address] });
      deployment.world.dns.set(domain, { mx: [[10, `mx.${domain}`]] });
      host.resetCounters();
      return host;
    },
    ask,
    send: (address) => send(address),
    askOn: (address) =>
      until(`${address} is answered`, async () => {
        const told = await ask(address);
        return told.reason !== "deadline" && told;
      }),
    askAll: async (addresses) => (await Promise.all(addresses.map((address) => ask(address)))).map(brief),
    async job(addresses) {
      const { used } = await ledgerState(deployment, submitter.id);
      const { id } = await submitted(api, submitter.liveKey, addresses, { evidence: true });
      const job = await ended(api, submitter.liveKey, id, 240_000);
      assert.equal(job.status, "completed", JSON.stringify(job.error));
      const lines = await resultLines(api, submitter.liveKey, id);
      assert.deepEqual(
        lines.map(({ input }) => input),
        addresses,
      );
      const charged = lines.filter(({ reason }) => !FREE.has(reason)).length;
      const state = await ledgerState(deployment, submitter.id);
      assert.deepEqual(state, { used: used + charged, held: 0, leased: 0 });
      return { job, told: new Map(lines.map((line) => [line.input, toldOf(line)])) };
    },
    async spent(expected) {
      const told = async () =>
        (await api.send<{ used: number }>("GET", "/v1/usage", { key: asker.liveKey })).body;
      await until(`${expected} units are used`, async () => (await told()).used === expected);
    },
  };
}

function toldOf(result: VerificationResult): Told {
  const { verdict, reason, checks, evidence, cached } = result;
  return {
    verdict,
    reason,
    fault: checks.smtp.fault,
    stage: evidence?.stage ?? "",
    rule: evidence?.rule ?? "",
    code: checks.smtp.code,
    catchAll: checks.smtp.catch_all,
    cached,
  };
}

/** `valid accepted_mailbox`, `invalid mailbox_not_found recipient`, ... */
export function brief({ verdict, reason, fault }: Told): string {
  return [verdict, reason, ...(fault === null ? [] : [fault])].join(" ");
}

export const VALID = "valid accepted_mailbox";
export const NOT_FOUND = "invalid mailbox_not_found recipient";

/**
 * Addresses whose answer is wrong, for `deepEqual` with []. An address that begins with `exists` should be valid, every
 * other one invalid.
 */
export function wrongly(told: Map<string, Told>): string[] {
  return [...told]
    .map(([address, answer]) => [address, brief(answer), address.startsWith("exists") ? VALID : NOT_FOUND])
    .filter(([, got, wanted]) => got !== wanted)
    .map(([address, got]) => `${address}: ${got}`);
}

/** Existing and missing mailboxes by turns, each with `tag` in its name. */
export function mixed(count: number, tag: string, domain: string): string[] {
  return Array.from(
    { length: count },
    (_, i) => `${i % 3 === 1 ? "missing" : "exists"}-${tag}${i}@${domain}`,
  );
}

export function numbered(count: number, name: (i: number) => string): string[] {
  return Array.from({ length: count }, (_, i) => name(i));
}

/** However the servers misbehaved: no smuggled command, none out of turn, at most one recipient in a transaction. */
function assertOrderly(world: MailWorld): void {
  for (const { name, account } of world.hosts()) {
    assert.deepEqual([account.malformed, account.outOfTurn], [0, 0], name);
    assert.ok(account.maxRecipientsPerTransaction <= 1, `${name}: several recipients in one transaction`);
  }
}
