import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** The usage of many days in the portal, as charts and as a table. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);

/** A team that used every day of the last year. */
async function busyTeam(): Promise<string> {
  const { session, teamId } = await site.owner();
  await site.deployment.sql`
    insert into usage_days (team_id, day, single, bulk, cached, valid, invalid, risky, unknown)
    select ${teamId}, (now() at time zone 'UTC')::date - i, 40, 60, 10, 50, 25, 15, 10 from generate_series(0, 364) as i`;
  return session;
}

const chart = (page: Page, name: string) => page.getByRole("figure", { name });
/** How many parts of bars are drawn. */
const parts = (page: Page, name: string) => chart(page, name).locator("path.recharts-rectangle");

describe("the charts of the usage", () => {
  it("show each day, or each week of a year, by verdict and by way", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const page = await visits.open({ session: await busyTeam(), path: "/usage" });
    await until("30 days of 4 verdicts", async () => (await parts(page, "Verdicts by day").count()) === 120);
    assert.equal(await parts(page, "Single and in lists by day").count(), 90);
    await page.getByLabel("Days").selectOption("365");
    await until("53 weeks", async () => (await parts(page, "Verdicts by week").count()) === 212);
    await until("365 days", async () => (await page.getByRole("row").count()) === 366);
  });

  it("are gone through by keyboard", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const page = await visits.open({ session: await busyTeam(), path: "/usage" });
    const verdicts = chart(page, "Verdicts by day");
    await verdicts.getByRole("application").focus();
    await page.keyboard.press("ArrowRight");
    await verdicts.locator(".recharts-tooltip-wrapper").getByText("Invalid : 25").waitFor();
  });

  it("are not there where nothing was used", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/usage" });
    await page.getByText("Day (UTC)").waitFor();
    assert.equal(await page.getByRole("figure").count(), 0);
  });

  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    await visits.lookInAll({ session: await busyTeam(), path: "/usage" }, "usage-charts", async (page) => {
      await until("30 days", async () => (await parts(page, "Verdicts by day").count()) === 120);
    });
  });
});
