import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { identityQuery } from "../../api/session.ts";
import { billingQuery, isManaged } from "./subscribe.ts";

const EVERY_MS = 2_000;
const PATIENCE_MS = 60_000;

/**
 * A payment just made: Stripe has not reported it yet, not even after a minute, or has while the page waited. "there": it was reported
 * before the page was opened, or nothing was paid now.
 */
export type Booking = "none" | "waiting" | "late" | "booked" | "there";

/** The team's subscription. After a payment it is read again and again, with the team's plan, until both are there. */
export function useBilling() {
  const navigate = useNavigate();
  // Stripe's page leads here with it. It says only that looking again is worth it: any link can lead to this address.
  const isBack = useLocation({ select: ({ search }) => "checkout" in search });
  const [booking, setBooking] = useState<Booking>(isBack ? "waiting" : "none");
  const refetchInterval = booking === "waiting" ? EVERY_MS : false;
  const { data: identity } = useQuery({ ...identityQuery, refetchInterval });
  const billing = useQuery({ ...billingQuery, refetchInterval });
  const { data } = billing;
  const isRead = data !== undefined && identity !== undefined;
  const isThere = isRead && isManaged(data) && data.tier === identity.team.tier;
  const hasWaited = useRef(false);

  useEffect(() => {
    if (booking !== "waiting") return;
    const timer = setTimeout(() => setBooking("late"), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [booking]);
  useEffect(() => {
    if (!isRead || (booking !== "waiting" && booking !== "late")) return;
    if (!isThere) {
      hasWaited.current = true;
      return;
    }
    setBooking(hasWaited.current ? "booked" : "there");
    void navigate({ to: "/billing", replace: true });
  }, [isRead, isThere, booking, navigate]);

  return { billing, booking };
}
