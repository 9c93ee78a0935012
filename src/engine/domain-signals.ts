import { BlockList } from "node:net";
import { LRUCache } from "lru-cache";
import { getDomain } from "tldts";
import type { DomainSignalsConfig } from "../config/config.ts";
import { LIMITS } from "../config/limits/limits.ts";
import type { BestEffortLookUp, DnsOutcome, MxRecord, TextResolver } from "../dns/resolver.ts";
import type { Clock } from "../platform/time/clock.ts";
import { runAtEndOfTick } from "../platform/time/ticks.ts";
import { domainOf } from "../verification/address/domain-of.ts";
import { areSignalsComplete, type CheckMode, type DomainEvidence } from "../verification/evidence.ts";
import type { CheckCaller, EngineResult } from "./caller.ts";
import type { CheckEngine } from "./engine.ts";

/** DNS records of a domain besides its exchangers. */
export interface DomainSignals {
  /**
   * Never rejects. A signal that is unknown `LIMITS.check.domainSignalsMs` after the MX answer is null, and so is one that
   * a server failed to answer: no conclusion is drawn from it.
   * @param domain A-labels, lower case
   * @returns recent signals from the cache, or a promise
   */
  of(domain: string): DomainEvidence | Promise<DomainEvidence>;
}

interface Deps {
  resolver: TextResolver;
  clock: Clock;
  config: DomainSignalsConfig;
}

/** RFC 7208 §4.5 and RFC 7489 §6.6.3: how the records begin. */
const SPF = /^v=spf1(?: |$)/i;
const DMARC = /^v=DMARC1\s*(?:;|$)/i;

/** Networks of parking services, for domains without MX: Sedo, Bodis, above.com, Team Internet. And nowhere. */
const PARKING_NETWORKS = new BlockList();
for (const network of ["64.190.62.0/23", "91.195.240.0/23", "199.59.240.0/22", "103.224.182.0/24"])
  addNetwork(network);
for (const network of ["103.224.212.0/24", "185.53.176.0/22", "0.0.0.0/32", "127.0.0.1/32"])
  addNetwork(network);

function addNetwork(network: string): void {
  const [address = "", prefix = "32"] = network.split("/");
  PARKING_NETWORKS.addSubnet(address, Number(prefix), "ipv4");
}

const NOTHING: DomainEvidence = { spf: null, dmarc: null, listedBy: null, parkedAddress: false };

/** Whether a text begins so; null where the look-up failed, or where the absence is not proven. */
function hasText(answer: DnsOutcome<string>, pattern: RegExp): boolean | null {
  if (answer.status === "ok") return answer.records.some((text) => pattern.test(text));
  return (answer.status === "no_data" || answer.status === "nxdomain") && answer.proven ? false : null;
}

async function spfOf(resolver: TextResolver, domain: string, aside: BestEffortLookUp) {
  return { spf: hasText(await resolver.txt(domain, aside), SPF) };
}

/** RFC 7489 §6.6.3: of the domain, else of the organisation it belongs to. */
async function dmarcOf(resolver: TextResolver, domain: string, aside: BestEffortLookUp) {
  const own = hasText(await resolver.txt(`_dmarc.${domain}`, aside), DMARC);
  const organisation = getDomain(domain);
  if (own !== false || organisation === null || organisation === domain) return { dmarc: own };
  return { dmarc: hasText(await resolver.txt(`_dmarc.${organisation}`, aside), DMARC) };
}

/**
 * RFC 5782 §2: listed names have an address in 127/8, never 127.0.0.1, which some zones answer when they refuse the
 * question. 127.255.255.0/24 says that we ask too much, or through a public resolver.
 */
function isListing(address: string): boolean {
  return address.startsWith("127.") && address !== "127.0.0.1" && !address.startsWith("127.255.255.");
}

async function isListed(
  resolver: TextResolver,
  domain: string,
  zone: string,
  aside: BestEffortLookUp,
): Promise<boolean> {
  const answer = await resolver.a(`${getDomain(domain) ?? domain}.${zone}`, aside);
  return answer.status === "ok" && answer.records.some(isListing);
}

async function parkingOf(
  resolver: TextResolver,
  domain: string,
): Promise<Pick<DomainEvidence, "parkedAddress">> {
  const answer = await resolver.a(domain);
  const records = answer.status === "ok" ? answer.records : [];
  const parked = records.every((address) => PARKING_NETWORKS.check(address, "ipv4"));
  return { parkedAddress: parked && records.length > 0 };
}

/**
 * Sends all look-ups at once and writes each answer into `known` as it arrives. They are best-effort, so that unresponsive
 * name servers of other domains take no slot from MX look-ups. The address is the exception: the check itself requires it
 * when there is no MX.
 */
