import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Plan, plansQuery } from "../../api/plans.ts";
import { useHasRole } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure, Notice, QueryFailure } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { ENDED, IN_TROUBLE, INTERVALS, SUBSCRIPTIONS } from "../../words/billing.ts";
import { TIERS } from "../../words/tiers.ts";
import { UNIT_HINT } from "../../words/units.ts";
import { PlanTable } from "./plan-table.tsx";
import { isManaged, type Subscription, useManage, useSubscribe } from "./subscribe.ts";
import { type Booking, useBilling } from "./use-booking.ts";

/** The state of the subscription. */
function Standing({ of: { tier, ...subscription } }: { of: Subscription }) {
  const { status, interval, current_period_end: end, cancel_at_period_end: ends } = subscription;
  return (
    <dl className="facts">
      <dt>Plan</dt>
      <dd>
        <strong>{TIERS[tier]}</strong>
      </dd>
      <dt>Subscription</dt>
      <dd>{status === null ? "none" : (SUBSCRIPTIONS[status] ?? status)}</dd>
      {interval !== null && (
        <>
          <dt>Paid</dt>
          <dd>{INTERVALS[interval]}</dd>
        </>
      )}
      {end !== null && status !== null && !ENDED.has(status) && (
        <>
          <dt>{ends ? "Ends" : "Renews"}</dt>
          <dd>
            <Time at={end} />
            {ends && "; it is cancelled, and not renewed"}
          </dd>
        </>
      )}
    </dl>
  );
}

/** What became of a payment just made. */
function BookingNotice({ of: booking }: { of: Booking }) {
  if (booking === "none") return null;
  if (booking === "there") return <Notice kind="success">Your plan is in force.</Notice>;
  if (booking === "booked") return <Notice kind="success">Your payment is booked. Thank you.</Notice>;
  return (
    <Notice>
      {booking === "waiting"
        ? "Your payment is being booked: this page shows the plan as soon as Stripe has reported it."
        : "Stripe has not reported your payment yet. Once it does, the plan follows by itself: look again in some " +
          "minutes, before you pay again."}
    </Notice>
  );
}

interface OfferProps {
  subscription: Subscription;
  plans: readonly Plan[];
  booking: Booking;
}

/** Actions for the plan, and who may take them. */
function Offer({ subscription, plans, booking }: OfferProps) {
  const isAdmin = useHasRole("admin");
  const subscribe = useSubscribe();
  const manage = useManage();
  const isSelling = plans.some(({ intervals }) => intervals.length > 0);
  const { tier, status } = subscription;
  const managed = isManaged(subscription);
  const mayBuy = isAdmin && isSelling && !managed && booking !== "waiting" && tier !== "enterprise";
  return (
    <>
      <section className="card" aria-labelledby="yours">
        <h2 id="yours">Your plan</h2>
        <BookingNotice of={booking} />
        {status !== null && IN_TROUBLE.has(status) && (
          <Notice kind="failure">{SUBSCRIPTIONS[status] ?? status}</Notice>
        )}
        <Standing of={subscription} />
        {isAdmin && managed && (
          <div className="row">
            <Button look="primary" busy={manage.isPending} onClick={() => manage.mutate()}>
              Manage the subscription
            </Button>
            <span className="muted">
              Change the plan, the card or the billing address, see invoices, or cancel.
            </span>
          </div>
        )}
        <p>
          <Link to="/usage">See what was used</Link>
        </p>
        <Failure error={subscribe.error ?? manage.error} />
        {!isSelling && (
          <Notice>
            {managed
              ? "No plan is for sale here now. Yours goes on until it is cancelled."
              : "Nothing is sold in this deployment: billing is not set up. Its operator gives a team another plan."}
          </Notice>
        )}
        {isSelling && !isAdmin && (
          <Notice>Admins and owners of the team subscribe and pay; you are a member.</Notice>
        )}
        {tier === "enterprise" && !managed && (
          <p className="muted">Yours is the largest plan: there is nothing to buy.</p>
        )}
      </section>
      <section className="card" aria-labelledby="plans">
        <h2 id="plans">Plans</h2>
        {isSelling && (
          <p>
            The price of a plan is shown on a page of Stripe's, before you pay. Enterprise is by arrangement
            with the operator of this service.
          </p>
        )}
        <PlanTable
          plans={plans}
          tier={tier}
          buy={
            mayBuy
              ? {
                  busy: subscribe.isPending,
                  choose: (plan, every) => subscribe.mutate({ tier: plan.tier, interval: every }),
                }
              : null
          }
        />
        <p className="muted">{UNIT_HINT} Where no mail server is asked, no address is proven valid.</p>
      </section>
    </>
  );
}

/** The team's plan, and the plans that it can buy. */
export function BillingPage() {
  const plans = useQuery(plansQuery);
  const { billing, booking } = useBilling();
  return (
    <>
      <PageHead title="Billing" />
      {(plans.isPending || billing.isPending) && <Loading />}
      <QueryFailure of={plans} />
      <QueryFailure of={billing} />
      {plans.data !== undefined && billing.data !== undefined && (
        <Offer subscription={billing.data} plans={plans.data.data} booking={booking} />
      )}
    </>
  );
}
