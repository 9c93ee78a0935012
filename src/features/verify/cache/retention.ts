import { LIMITS } from "../../../config/limits/limits.ts";
import type { ParsedAddress } from "../../../verification/address/address.ts";
import type { Evidence, Scope } from "../../../verification/evidence.ts";
import { localSignals, nameSignals } from "../../../verification/verdict/reputation.ts";
import type { Reason } from "../../../verification/verdict/table.ts";
import { decide, evidenceLifetimeS } from "../../../verification/verdict/verdict.ts";
import type { InFlightChecksDeps } from "../checks/in-flight-checks.ts";

/** Reasons that are true of one egress alone: what another address or network of ours would meet is not known. */
const ONE_EGRESS_REASONS: ReadonlySet<Reason> = new Set(["our_network", "sender_blocked"]);

const NOT_KEPT = { ttlS: 0, shared: false };

type Retention = ReturnType<InFlightChecksDeps["keep"]>;

/** A decision about evidence, with the traits of the address that it depends on besides. */
interface Decided {
  /** The last one of which `names` is known. */
  domain: string;
  readonly names: readonly string[];
  readonly signals: readonly string[];
  readonly scope: Scope;
  readonly kept: Retention;
  /** What was decided before that, of addresses that say something else of themselves. */
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
 * How long finished checks are kept: by what they are answered with on a tier that sees all of their evidence. What
 * failed for reasons of our own stays in this process, and a bound that we ran into is not kept at all.
 *
 * Nothing is decided by the latency or by the words of a reply: it is decided once for all addresses of the same facts and
 * finding, also of other domains. Else it is 0.7 us each, and 0.7 KB for the collector, of which a fifth lives until the heap
 * is marked.
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
  // Accepted, but the stranger was never asked: a bound of ours, or a thread that went. The next one asks.
  if (evidence.smtp?.class === "accepted" && evidence.smtp.catchAll === "not_probed") return NOT_KEPT;
  const { rule, retryAfterS } = evidence.smtp ?? {};
  const wantedS = evidenceLifetimeS(decision, evidence.mx.ttlS, overridesS);
  // What is said of the domain besides is asked again as soon as if nothing had been certain.
  const isDnsError = evidence.mx.status === "dns_error";
  const lifeS = isDnsError
    ? Math.min(wantedS, evidenceLifetimeS({ row: "dns_error" }, 0, overridesS))
    : wantedS;
  // No server was asked: this holds until one may be asked again.
  if (rule === "breaker_open") return { ttlS: Math.min(lifeS, retryAfterS ?? 0), shared: false };
  // Learnt by this process, and unlearnt sooner than it is forgotten.
  if (rule?.startsWith("belief."))
    return { ttlS: Math.min(lifeS, LIMITS.learnedBehaviour.answerKeptS), shared: false };
  const shared =
    !ONE_EGRESS_REASONS.has(reason) && fault !== "our_network" && evidence.mx.fault !== "our_network";
  return { ttlS: lifeS, shared };
}
