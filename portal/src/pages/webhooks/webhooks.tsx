import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useOwnPlan } from "../../api/plans.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { BASE_PATH } from "../../base-path.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { Secret } from "../../components/secret.tsx";
import { Paged } from "../../components/tables/paged.tsx";
import { TIERS } from "../../words/tiers.ts";
import { NewWebhook } from "./new-webhook.tsx";
import { WebhookCard } from "./webhook-card.tsx";
import "../../styles/webhooks.css";

const readPage = (cursor: string | null) =>
  dataOf(api.GET("/v1/webhooks", { params: { query: pageQuery(cursor) } }));

function WebhookList() {
  const webhooks = usePages(["webhooks"], readPage);
  const empty = (
    <section className="card" aria-label="Webhooks of the team">
      <p className="muted">No webhooks yet: nothing is sent anywhere.</p>
    </section>
  );
  return (
    <Paged pages={webhooks} empty={empty} more="Older ones">
      {(rows) => rows.map((webhook) => <WebhookCard key={webhook.id} webhook={webhook} />)}
    </Paged>
  );
}

/** The team's secret, which signs events to the webhook URLs of single lists. */
function TeamSecret() {
  const [secret, setSecret] = useState<string | null>(null);
  async function rotate(): Promise<void> {
    const made = await dataOf(api.POST("/v1/team/webhook-secret"));
    setSecret(made.secret);
  }
  return (
    <section className="card" aria-labelledby="team-secret">
      <h2 id="team-secret">Signing secret of the team</h2>
      <p className="muted">
        A program may give a list a <code>webhook_url</code> of its own. What goes there is signed with this
        secret.
      </p>
      <div className="row">
        <ConfirmDialog
          trigger="Make or replace it"
          title="Make a new signing secret?"
          action="Make it"
          onConfirm={rotate}
        >
          <p>If there is one already, it ends at once, also for what waits to be sent.</p>
        </ConfirmDialog>
      </div>
      {secret !== null && <Secret value={secret} of="the team's signing secret" />}
    </section>
  );
}

/** The webhooks of the team. */
export function WebhooksPage() {
  const plan = useOwnPlan();
  const isAdmin = useHasRole("admin");
  // The API refuses to make them in a plan without webhooks. Those from a plan before stay, to be deleted.
  const mayMake = isAdmin && plan?.webhooks !== false;
  return (
    <>
      <PageHead title="Webhooks">
        <span className="row">
          <a href={`${BASE_PATH}/docs/api#webhooks`}>How to receive them</a>
          <a href={`${BASE_PATH}/docs/reference`}>API reference</a>
        </span>
      </PageHead>
      <p className="muted">
        When something happens, a signed request goes to your server. What does not arrive is sent again for
        about a day.
      </p>
      {plan?.webhooks === false && (
        <Notice>
          Your plan ({TIERS[plan.tier]}) has no webhooks. <Link to="/billing">See the plans.</Link>
        </Notice>
      )}
      {!isAdmin && <Notice>Admins and owners of the team make and change webhooks; you are a member.</Notice>}
      {mayMake && <NewWebhook />}
      <WebhookList />
      {mayMake && <TeamSecret />}
    </>
  );
}
