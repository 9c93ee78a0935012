import { LRUCache } from "lru-cache";
import { LIMITS } from "../../../config/limits/limits.ts";
import type { Clock } from "../../../platform/time/clock.ts";
import {
  areSignalsComplete,
  type Evidence,
  type MxStatus,
  type RequestedSignals,
  type Scope,
} from "../../../verification/evidence.ts";
import type { Lists } from "../../../verification/lists/lists.ts";
import type { AddressQuestion } from "../answer/address-question.ts";
import type { EvidenceFinding } from "../answer/evidence-finding.ts";
import type { CacheEntry } from "../cache/cache-entry.ts";
import type { InFlightChecksDeps } from "../checks/in-flight-checks.ts";

export interface DisposableRowsDeps {
  clock: Pick<Clock, "monotonic">;
  lists: Pick<Lists, "role" | "disposable">;
  keep: InFlightChecksDeps["keep"];
  /** Signals that the check threads ask for. */
  signals: RequestedSignals;
}

/**
 * Rows of throw-away domains. No server is asked about them, so what a check finds is the domain's: its lists, its MX and
 * its signals. The next rows are answered with that for `LIMITS.check.planKeptMs` from when it was found, and are not kept
 * for themselves: a row that went to Redis, to a thread and to Redis again cost 25 us, and Redis an entry for each. The
 * thread may have had it that long already (`DomainPlans`), and signals for longer (`domainSignalsKeptMs`): an MX is missed
 * by twice the time that a thread would miss it.
 */
export interface DisposableRows {
  /** What a check found of an address; of any but a throw-away domain's it is passed over. */
  learn(question: Pick<AddressQuestion, "scope"> & { address: { domain: string } }, entry: CacheEntry): void;
  /** undefined: it has to be checked. */
  find(question: Pick<AddressQuestion, "scope" | "address">): EvidenceFinding | undefined;
  /**
   * Groups rows of throw-away domains that come in numbers, by their domains: what is found of the first may answer the
   * others. A list of them began with all rows of its first chunks on their way to Redis and threads: of 300 000 rows, a
   * third of three such domains, 10 700, each of which left an entry in Redis.
   */
  cut<T extends CheckedRow>(rows: readonly T[]): { others: readonly T[]; groups: T[][] };
}

interface CheckedRow {
  scope: Scope;
  address: { domain: string; local: string };
}

/** From so many rows of a domain in a batch on, the first is checked before the others. */
const GROUP_MIN = 16;

/** What is known of a domain: by role, the evidence. */
interface KnownDomainEvidence {
  untilMs: number;
  storedAt: number;
  byRole: Map<string | null, Evidence>;
}

/** Domains that take no mail, which are asked for no signals. */
const WITHOUT_MAIL: ReadonlySet<MxStatus> = new Set(["domain_not_found", "null_mx"]);

/** Few names are roles, and all of them could be used once. */
const ROLES_KEPT = 32;

const mapOf = () => new LRUCache<string, KnownDomainEvidence>({ max: LIMITS.check.plans });

class RememberedDisposableRows implements DisposableRows {
  readonly #deps: DisposableRowsDeps;
  readonly #known: Record<Scope, LRUCache<string, KnownDomainEvidence>> = {
    probed: mapOf(),
    unprobed: mapOf(),
  };

  constructor(deps: DisposableRowsDeps) {
    this.#deps = deps;
  }

  cut<T extends CheckedRow>(rows: readonly T[]): { others: readonly T[]; groups: T[][] } {
    const groups = rows.length < GROUP_MIN ? [] : this.#groupsOf(rows);
    if (groups.length === 0) return { others: rows, groups };
    const grouped = new Set(groups.flat());
    return { others: rows.filter((row) => !grouped.has(row)), groups };
  }

  learn(
    { scope, address }: Pick<AddressQuestion, "scope"> & { address: { domain: string } },
    { evidence, storedAt }: CacheEntry,
  ): void {
    const { finding, disposable, role } = evidence;
    if (finding.smtp !== null || !disposable.listed || !this.#isWhole(evidence)) return;
    const { domain } = address;
    // A longer name is a piece of its chunk, and would keep all of that.
    if (domain.length > LIMITS.check.domainNameChars) return;
    const nowMs = this.#deps.clock.monotonic();
    const found = this.#known[scope].get(domain);
    if (found !== undefined && nowMs < found.untilMs) {
      if (found.byRole.size < ROLES_KEPT) found.byRole.set(role, evidence);
      return;
    }
    const untilMs = nowMs + LIMITS.check.planKeptMs;
    const byRole = new Map([[role, evidence]]);
    this.#known[scope].set(domain, { untilMs, storedAt, byRole });
  }

  find({ scope, address }: Pick<AddressQuestion, "scope" | "address">): EvidenceFinding | undefined {
    if (address === null) return undefined;
    const found = this.#known[scope].get(address.domain);
    if (found === undefined || this.#deps.clock.monotonic() >= found.untilMs) return undefined;
    const evidence = found.byRole.get(this.#deps.lists.role(address.local));
    if (evidence === undefined) return undefined;
    const { ttlS } = this.#deps.keep(scope, address, evidence);
    return { entry: { evidence, storedAt: found.storedAt, ttlS }, cached: false };
  }

  /** False: a look-up failed, or was not answered in time, and is asked again each time. */
  #isWhole({ mx, domain }: Evidence): boolean {
    if (mx.status === "dns_error") return false;
    return (
      domain === undefined || WITHOUT_MAIL.has(mx.status) || areSignalsComplete(domain, this.#deps.signals)
    );
  }

  #groupsOf<T extends CheckedRow>(rows: readonly T[]): T[][] {
    const byDomain = new Map<string, T[]>();
    for (const row of rows) {
      const mates = byDomain.get(row.address.domain);
      if (mates === undefined) byDomain.set(row.address.domain, [row]);
      else mates.push(row);
    }
    const groups: T[][] = [];
    for (const [domain, mates] of byDomain)
      if (mates.length >= GROUP_MIN && this.#deps.lists.disposable(domain).listed)
        groups.push(this.#ordinaryFirst(mates));
    return groups;
  }

  /** What is found of a role is said of that role alone. */
  #ordinaryFirst<T extends CheckedRow>(mates: T[]): T[] {
    const at = mates.findIndex(({ address }) => this.#deps.lists.role(address.local) === null);
    if (at > 0) mates.unshift(...mates.splice(at, 1));
    return mates;
  }
}

export function createDisposableRows(deps: DisposableRowsDeps): DisposableRows {
  return new RememberedDisposableRows(deps);
}
