import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Plan, plansQuery } from "../../api/plans.ts";
import { useHasRole } from "../../api/session.ts";
import { Button } from "../../components/button.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { ENDED, IN_TROUBLE, INTERVALS, SUBSCRIPTIONS } from "../../words/billing.ts";
import { TIERS } from "../../words/tiers.ts";
import { UNIT_HINT } from "../../words/units.ts";
import { PlanTable } from "./plan-table.tsx";
import { readBilling, type Subscription, useSubscribe } from "./subscribe.ts";

const isManaged = ({ status }: Subscription) => status !== null && !ENDED.has(status);

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

/** Actions for the plan, and who may take them. */
function Offer({ subscription, plans }: { subscription: Subscription; plans: readonly Plan[] }) {
  const isAdmin = useHasRole("admin");
  const subscribe = useSubscribe();
  const sold = plans.find(({ intervals }) => intervals.length > 0);
  const [interval] = sold?.intervals ?? [];
  const { tier, status } = subscription;
  const managed = isManaged(subscription);
  return (
    <>
      <section className="card" aria-labelledby="yours">
        <h2 id="yours">Your plan</h2>
        {status !== null && IN_TROUBLE.has(status) && (
          <Notice kind="failure">{SUBSCRIPTIONS[status] ?? status}</Notice>
        )}
        <Standing of={subscription} />
        {isAdmin && managed && sold !== undefined && interval !== undefined && (
          <div className="row">
            <Button
              look="primary"
              busy={subscribe.isPending}
              onClick={() => subscribe.mutate({ tier: sold.tier, interval })}
            >
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
        <Failure error={subscribe.error} />
        {sold === undefined && (
          <Notice>
            Nothing is sold in this deployment: billing is not set up. Its operator gives a team another plan.
          </Notice>
        )}
        {sold !== undefined && !isAdmin && (
          <Notice>Admins and owners of the team subscribe and pay; you are a member.</Notice>
        )}
        {tier === "enterprise" && !managed && (
          <p className="muted">Yours is the largest plan: there is nothing to buy.</p>
        )}
      </section>
      <section className="card" aria-labelledby="plans">
        <h2 id="plans">Plans</h2>
        {sold !== undefined && (
          <p>
            The price of a plan is shown on a page of Stripe's, before you pay. Enterprise is by arrangement
            with the operator of this service.
          </p>
        )}
        <PlanTable
          plans={plans}
          tier={tier}
          buy={
            isAdmin && sold !== undefined && !managed && tier !== "enterprise"
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
  const billing = useQuery({ queryKey: ["billing"], queryFn: readBilling });
  return (
    <>
      <PageHead title="Billing" />
      {(plans.isPending || billing.isPending) && <Loading />}
      <Failure error={plans.error ?? billing.error} />
      {plans.data !== undefined && billing.data !== undefined && (
        <Offer subscription={billing.data} plans={plans.data.data} />
      )}
    </>
  );
}
