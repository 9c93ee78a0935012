import type { ChaosDeployment } from "../deployment/deployment.ts";
import type { Member } from "../deployment/member.ts";
import type { Hooks } from "../traffic/hooks.ts";
import type { Kind } from "./faults.ts";
import type { PlannedFault } from "./schedule.ts";
import type { Outage } from "./windows.ts";

/** What the faults of a run work on. */
export interface Theatre {
  deployment: ChaosDeployment;
  hooks: Hooks;
  /** Every outage so far, as it was measured. */
  outages: Outage[];
}

/** Brings one fault about; resolves when what it befell is there again. */
export type Injury = (fault: PlannedFault, theatre: Theatre) => Promise<void>;

/** Notes that `target` is away from now on; the function that comes back notes that it is there again. */
export function openOutage({ outages }: Theatre, kind: Kind, target: string): () => void {
  const outage: Outage = { kind, target, fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
  outages.push(outage);
  return () => {
    outage.toMs = performance.now();
  };
}

/**
 * Does something to one of the processes that may be chosen, nothing else being done to it; to none when all are busy.
 * @param pick of the fault: chooses which
 */
export async function withMember(
  { deployment }: Theatre,
  pick: number,
  may: (member: Member) => boolean,
  act: (member: Member) => Promise<void>,
): Promise<void> {
  const allowed = deployment.members.filter(may);
  const first = pick % Math.max(1, allowed.length);
  const inTurn = [...allowed.slice(first), ...allowed.slice(0, first)];
  const member = inTurn.find(({ busy, pid }) => !busy && pid !== null);
  if (member === undefined) return;
  member.busy = true;
  try {
    await act(member);
  } finally {
    member.busy = false;
  }
}
