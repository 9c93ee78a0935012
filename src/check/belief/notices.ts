import type { BeliefEvent } from "./authority.ts";

/** What the operator is told of beliefs, in words. */
export function beliefNotice({ site, habit, formed, basis }: BeliefEvent): string {
  const again = "one check in twenty asks all the same, to notice when that ends";
  if (!formed)
    return habit === "accepts_all"
      ? `${site} does not accept everybody any more: what it answers counts again.`
      : `${site} does not refuse everybody any more: what it answers counts again.`;
  const how = basis === 0 ? "as another process found" : null;
  if (habit === "accepts_all")
    return (
      `${site} accepts everybody (${how ?? `strangers of ${basis} domains were asked`}): its answers tell nothing, ` +
      `addresses there are unknown/provider_unverifiable; ${again}.`
    );
  return (
    `${site} refuses everybody (${how ?? `${basis} addresses in a row, and postmaster too, which every server must accept`}): ` +
    `nobody there is called invalid, addresses are unknown/provider_unverifiable; ${again}.`
  );
}
