import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";
import { useIdentity } from "./session.ts";

const readPlans = () => dataOf(api.GET("/v1/plans"));
export type Plan = Awaited<ReturnType<typeof readPlans>>["data"][number];

/** Every plan. They do not change while a deployment runs. */
export const plansQuery = queryOptions({
  queryKey: ["plans"],
  queryFn: readPlans,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The team's plan; null: not known yet. */
export function useOwnPlan(): Plan | null {
  const { team } = useIdentity();
  const { data } = useQuery(plansQuery);
  return data?.data.find(({ tier }) => tier === team.tier) ?? null;
}

/** Whether the team's plan has lists. True as long as the plan is not known: the service decides then. */
export function useHasLists(): boolean {
  return useOwnPlan()?.bulk_bytes !== 0;
}
