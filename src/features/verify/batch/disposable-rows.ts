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
  lists: Pick<Lists, "role">;
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
}

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
}

export function createDisposableRows(deps: DisposableRowsDeps): DisposableRows {
  return new RememberedDisposableRows(deps);
}
