import type { Greylist } from "./profile.ts";

export interface RelentingGreylist extends Greylist {
  /** true: hosts with the rule `until_relent` accept from now on; false: as at the start. */
  relent(value: boolean): void;
}

const SEEN_MAX = 100_000;

/** Greylisting without a clock: a server accepts when the test says so, or at the second attempt. */
export function createGreylist(): RelentingGreylist {
  const seen = new Set<string>();
  let relented = false;
  return {
    admits(address, rule) {
      if (rule === "until_relent") return relented;
      if (seen.has(address)) return true;
      if (seen.size < SEEN_MAX) seen.add(address);
      return false;
    },
    relent(value) {
      relented = value;
      if (!value) seen.clear();
    },
  };
}
