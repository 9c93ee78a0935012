import { LIMITS } from "../../../config/limits/limits.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import { localSignals, nameSignals } from "../../../verification/verdict/reputation.ts";
import type { Reason } from "../../../verification/verdict/table.ts";
import { decide, evidenceLifetimeS } from "../../../verification/verdict/verdict.ts";
import type { InFlightChecksDeps } from "../checks/in-flight-checks.ts";

/** Reasons that apply to one egress alone: another of our addresses or networks may get another result. */
const ONE_EGRESS_REASONS: ReadonlySet<Reason> = new Set(["our_network", "sender_blocked"]);

const NOT_KEPT = { ttlS: 0, shared: false };

type Retention = ReturnType<InFlightChecksDeps["keep"]>;

/** A decision about evidence, with the traits of the address that it depends on besides. */
interface Decided {
  /** The domain whose `names` were compared last. */
  domain: string;
  readonly names: readonly string[];
  readonly signals: readonly string[];
  readonly scope: Scope;
  readonly kept: Retention;
  /** The decision before it about the same evidence, for addresses with other traits; null: none. */
  before: Decided | null;
}

/** Whether the decision holds for another address with the same evidence; notes the domain of that address if it does. */
function holdsFor(last: Decided, scope: Scope, signals: readonly string[], address: ParsedAddress): boolean {
  if (last.signals !== signals || last.scope !== scope) return false;
  if (last.domain === address.domain) return true;
  if (last.names !== nameSignals(address)) return false;
  last.domain = address.domain;
  return true;
}

/**
 * The retention of finished checks, from the answer on a tier that sees all of their evidence. Our own failures stay in
 * this process, and checks cut short by one of our bounds are not kept at all.
 *
 * The latency and the text of a reply decide nothing. So the decision is made once for all addresses of the same facts and
 * finding, also of other domains. Otherwise it costs 0.7 us each, and 0.7 KB for the collector, of which a fifth lives
 * until the heap is marked.
 */
export function createRetention(overridesS: Partial<Record<Reason, number>>): InFlightChecksDeps["keep"] {
  /** By the evidence that all entries with the same facts and finding have in common. */
  const decided = new WeakMap<Evidence, Decided>();
  return (scope, address, evidence) => {
    const by = evidence.common();
    const signals = localSignals(address.local);
    const last = decided.get(by) ?? null;
    for (let one = last; one !== null; one = one.before)
      if (holdsFor(one, scope, signals, address)) return one.kept;
    const kept = retentionOf(overridesS, scope, address, evidence);
    const names = nameSignals(address);
    if (last !== null) last.before = null;
    decided.set(by, { domain: address.domain, names, signals, scope, kept, before: last });
    return kept;
  };
}

function retentionOf(
  overridesS: Partial<Record<Reason, number>>,
  scope: Scope,
  address: ParsedAddress,
  evidence: Evidence,
): Retention {
  const decision = decide({
    address,
    evidence,
    failure: null,
    probing: scope === "probed",
    blocked: false,
  });
  const { reason, fault } = decision;
  if (reason === "timeout" && fault === "our_network") return NOT_KEPT;
  // Accepted, but the catch-all probe was not sent: by a bound of ours, or because the thread ended. The next check sends
  // it.
  if (evidence.smtp?.class === "accepted" && evidence.smtp.catchAll === "not_probed") return NOT_KEPT;
  const { rule, retryAfterS } = evidence.smtp ?? {};
  const wantedS = evidenceLifetimeS(decision, evidence.mx.ttlS, overridesS);
  // Other evidence about the domain is renewed as early as if nothing had been certain.
  const isDnsError = evidence.mx.status === "dns_error";
  const lifeS = isDnsError
    ? Math.min(wantedS, evidenceLifetimeS({ row: "dns_error" }, 0, overridesS))
    : wantedS;
  // No server was asked: the answer is valid until a probe is allowed again.
  if (rule === "breaker_open") return { ttlS: Math.min(lifeS, retryAfterS ?? 0), shared: false };
  // Learnt by this process, and unlearnt sooner than it is forgotten.
  if (rule?.startsWith("belief."))
    return { ttlS: Math.min(lifeS, LIMITS.learnedBehaviour.answerKeptS), shared: false };
  const shared =
    !ONE_EGRESS_REASONS.has(reason) && fault !== "our_network" && evidence.mx.fault !== "our_network";
  return { ttlS: lifeS, shared };
}
