import { queryOptions, useMutation } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";
import type { Plan } from "../../api/plans.ts";
import { ENDED } from "../../words/billing.ts";

export type Interval = Plan["intervals"][number];
type Tier = Plan["tier"];

const readBilling = () => dataOf(api.GET("/v1/billing"));
export type Subscription = Awaited<ReturnType<typeof readBilling>>;
export const billingQuery = queryOptions({ queryKey: ["billing"], queryFn: readBilling });

/** Whether there is a subscription that can be changed or ended. */
export const isManaged = ({ status }: Subscription): boolean => status !== null && !ENDED.has(status);

/** Plans for sale. */
type SoldTier = Extract<Tier, "starter" | "pro" | "pro_plus">;
const isSold = (tier: Tier): tier is SoldTier => tier !== "free" && tier !== "enterprise";

/** Leaves the portal for a page of the payment provider's. @throws Error unless it is a secure one */
function leaveTo(url: string): void {
  if (!URL.canParse(url) || new URL(url).protocol !== "https:")
    throw new Error("The service named no secure page to pay at. Tell its operator.");
  location.assign(url);
}

/** Opens the page that takes the payment; with a subscription, the page that manages it. */
export function useSubscribe() {
  return useMutation({
    async mutationFn({ tier, interval }: { tier: Tier; interval: Interval }) {
      if (!isSold(tier)) throw new Error("This plan is not sold here.");
      const body = { tier, interval };
      const { checkout_url: url } = await dataOf(
        api.POST("/v1/billing/subscribe", { params: { header: {} }, body }),
      );
      leaveTo(url);
    },
  });
}

/** Opens the page that manages what was bought. It sells nothing, whatever has become of the subscription. */
export function useManage() {
  return useMutation({
    async mutationFn() {
      const { portal_url: url } = await dataOf(api.POST("/v1/billing/portal"));
      leaveTo(url);
    },
  });
}
