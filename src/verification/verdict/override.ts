import { type Evidence, evidenceBut } from "../evidence.ts";

/** What `checks.disposable.source` says of a domain that the team, or the operator for all, calls disposable. */
const OVERRIDE_SOURCE = "override";

/**
 * The evidence for a team whose override covers the domain: listed, hence not probed. A copy: the evidence itself is shared
 * by all teams, and no team's opinion gets into it.
 */
export function withOverride(evidence: Evidence): Evidence {
  return evidenceBut(evidence, { disposable: { listed: true, source: OVERRIDE_SOURCE }, smtp: null });
}
