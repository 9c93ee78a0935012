import type { Plan } from "../../api/plans.ts";
import { Button } from "../../components/button.tsx";
import { TableScroll } from "../../components/tables/table-scroll.tsx";
import { INTERVALS } from "../../words/billing.ts";
import { grouped } from "../../words/numbers.ts";
import { TIERS } from "../../words/tiers.ts";
import type { Interval } from "./subscribe.ts";

const MB = 1_000_000;
const GB = 1_000 * MB;

/** A size of a list, as it is in the table of tiers: whole mega- or gigabytes. */
function sizeOf(bytes: number): string {
  if (bytes === 0) return "no lists";
  return bytes >= GB ? `${grouped(bytes / GB)} GB` : `${grouped(bytes / MB)} MB`;
}

const yesOrNo = (is: boolean) => (is ? "yes" : "no");

const ROWS: readonly { title: string; of(plan: Plan): string }[] = [
  { title: "Units a day", of: (plan) => grouped(plan.daily_quota) },
  { title: "Single checks a second", of: (plan) => grouped(plan.rate_per_s) },
  { title: "Largest list", of: (plan) => sizeOf(plan.bulk_bytes) },
  { title: "Mail servers are asked", of: (plan) => yesOrNo(plan.probing) },
  { title: "Fresh checks, past the cache", of: (plan) => yesOrNo(plan.refresh) },
  { title: "Webhooks", of: (plan) => yesOrNo(plan.webhooks) },
  { title: "Usage history", of: (plan) => `${grouped(plan.history_days)} days` },
];

interface Props {
  plans: readonly Plan[];
  /** The team's. */
  tier: Plan["tier"];
  /** null: nothing can be bought now, or not by this member. */
  buy: { busy: boolean; choose(plan: Plan, interval: Interval): void } | null;
}

/** The plans side by side. */
export function PlanTable({ plans, tier, buy }: Props) {
  return (
    <TableScroll label="Plans">
      <thead>
        <tr>
          <td />
          {plans.map((plan) => (
            <th scope="col" key={plan.tier} className="number">
              {TIERS[plan.tier]} {plan.tier === tier && <span className="badge valid">yours</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ROWS.map(({ title, of }) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            {plans.map((plan) => (
              <td key={plan.tier} className="number nowrap">
                {of(plan)}
              </td>
            ))}
          </tr>
        ))}
        {buy !== null && (
          <tr>
            <th scope="row">Subscribe</th>
            {plans.map((plan) => (
              <td key={plan.tier} className="number nowrap">
                <span className="stack">
                  {plan.intervals.map((interval) => (
                    <Button key={interval} busy={buy.busy} onClick={() => buy.choose(plan, interval)}>
                      Pay {INTERVALS[interval]}
                      <span className="visually-hidden"> for {TIERS[plan.tier]}</span>
                    </Button>
                  ))}
                  {plan.tier === "enterprise" && "by arrangement"}
                </span>
              </td>
            ))}
          </tr>
        )}
      </tbody>
    </TableScroll>
  );
}
