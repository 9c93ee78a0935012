import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import { verificationExample } from "../../../src/api/routes/verify.ts";
import { completedJob, queuedJob } from "../../../src/api/schemas/bulk.ts";
import { useBrowser } from "../../support/browser.ts";
import { lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** Pages with answers that the service gives at no time of the tests' choice: suggestions, times to ask again, huge lists. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);

type Verification = typeof verificationExample;

/** Answers verifications by the address. @returns the addresses that were asked about */
async function stubVerify(page: Page, answerTo: (email: string) => Partial<Verification>): Promise<string[]> {
  const asked: string[] = [];
  await page.route("**/v1/verify?*", (route) => {
    const email = new URL(route.request().url()).searchParams.get("email") ?? "";
    asked.push(email);
    // The page tells answers apart by their time.
    const verified_at = new Date(Date.UTC(2026, 0, 1) + asked.length).toISOString();
    return route.fulfill({ json: { ...verificationExample, email, verified_at, ...answerTo(email) } });
  });
  return asked;
}

async function ask(page: Page, email: string): Promise<void> {
  await page.getByLabel("Address").fill(email);
  await page.getByRole("button", { name: "Verify", exact: true }).click();
}

const resultOf = (page: Page) => page.getByRole("region", { name: "Result" });

describe("an answer about one address", () => {
  it("with a suggestion leads to the suggested address in one click", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/verify" });
    const asked = await stubVerify(page, (email) =>
      email === "jane@gmial.com"
        ? { verdict: "invalid", reason: "mailbox_not_found", did_you_mean: "jane@gmail.com" }
        : {},
    );
    await ask(page, "jane@gmial.com");
    await resultOf(page).getByText("Did you mean").waitFor();
    await resultOf(page).getByRole("button", { name: "jane@gmail.com" }).click();
    await resultOf(page).getByRole("heading", { name: "jane@gmail.com" }).waitFor();
    assert.deepEqual(asked, ["jane@gmial.com", "jane@gmail.com"]);
    assert.equal(await page.getByLabel("Address").inputValue(), "jane@gmail.com");
    assert.equal(await resultOf(page).getByText("Did you mean").count(), 0);
    assert.equal(new URL(page.url()).searchParams.get("email"), "jane@gmail.com");
  });

  it("says whose fault a failure is, counts down, and is asked for again once", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ isAltered: true, session, path: "/verify" });
    await page.getByLabel("Address").waitFor();
    const waitS = 600;
    let nowMs = Date.UTC(2026, 0, 1, 12);
    await page.clock.install({ time: nowMs });
    const pass = async (seconds: number) => {
      nowMs += seconds * 1_000;
      await page.clock.fastForward(seconds * 1_000);
    };
    const { smtp } = verificationExample.checks;
    const asked = await stubVerify(page, () => ({
      verdict: "unknown",
      reason: "greylisted",
      retry_at: new Date(nowMs + waitS * 1_000).toISOString(),
      checks: { ...verificationExample.checks, smtp: { ...smtp, ok: false, fault: "their_server" } },
    }));
    await ask(page, "slow@example.com");
    const facts = resultOf(page).locator("dl");
    await facts.getByText("their server's", { exact: true }).waitFor();
    // A page that is slow is some seconds behind.
    await resultOf(page)
      .getByText(/ in (10|9) min /)
      .waitFor();
    await pass(300);
    await resultOf(page)
      .getByText(/ in (5|4) min /)
      .waitFor();
    assert.equal(asked.length, 1);
    await pass(301);
    await until("it is asked again", () => asked.length === 2);
    await resultOf(page)
      .getByText(/ in (10|9) min /)
      .waitFor();
    await pass(601);
    await resultOf(page)
      .getByText(/ in \d+ (min|s) /)
      .waitFor({ state: "detached" });
    assert.equal(asked.length, 2);
    await resultOf(page).getByRole("button", { name: "Ask now" }).click();
    await until("it is asked on demand", () => asked.length === 3);
    assert.deepEqual(new Set(asked), new Set(["slow@example.com"]));
  });
});

type Job = typeof queuedJob;
const MILLIONS = 10_000_000;

/** A large list under way. */
const running: Job = {
  ...queuedJob,
  status: "processing",
  started_at: "2026-01-01T00:00:01.000Z",
  rows: {
    ...queuedJob.rows,
    total: MILLIONS,
    processed: 4_321_987,
    deferred: 1_234_567,
    duplicates: 1_000_000,
  },
  progress: 0.432,
  rows_per_second: 2_345.67,
  eta_seconds: 2_420,
  units: 3_000_000,
  verdicts: { valid: 3_000_000, invalid: 1_000_000, risky: 300_000, unknown: 21_987 },
};
const done: Job = {
  ...completedJob,
  rows: { ...completedJob.rows, total: MILLIONS, processed: MILLIONS, duplicates: 1_000_000 },
  units: 9_000_000,
  verdicts: { valid: 7_000_001, invalid: 1_999_999, risky: 900_000, unknown: 100_000 },
};

const lineOf = (row: number) =>
  `${JSON.stringify({ row, input: `someone${row}@example.com`, duplicate_of: null, ...verificationExample })}\n`;

