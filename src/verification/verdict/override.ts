import { type Evidence, evidenceBut } from "../evidence.ts";

/** `checks.disposable.source` of a domain that the team's or the operator's overrides mark as disposable. */
const OVERRIDE_SOURCE = "override";

/**
 * The evidence for a team whose override covers the domain: listed, hence not probed. A copy: the evidence itself is shared
 * by all teams, and no team's opinion gets into it.
 */
export function withOverride(evidence: Evidence): Evidence {
  return evidenceBut(evidence, { disposable: { listed: true, source: OVERRIDE_SOURCE }, smtp: null });
}
