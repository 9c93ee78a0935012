import { setTimeout as wait } from "node:timers/promises";
import type { ChaosDeployment } from "../deployment/deployment.ts";
import type { Member } from "../deployment/member.ts";
import type { Hooks } from "../traffic/hooks.ts";
import type { Kind } from "./faults.ts";
import type { PlannedFault } from "./schedule.ts";
import type { Outage } from "./windows.ts";

/** The deployment that faults act on, and the list of outages that they add to. */
export interface FaultContext {
  deployment: ChaosDeployment;
  hooks: Hooks;
  /** Every outage so far, as it was measured. */
  outages: Outage[];
}

/** Brings one fault about; resolves when the affected part has recovered. */
export type Injury = (fault: PlannedFault, context: FaultContext) => Promise<void>;

/** Notes that `target` is away from now on; the function that comes back notes that it is there again. */
export function openOutage({ outages }: FaultContext, kind: Kind, target: string): () => void {
  const outage: Outage = { kind, target, fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
  outages.push(outage);
  return () => {
    outage.toMs = performance.now();
  };
}

const LOOK_EVERY_MS = 100;
/** Longer than anything is done to a process. */
const FREE_WITHIN_MS = 60_000;

/**
 * Acts on one of the eligible processes that no other fault is acting on; waits while all are busy. Does nothing when
 * no process is eligible, or none gets free in time: the kind is then missing from the closing table.
 * @param pick number of the fault that selects the process
 */
export async function withMember(
  { deployment }: FaultContext,
  pick: number,
  may: (member: Member) => boolean,
  act: (member: Member) => Promise<void>,
): Promise<void> {
  const allowed = deployment.members.filter(may);
  const first = pick % Math.max(1, allowed.length);
  const inTurn = [...allowed.slice(first), ...allowed.slice(0, first)];
  const free = () => inTurn.find(({ busy, pid }) => !busy && pid !== null);
  const untilMs = performance.now() + FREE_WITHIN_MS;
  let member = free();
  while (member === undefined && inTurn.length > 0 && performance.now() < untilMs) {
    await wait(LOOK_EVERY_MS);
    member = free();
  }
  if (member === undefined) return;
  member.busy = true;
  try {
    await act(member);
  } finally {
    member.busy = false;
  }
}
