import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, dataOf } from "../../api/client.ts";
import { useLimits } from "../../api/plans.ts";
import { useHasRole } from "../../api/session.ts";
import { pageQuery, usePages } from "../../api/use-pages.ts";
import { BASE_PATH } from "../../base-path.ts";
import { ConfirmDialog } from "../../components/confirm-dialog.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { usePlanName } from "../../components/plan-limits.tsx";
import { Secret } from "../../components/secret.tsx";
import { Paged } from "../../components/tables/paged.tsx";
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

const makeSecrets = () => dataOf(api.POST("/v1/team/webhook-secret"));

/** The team's secrets, which sign events to the webhook URLs of single lists. */
function TeamSecrets() {
  const [made, setMade] = useState<Awaited<ReturnType<typeof makeSecrets>> | null>(null);
  return (
    <section className="card" aria-labelledby="team-secrets">
      <h2 id="team-secrets">Signing secrets of the team</h2>
      <p className="muted">
        A program may give a list a <code>webhook_url</code> of its own. What goes there is signed: for live
        lists with one secret, for those of test keys with another.
      </p>
      <div className="row">
        <ConfirmDialog
          trigger="Make or replace them"
          title="Make new signing secrets?"
          action="Make them"
          onConfirm={async () => setMade(await makeSecrets())}
        >
          <p>Both secrets that there are end at once, also for what waits to be sent.</p>
        </ConfirmDialog>
      </div>
      {made !== null && (
        <>
          <h3>For live lists</h3>
          <Secret value={made.secret} of="the secret for live lists" />
          <h3>For lists of test keys; do not give it to a production receiver</h3>
          <Secret value={made.test_secret} of="the secret for lists of test keys" />
        </>
      )}
    </section>
  );
}

/** The webhooks of the team. */
export function WebhooksPage() {
  const planName = usePlanName();
  const hasWebhooks = useLimits()?.webhooks !== false;
  const isAdmin = useHasRole("admin");
  // The API refuses to make them in a plan without webhooks. Those from a plan before stay, to be deleted.
  const mayMake = isAdmin && hasWebhooks;
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
      {!hasWebhooks && (
        <Notice>
          Your plan ({planName}) has no webhooks. <Link to="/billing">See the plans.</Link>
        </Notice>
      )}
      {!isAdmin && <Notice>Admins and owners of the team make and change webhooks; you are a member.</Notice>}
      {mayMake && <NewWebhook />}
      <WebhookList />
      {mayMake && <TeamSecrets />}
    </>
  );
}
