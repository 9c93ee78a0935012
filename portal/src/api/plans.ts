import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";
import { useIdentity } from "./session.ts";

const readPlans = () => dataOf(api.GET("/v1/plans"));
export type Plan = Awaited<ReturnType<typeof readPlans>>["data"][number];

/** Every plan; they stay the same while a deployment runs. */
export const plansQuery = queryOptions({
  queryKey: ["plans"],
  queryFn: readPlans,
  staleTime: Number.POSITIVE_INFINITY,
});

/** What the team's plan holds; null: not known yet. */
export function useOwnPlan(): Plan | null {
  const { team } = useIdentity();
  const { data } = useQuery(plansQuery);
  return data?.data.find(({ tier }) => tier === team.tier) ?? null;
}