async function askSignals(
  { resolver, config }: Deps,
  domain: string,
  implicit: boolean,
  known: { -readonly [Name in keyof DomainEvidence]: DomainEvidence[Name] },
  aside: BestEffortLookUp,
) {
  const questions = config.blocklistZones.map(async (zone) => {
    if (await isListed(resolver, domain, zone, aside)) known.listedBy ??= zone;
  });
  const learn = async (answer: Promise<Partial<DomainEvidence>>) => void Object.assign(known, await answer);
  if (config.spf) questions.push(learn(spfOf(resolver, domain, aside)));
  if (config.dmarc) questions.push(learn(dmarcOf(resolver, domain, aside)));
  if (implicit) questions.push(learn(parkingOf(resolver, domain)));
  await Promise.all(questions);
}

function takesMail(answer: DnsOutcome<MxRecord>): boolean {
  if (answer.status === "ok") return answer.records.some(({ exchange }) => exchange !== "");
  return answer.status === "no_data";
}

/** Asks, and hands out what is known when all is, or when the time is over. */
async function gather(deps: Deps, domain: string): Promise<DomainEvidence> {
  const mx = await deps.resolver.mx(domain);
  if (!takesMail(mx)) return NOTHING;
  // The check itself waits for the exchanger's address and for messages that this tick sends to the main thread: these look-ups go after both.
  await new Promise<void>((resolve) => runAtEndOfTick(() => runAtEndOfTick(resolve)));
  const known = { ...NOTHING };
  const aside = { untilMs: deps.clock.monotonic() + LIMITS.check.domainSignalsMs };
  await new Promise<void>((resolve) => {
    const timer = deps.clock.after(LIMITS.check.domainSignalsMs, resolve);
    void askSignals(deps, domain, mx.status === "no_data", known, aside).finally(() => {
      timer.cancel();
      resolve();
    });
  });
  // A copy: what comes later must not change evidence that was handed out.
  return { ...known };
}

interface SharedSignals {
  /** A promise until it is known. */
  evidence: DomainEvidence | Promise<DomainEvidence>;
  untilMs: number;
}

/**
 * Look-ups start once the MX is known, which the check requires anyway. So domains that accept no mail cost nothing, and in
 * a batch the exchangers of all come first. They share the resolver's cache and single flight. Those unanswered when the
 * time is over are given up, and those without a slot are not sent. In front of that cache the rows of a batch share
 * results for `LIMITS.check.domainSignalsKeptMs`, unless they are incomplete.
 */
export function createDomainSignals(deps: Deps): DomainSignals {
  const { clock, config } = deps;
  const shared = new LRUCache<string, SharedSignals>({ max: LIMITS.check.domainSignalsKept });
  /** The last domain, which is often that of the next row too. */
  let last: { domain: string; entry: SharedSignals } | null = null;

  function find(domain: string): SharedSignals | undefined {
    if (last !== null && last.domain === domain) return last.entry;
    const entry = shared.get(domain);
    if (entry !== undefined) last = { domain, entry };
    return entry;
  }

  return {
    of(domain) {
      const known = find(domain);
      if (known !== undefined && known.untilMs > clock.monotonic()) return known.evidence;
      const evidence = gather(deps, domain);
      const entry: SharedSignals = {
        evidence,
        untilMs: clock.monotonic() + LIMITS.check.domainSignalsKeptMs,
      };
      shared.set(domain, entry);
      last = { domain, entry };
      void evidence.then((found) => {
        entry.evidence = found;
        if (areSignalsComplete(found, config)) return;
        if (shared.peek(domain) === entry) shared.delete(domain);
        if (last?.entry === entry) last = null;
      });
      return evidence;
    },
  };
}

/** An engine whose evidence has the domain's signals, asked for beside the check itself, in every scope. */
export function withDomainSignals(engine: CheckEngine, signals: DomainSignals): CheckEngine {
  return {
    submit(address, scope, asker) {
      const found = signals.of(domainOf(address));
      // What is known before goes in with the rest, so that addresses which share evidence go on sharing it.
      if (found instanceof Promise) engine.submit(address, scope, new SignalsCaller(asker, found));
      else engine.submit(address, scope, asker, found);
    },
  };
}

/** Waits for the domain's signals too. */
class SignalsCaller implements CheckCaller {
  readonly #caller: CheckCaller;
  readonly #domain: Promise<DomainEvidence>;

  constructor(asker: CheckCaller, domain: Promise<DomainEvidence>) {
    this.#caller = asker;
    this.#domain = domain;
  }

  get mode(): CheckMode {
    return this.#caller.mode;
  }

  get trace() {
    return this.#caller.trace ?? null;
  }

  cancelled(): boolean {
    return this.#caller.cancelled();
  }

  onSite(site: string): void {
    this.#caller.onSite(site);
  }

  /** An outcome without information about the domain does not wait for signals. */
  onChecked(known: EngineResult): void {
    const asker = this.#caller;
    if (known === null || known === "busy") asker.onChecked(known);
    else void this.#domain.then((domain) => asker.onChecked(known.withDomain(domain)));
  }

  onError(error: unknown): void {
    this.#caller.onError(error);
  }
}