/** A job of no deployment: its states as they come, its providers, and so many rows of results. */
async function stubJob(page: Page, states: readonly Job[], resultRows = 0): Promise<string[]> {
  const [first] = states as [Job];
  const asked: string[] = [];
  const providers = ["google", "microsoft365", null].map((provider) => ({
    provider,
    rows: 1_440_662,
    verdicts: { valid: 1_000_000, invalid: 333_333, risky: 100_000, unknown: 7_329 },
  }));
  const wait = {
    reason: "greylisted",
    site: null,
    rows: 1_234_567,
    next_attempt_at: "2026-01-01T12:00:00.000Z",
  };
  const answers: Record<string, (route: Route) => Promise<void>> = {
    "": (route) => route.fulfill({ json: first }),
    "/events": (route) =>
      route.fulfill({
        contentType: "text/event-stream",
        body: states
          .map((job, id) => `id: ${id}\nevent: progress\ndata: ${JSON.stringify(job)}\n\n`)
          .join(""),
      }),
    "/providers": (route) => route.fulfill({ json: { data: providers } }),
    "/deferred": (route) => route.fulfill({ json: { data: [wait], rows: wait.rows } }),
    "/results": (route) =>
      route.fulfill({
        contentType: "application/x-ndjson",
        body: Array.from({ length: resultRows }, (_, i) => lineOf(i + 1)).join(""),
      }),
  };
  await page.route(`**/v1/bulk-jobs/${first.id}**`, (route) => {
    const { pathname, search } = new URL(route.request().url());
    const what = pathname.slice(pathname.indexOf(first.id) + first.id.length);
    asked.push(what + search);
    return (answers[what] ?? ((other: Route) => other.abort()))(route);
  });
  return asked;
}

async function openJob(states: readonly Job[], resultRows = 0) {
  const { session } = await site.owner();
  const page = await visits.open({ session, path: "/settings" });
  await page.getByText("New password").waitFor();
  const asked = await stubJob(page, states, resultRows);
  await page.goto(`${site.url}/lists/${states[0]?.id}`);
  return { page, asked };
}

describe("a list of ten million rows", () => {
  it("shows its pace, what is left of it, and new figures as they come", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const later: Job = {
      ...running,
      rows_per_second: 1_200,
      eta_seconds: 59,
      rows: { ...running.rows, processed: 9_999_000 },
    };
    const { page } = await openJob([running, later]);
    const progress = page.getByRole("region", { name: "Progress" });
    await progress.getByText("9,999,000 of 10,000,000 rows").waitFor();
    await progress.getByText("1,200 rows/s · about 59 s left").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await stubJob(page, [running]);
    await page.reload();
    await progress.getByText("4,321,987 of 10,000,000 rows").waitFor();
    await progress.getByText("2,345.7 rows/s · about 40 min left").waitFor();
    // Rows that wait have no pace.
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await stubJob(page, [{ ...running, status: "deferred" }]);
    await page.reload();
    await progress.getByText(/^about 40 min left$/).waitFor();
    await page.getByRole("heading", { name: "1,234,567 rows wait for their mail servers" }).waitFor();
    await page.getByRole("row", { name: /^google 1,440,662 .* 1,000,000 333,333 100,000 7,329$/ }).waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });

  it("is as much for the page as a list of a thousand: numbers grouped, and no row beyond those shown", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const shownRows = 1_000;
    const counts: number[] = [];
    for (const job of [
      done,
      { ...done, rows: { ...done.rows, total: shownRows + 1, processed: shownRows + 1 } },
    ]) {
      const { page, asked } = await openJob([job], shownRows + 1);
      await page.getByText("The first 1,000 are shown").waitFor();
      const progress = page.getByRole("region", { name: "Progress" });
      for (const figure of ["7,000,001", "1,999,999", "9,000,000 units"])
        await progress.getByText(figure, { exact: true }).waitFor();
      const rows = page.getByRole("region", { name: "Results by row" }).getByRole("row");
      await until("all are shown", async () => (await rows.count()) === 1 + shownRows);
      const reads = asked.filter((path) => path.startsWith("/results"));
      assert.deepEqual(reads, [`/results?format=jsonl&limit=${shownRows + 1}`]);
      counts.push(Number(await page.evaluate("document.getElementsByTagName('*').length")));
      if (job === done) await lookInThemes(page, "List of ten million");
    }
    assert.equal(counts[0], counts[1]);
  });
});

describe("the first page", () => {
  it("is used before anything but the session has been answered", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/settings" });
    await page.getByText("New password").waitFor();
    const held: Route[] = [];
    await page.route("**/v1/**", (route) => {
      const { pathname } = new URL(route.request().url());
      return pathname.endsWith("/v1/auth/me") ? route.continue() : void held.push(route);
    });
    await page.goto(`${site.url}/verify`);
    await ask(page, "exists@plain.test");
    await until("the verification is asked for", () =>
      held.some((route) => route.request().url().includes("/v1/verify?")),
    );
    for (const route of held) await route.continue();
    await resultOf(page).getByText("accepted_mailbox").waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
});
