import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import { useBrowser } from "../../support/browser.ts";
import { PASSWORD } from "../../support/portal.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";

/** The portal in a real browser, on the real service. */
const site = usePortalSite();
const browser = useBrowser();

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What a checker of accessibility finds on the page, WCAG 2.2 AA. */
async function faultsOf(page: Page): Promise<string[]> {
  // Over the debugger's line: the page's policy does not hold there.
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    return (await axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] })).violations;
  });
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

async function signedIn(email: string, options: Parameters<typeof browser.visitor>[0] = {}) {
  const visitor = await browser.visitor(options);
  const { page } = visitor;
  await page.goto(`${site.url}/`);
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Verify an address" }).waitFor();
  return visitor;
}

describe("the portal", () => {
  it("lets somebody sign in where they wanted to go, keeps them, and lets them out", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page, context } = await browser.visitor();
    await page.goto(`${site.url}/keys`);
    await page.waitForURL(/sign-in/);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill("not this one");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page
      .getByRole("alert")
      .getByText(/Wrong address or password/)
      .waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    const [cookie] = await context.cookies();
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.secure, cookie?.sameSite],
      ["__Host-rcpt_session", true, true, "Strict"],
    );
    assert.equal(await page.evaluate("document.cookie + localStorage.length + sessionStorage.length"), "00");
    await page.reload();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(/sign-in/);
    assert.deepEqual(await context.cookies(), []);
    await page.goto(`${site.url}/keys`);
    await page.waitForURL(/sign-in/);
  });

  it("has a page at each of its addresses", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    for (const path of PORTAL_PATHS) {
      await page.goto(site.url + path);
      await page.getByRole("heading").first().waitFor();
      assert.equal(await page.getByText("There is no such page").count(), 0, path);
    }
  });

  it("leads nowhere else from signing in", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in?next=${encodeURIComponent("//evil.example/")}`);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    assert.ok(page.url().startsWith(site.url));
  });

  it("verifies an address, says why, and shows the same call", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    await page.getByLabel("Address").fill("Jane <exists@plain.test>");
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("Valid", { exact: true }).waitFor();
    await result.getByText(/Its mail server accepts this address/).waitFor();
    await result.getByText("accepted_mailbox").waitFor();
    assert.match((await page.locator("pre").textContent()) ?? "", /email=exists@plain\.test/);
    await page.reload();
    await result.getByText("Valid", { exact: true }).waitFor();
  });

  it("makes a key, shows its secret once, and revokes it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await signedIn(email);
    const name = '<img src=x onerror="document.title=1">';
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Make the key" }).click();
    const secret = (await page.locator(".secret").textContent()) ?? "";
    const verified = await site.api.send("GET", "/v1/usage", { key: secret });
    assert.equal(verified.status, 200);
    const row = page.getByRole("row").filter({ hasText: name });
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
    assert.equal(await page.title(), "rcpt");
    await page.reload();
    await page.getByRole("heading", { name: "API keys" }).waitFor();
    assert.equal(await page.locator(".secret").count(), 0);
  });

  it("tells a member what it may not do, and who may", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const email = newPerson();
    await site.api.send("POST", "/v1/team/invites", { key: session, body: { email, role: "member" } });
    const { page } = await browser.visitor();
    await page.goto(await site.mailedLink(email));
    await page.getByLabel("Password").fill("short");
    assert.doesNotMatch(page.url(), /token/);
    await page.getByRole("button", { name: "Join the team" }).click();
    await page
      .getByText(/12 characters/)
      .last()
      .waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Join the team" }).click();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByText(/made and revoked by admins and owners/).waitFor();
    assert.equal(await page.getByRole("button", { name: "Make the key" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Revoke" }).count(), 0);
  });
});

describe("an account", () => {
  it("is registered, confirmed by the mailed link, and signed in", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const email = newPerson();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in`);
    await page.getByRole("link", { name: "Register" }).click();
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill("password1234");
    await page.getByLabel("Team").fill("Visitors");
    await page.getByRole("button", { name: "Make the account" }).click();
    await page.locator(".fault").waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Make the account" }).click();
    await page.getByRole("heading", { name: "Look into your mail" }).waitFor();
    await page.goto(await site.mailedLink(email));
    await page.getByLabel(/password that you registered with/).fill(PASSWORD);
    await page.getByRole("button", { name: "Confirm" }).click();
    await page.getByText("Visitors").waitFor();
  });

  it("gets a new password by mail", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in`);
    await page.getByRole("link", { name: "Forgot the password?" }).click();
    await page.getByLabel("Email").fill(email);
    await page.getByRole("button", { name: "Mail me a link" }).click();
    await page.getByText(/is on its way/).waitFor();
    await page.goto(await site.mailedLink(email));
    await page.getByLabel("New password").fill("another long password");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page.getByRole("heading", { name: "Your password is set" }).waitFor();
    await page.goto(`${site.url}/reset-password`);
    await page.getByText(/needs the whole link/).waitFor();
  });
});

describe("for everybody", () => {
  it("nothing stands in the way of those who see, hear or type otherwise, in either theme and any width", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    for (const dark of [false, true])
      for (const width of [360, 1_280]) {
        const { page } = await signedIn(email, { dark, width });
        await page.getByLabel("Address").fill("nobody@nowhere.invalid");
        await page.getByRole("button", { name: "Verify", exact: true }).click();
        await page.getByRole("region", { name: "Result" }).waitFor();
        assert.deepEqual(await faultsOf(page), [], `verify, ${width}`);
        await page.getByRole("link", { name: "API keys" }).click();
        await page.getByLabel("Name").waitFor();
        await page.getByRole("table").waitFor();
        assert.deepEqual(await faultsOf(page), [], `keys, ${width}`);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert.ok(Number(overflow) <= 0, `${overflow} px wider than ${width}`);
      }
  });

  it("is used by keyboard alone", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email } = await site.owner();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in`);
    await page.getByLabel("Email").focus();
    await page.keyboard.type(email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    await page.getByLabel("Address").focus();
    await page.keyboard.type("nobody@nowhere.invalid");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Result" }).waitFor();
  });
});
