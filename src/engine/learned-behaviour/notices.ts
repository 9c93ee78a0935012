import type { BehaviourSuspicion } from "./authority.ts";
import type { BehaviourEvent } from "./known-behaviours.ts";

/** Log lines about learned behaviour, for the operator. */
export function behaviourNotice({ site, habit, isLearned: formed, basis }: BehaviourEvent): string {
  const again = "one check in twenty asks all the same, to notice when that ends";
  if (!formed)
    return habit === "accepts_all"
      ? `${site} does not accept everybody any more: what it answers counts again.`
      : `${site} does not refuse everybody any more: what it answers counts again.`;
  const how = basis === 0 ? "as another process found" : null;
  if (habit === "accepts_all")
    return (
      `${site} accepts everybody (${how ?? `strangers of ${basis} domains were accepted, none was refused`}): its answers tell nothing, ` +
      `addresses there are unknown/provider_unverifiable; ${again}.`
    );
  return (
    `${site} refuses everybody (${how ?? `${basis} addresses in a row, and postmaster too, which every server must accept`}): ` +
    `nobody there is called invalid, addresses are unknown/provider_unverifiable; ${again}.`
  );
}

/** The notice to the operator about a named provider, for which nothing is learned automatically. */
export function suspicionNotice({ provider, habit, basis }: BehaviourSuspicion): string {
  const seen =
    habit === "accepts_all"
      ? `strangers of ${basis} domains were accepted at ${provider} and none was refused`
      : `${basis} addresses in a row were refused at ${provider}, and postmaster too`;
  return (
    `${seen}. Nothing changes by itself, as its customers could bring that about for each other: if it is true of all of ` +
    `them, give ${provider} the habit ${habit} in your shaping.`
  );
}
