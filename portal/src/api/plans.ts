import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";
import { type Identity, useIdentity } from "./session.ts";

const readPlans = () => dataOf(api.GET("/v1/plans"));
export type Plan = Awaited<ReturnType<typeof readPlans>>["data"][number];

/** Every plan. They do not change while a deployment runs. */
export const plansQuery = queryOptions({
  queryKey: ["plans"],
  queryFn: readPlans,
  staleTime: Number.POSITIVE_INFINITY,
});

/**
 * The limits in force for the team, with what the operator has changed for it. undefined: a process of an earlier version has
 * answered, which does not say them; then the service decides.
 */
export const useLimits = (): Identity["limits"] | undefined => useIdentity().limits;

/** Whether the team may have lists. */
export const useHasLists = (): boolean => useLimits()?.bulk_bytes !== 0;
