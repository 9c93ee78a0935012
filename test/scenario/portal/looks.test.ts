import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";

/** What other files only use is looked at here: pages without a session, secrets, dialogs, and what roles and plans lack. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);

const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true });

/** In a mailed link. */
const NAMES = "email=colleague%40example.com";

describe("pages without a session", () => {
  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { page } = await browser.visitor();
    for (const [path, title, name] of [
      ["/register", "Make an account", "Register"],
      ["/forgot-password", "Forgot the password?", "Forgot password"],
      [`/confirm-registration#token=t&${NAMES}`, "Confirm your address", "Confirm registration"],
      [`/accept-invite#token=t&${NAMES}&team=Example`, "Accept an invitation", "Accept invite"],
      [`/reset-password#token=t&${NAMES}`, "Choose a new password", "Reset password"],
    ] as const) {
      await page.goto(site.url + path);
      await heading(page, title).waitFor();
      await lookInThemes(page, name);
    }
    // Without a token nothing is asked for.
    await page.goto(`${site.url}/accept-invite`);
    await page.getByText(/needs the whole link/).waitFor();
    await lookInThemes(page, "Accept invite without a token");
  });
});

describe("what is shown once, or asked before it is done", () => {
  it("looks well: a new key, and the dialog that revokes it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/keys" });
    await page.getByLabel("Name").fill("import");
    await page.getByRole("button", { name: "Make the key" }).click();
    await page.locator(".secret").waitFor();
    await lookInThemes(page, "New key");
    const row = page.getByRole("row").filter({ hasText: "import" });
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("alertdialog").waitFor();
    await lookInThemes(page, "Revoke a key");
  });

  it("looks well: the dialog that deletes a team, with what was typed wrong", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/team" });
    await page.getByRole("button", { name: "Delete the team" }).click();
    const dialog = page.getByRole("alertdialog");
    await dialog.getByRole("button", { name: "Delete for good" }).click();
    await dialog.getByRole("alert").waitFor();
    await lookInThemes(page, "Delete the team");
  });
});

describe("what a plan lacks", () => {
  it("looks well where it matters", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner("free");
    const page = await visits.open({ session, path: "/verify" });
    await page.getByText("Your plan (Free) does not ask mail servers").waitFor();
    await lookInThemes(page, "Verify on the free plan");
    await page.goto(`${site.url}/lists/new`);
    await page.getByText("Your plan (Free) has no lists").waitFor();
    await lookInThemes(page, "New list on the free plan");
  });
});

interface RolePage {
  /** In the bar of pages. */
  title: string;
  /** A text that stands there once the page is whole, for that role. */
  shown: { member: string | RegExp; admin: string | RegExp };
  /** Buttons and links of everybody. */
  everybody?: readonly string[];
  /** Those of admins and owners, and of owners alone. */
  admins?: readonly string[];
  owners?: readonly string[];
}

const both = (text: string | RegExp) => ({ member: text, admin: text });

const ROLE_PAGES: readonly RolePage[] = [
  { title: "Verify", shown: both("First steps"), everybody: ["Verify"], admins: ["Make a test key"] },
  { title: "Lists", shown: both("No list was verified yet."), everybody: ["Verify your first list"] },
  { title: "Usage", shown: both("Day (UTC)"), everybody: ["Download as CSV"] },
  { title: "Accuracy", shown: both(/^Nothing has been reported/), everybody: ["Report"] },
  {
    title: "API keys",
    shown: { member: /made and revoked by admins and owners/, admin: "Last used" },
    admins: ["Make the key", "Revoke"],
  },
  {
    title: "Team",
    shown: { member: /^Admins and owners invite/, admin: /^Owners transfer the ownership/ },
    admins: ["Invite", "Rename"],
    owners: ["Transfer", "Delete the team"],
  },
  {
    title: "Webhooks",
    shown: { member: /you are a member/, admin: "No webhooks yet" },
    admins: ["Make the webhook", "Make or replace them"],
  },
  {
    title: "Blocklist",
    shown: { member: /you are a member/, admin: "kept.example" },
    admins: ["Block", "Unblock"],
  },
  { title: "Disposable domains", shown: both(/your role is (member|admin)/), owners: ["Mark as disposable"] },
  { title: "Settings", shown: both("New password"), everybody: ["Change"] },
];

describe("each page to each role", () => {
  it("has all that is asked of owners, by the names that others must not see", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await site.member(session, newPerson(), "member");
    await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain: "kept.example" } });
    await site.api.send("POST", "/v1/keys", { key: session, body: { label: "to revoke", env: "test" } });
    const page = await visits.open({ session, path: "/settings" });
    for (const { title, everybody = [], admins = [], owners = [] } of ROLE_PAGES) {
      await page.getByRole("navigation").getByRole("link", { name: title, exact: true }).click();
      const main = page.getByRole("main");
      for (const name of [...everybody, ...admins, ...owners])
        await main
          .getByRole("button", { name, exact: true })
          .or(main.getByRole("link", { name, exact: true }))
          .first()
          .waitFor();
    }
  });

  for (const role of ["member", "admin"] as const)
    it(`has what the ${role} may do, and says why the rest is not there`, async (t) => {
      if (!browser.isThere) return t.skip("no browser");
      const { session } = await site.owner();
      await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain: "kept.example" } });
      const page = await visits.open({
        session: await site.member(session, newPerson(), role),
        path: "/settings",
      });
      for (const { title, shown, everybody = [], admins = [], owners = [] } of ROLE_PAGES) {
        await page.getByRole("navigation").getByRole("link", { name: title, exact: true }).click();
        const main = page.getByRole("main");
        await main.getByText(shown[role]).first().waitFor();
        const control = (name: string) =>
          main.getByRole("button", { name, exact: true }).or(main.getByRole("link", { name, exact: true }));
        const isAdmin = role === "admin";
        for (const name of [...everybody, ...(isAdmin ? admins : [])]) await control(name).first().waitFor();
        for (const name of [...owners, ...(isAdmin ? [] : admins)])
          assert.equal(await control(name).count(), 0, `${title}: ${name}`);
        assert.equal(await main.getByRole("alert").count(), 0, title);
        if (!isAdmin && shown.member !== shown.admin) await lookInThemes(page, `${title} of a member`);
      }
    });
});
