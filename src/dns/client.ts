import { LIMITS } from "../config/limits/limits.ts";
import type { Clock } from "../platform/time/clock.ts";
import { BestEffortAdmission, DnsAdmission, type LookUpPermit } from "./admission.ts";
import { type DnsReading, readAnswer } from "./answer.ts";
import type { DnsQuestion, QueryType } from "./message.ts";
import { normalizeName } from "./name.ts";
import { addressRecords, mxRecords, pointerRecords, textRecords } from "./records.ts";
import type { BestEffortLookUp, DnsOutcome, FullResolver } from "./resolver.ts";
import { DnsServer } from "./server.ts";
import { parseServerAddress } from "./server-address.ts";

export interface ResolverDeps {
  /** `ip`, `ip4:port` or `[ip6]:port`, in order of preference; at least one. */
  servers: readonly string[];
  clock: Clock;
}

type Failure = Extract<DnsOutcome<never>, { status: "server_failure" | "no_answer" }>;
/** A look-up's permit and its deadline. */
interface LookUpBudget {
  permit: LookUpPermit;
  attempts: number;
  untilMs: number;
}
type Reader<T> = (records: Extract<DnsReading, { kind: "records" }>["records"]) => T[];
type Conclusive = Exclude<DnsReading, { kind: "failure" }>;

const OVERLOADED: Failure = { status: "no_answer", code: "overloaded" };
const UNREACHABLE: Failure = { status: "no_answer", code: "unreachable" };

class StubResolver implements FullResolver {
  readonly #servers: readonly DnsServer[];
  readonly #clock: Clock;
  readonly #admission: DnsAdmission;
  readonly #bestEffort = new BestEffortAdmission();
  /** Index of the server that answered last when the one before it did not. */
  #preferred = 0;
  #closed = false;

  constructor({ servers, clock }: ResolverDeps) {
    if (servers.length === 0) throw new Error("no DNS server is configured");
    this.#clock = clock;
    this.#admission = new DnsAdmission(clock);
    this.#servers = servers.map((server) => new DnsServer(parseServerAddress(server), clock));
  }

  mx(domain: string) {
    return this.#lookUp(domain, "MX", mxRecords);
  }

  a(name: string, bestEffort?: BestEffortLookUp) {
    return this.#lookUp(name, "A", addressRecords, bestEffort);
  }

  aaaa(name: string) {
    return this.#lookUp(name, "AAAA", addressRecords);
  }

  txt(name: string, bestEffort?: BestEffortLookUp) {
    return this.#lookUp(name, "TXT", textRecords, bestEffort);
  }

  ptr(name: string) {
    return this.#lookUp(name, "PTR", pointerRecords);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const server of this.#servers) server.close();
    this.#admission.close();
  }

  async #lookUp<T>(
    text: string,
    type: QueryType,
    read: Reader<T>,
    bestEffort?: BestEffortLookUp,
  ): Promise<DnsOutcome<T>> {
    const name = normalizeName(text);
    if (!name) return { status: "server_failure", code: "BAD_NAME" };
    if (this.#closed) return UNREACHABLE;
    const budget = bestEffort === undefined ? await this.#acquire() : this.#acquireBestEffort(bestEffort);
    if (!budget) return this.#closed ? UNREACHABLE : OVERLOADED;
    try {
      return await this.#followCnames({ name, type }, budget, read);
    } finally {
      budget.permit.release();
    }
  }

  async #acquire(): Promise<LookUpBudget | null> {
    const permit = await this.#admission.acquire();
    return permit && { permit, attempts: LIMITS.dns.attempts, untilMs: Number.POSITIVE_INFINITY };
  }

  #acquireBestEffort({ untilMs }: BestEffortLookUp): LookUpBudget | null {
    if (untilMs <= this.#clock.monotonic()) return null;
    const permit = this.#bestEffort.acquire();
    return permit && { permit, attempts: 1, untilMs };
  }

  /** Queries, and queries again for the target of a CNAME that the answer left open. */
  async #followCnames<T>(first: DnsQuestion, budget: LookUpBudget, read: Reader<T>): Promise<DnsOutcome<T>> {
    const seen = new Set<string>();
    let ttlS: number = LIMITS.dns.ttlMaxS;
    let { name } = first;
    while (seen.size < LIMITS.dns.cnameHops && !seen.has(name)) {
      seen.add(name);
      const reading = await this.#askServers({ name, type: first.type }, budget);
      if ("status" in reading) return reading;
      ttlS = Math.min(ttlS, reading.ttlS);
      if (reading.kind === "follow") {
        name = reading.target;
        continue;
      }
      if (reading.kind !== "records") return { status: reading.kind, ttlS, proven: reading.proven };
      const records = read(reading.records);
      return records.length > 0
        ? { status: "ok", records, ttlS }
        : { status: "server_failure", code: "BAD_RECORDS" };
    }
    return { status: "server_failure", code: seen.has(name) ? "CNAME_LOOP" : "CNAME_CHAIN" };
  }

  /** One question, over the servers: a failing server is not asked again, a silent one may be. */
  async #askServers(
    question: DnsQuestion,
    { permit: place, attempts, untilMs }: LookUpBudget,
  ): Promise<Conclusive | Failure> {
    const failed = new Set<DnsServer>();
    let failure: Failure = UNREACHABLE;
    const first = this.#preferred;
    for (let attempt = 0; attempt < attempts && !this.#closed; attempt++) {
      const index = (first + attempt) % this.#servers.length;
      const server = this.#servers[index];
      if (!server || failed.has(server)) continue;
      const exchange = await server.ask(question, untilMs);
      if (exchange.kind === "answer") {
        this.#preferred = index;
        const reading = readAnswer(exchange.packet, question);
        if (reading.kind !== "failure") return reading;
        failed.add(server);
        failure = { status: "server_failure", code: reading.code };
      } else if (exchange.kind === "timeout") {
        if (failure.status === "no_answer") failure = { status: "no_answer", code: "timeout" };
        if (!place.retry()) break;
      }
    }
    return failure;
  }
}

/**
 * A stub resolver over UDP and TCP: it asks recursive servers and accepts only answers to its own questions. Bounds and
 * timeouts are `LIMITS.dns`; a look-up beyond them, or without a permit after `waitMs`, ends as `no_answer`/`overloaded`.
 * TTLs are the true ones, capped at `ttlMaxS` and `negativeTtlMaxS`. No caching: see `createCachingResolver`.
 * @throws when a server address is malformed
 */
export function createResolver(deps: ResolverDeps): FullResolver {
  return new StubResolver(deps);
}
