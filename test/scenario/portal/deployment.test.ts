import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { useBrowser } from "../../support/browser.ts";
import { lookAt, lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";

/** What those who run the deployment see of it in the portal. */
const site = usePortalSite();
const browser = useBrowser();
const { open, signedIn } = portalVisits(site, browser);

describe("the deployment", () => {
  it("is shown to the team that runs it, in either theme and any width", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { teamId, session } = await site.owner();
    await site.deployment.sql`update teams set operator = true where id = ${teamId}`;
    const { page } = await signedIn(session);
    await page.getByRole("link", { name: "Deployment" }).click();
    await page.getByRole("region", { name: "Lists under way" }).getByText("Workers").waitFor();
    await page.getByText("What was seen").first().waitFor();
    const blocking = page.getByRole("region", { name: "Sites that block us" });
    await blocking.waitFor();
    assert.match((await blocking.textContent()) ?? "", /No site blocks us/);
    await lookInThemes(page, "Deployment");
  });

  it("says what is not in order, and what to do, as text", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { teamId, session } = await site.owner();
    await site.deployment.sql`update teams set operator = true where id = ${teamId}`;
    const { page } = await signedIn(session);
    const hostile = "550 <img src=x onerror=alert(1)> go away";
    await page.route("**/v1/deployment", async (route) => {
      const response = await route.fetch();
      const state = await response.json();
      state.pipeline = { ...state.pipeline, workers: 0, tasks_outstanding: 1_234 };
      state.egress.breakers = [
        {
          site: "mx.plain.test",
          provider: null,
          route: "direct",
          domain: "customer.test",
          open_since: "2026-01-01T12:00:00.000Z",
          next_trial_at: "2026-01-01T12:15:00.000Z",
          reply: hostile,
        },
      ];
      state.egress.breakers_open = 1;
      state.egress.reduced_sites = [{ site: "slow.test", connections: 2 }];
      state.egress.sites_reduced = 1;
      await route.fulfill({ response, json: state });
    });
    await page.getByRole("link", { name: "Deployment" }).click();
    await page.getByText("Tasks wait and no bulk process takes them").waitFor();
    await page.getByRole("cell", { name: hostile }).waitFor();
    await page.getByRole("row").filter({ hasText: "slow.test" }).getByRole("cell", { name: "2" }).waitFor();
    await lookAt(page, "Deployment with faults");
    // The page looks again by itself, also while the service is stopped.
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("tells a member of that team who sees it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session, teamId } = await site.owner();
    await site.deployment.sql`update teams set operator = true where id = ${teamId}`;
    const member = await site.member(session, newPerson(), "member");
    const page = await open({ session: member, path: "/deployment" });
    await page.getByText("Admins and owners of the team see the state").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });

  it("is hidden from every other team", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    if ((await page.getByRole("link", { name: "Deployment" }).count()) > 0) throw new Error("it is offered");
    await page.goto(`${site.url}/deployment`);
    await page.getByText("Only the team that runs the deployment sees its state.").waitFor();
  });

  it("is not offered to a member of the team that runs it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session, teamId } = await site.owner();
    await site.deployment.sql`update teams set operator = true where id = ${teamId}`;
    const { page } = await signedIn(await site.member(session, newPerson(), "member"));
    await page.getByRole("link", { name: "Settings" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "Deployment" }).count(), 0);
  });
});
