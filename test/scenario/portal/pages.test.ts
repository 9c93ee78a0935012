import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { useBrowser } from "../../support/browser.ts";
import { PASSWORD } from "../../support/portal.ts";
import { fillSignIn, lookInThemes, portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** The portal in a real browser, on the real service. */
const site = usePortalSite();
const browser = useBrowser();

/** Pages, and what stands on each once it is whole. */
const SHOWN = [
  ["Usage", /^Day \(UTC\)$/],
  ["API keys", /^Last used$/],
  ["Team", /^Joined$/],
  ["Blocklist", /^No domain is blocked/],
  ["Settings", /^New password$/],
] as const;

const { signedIn } = portalVisits(site, browser);

describe("the portal", () => {
  it("marks the field that is wrong, and brings the focus there", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByLabel("URL").fill("https://user@hooks.example.com/");
    await page.getByRole("button", { name: "Make the webhook" }).click();
    await page.locator('input:focus[aria-invalid="true"]').waitFor();
  });

  it("sends a form once, and keeps the focus on its button while it is under way", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page, context } = await signedIn(session);
    const sent: (() => Promise<void>)[] = [];
    await page.route("**/v1/verify?*", (route) => void sent.push(() => route.continue()));
    await page.getByLabel("Address").fill("exists@plain.test");
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.locator('button:focus[aria-busy="true"]').waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    await until("the request is held", () => sent.length > 0);
    for (const go of sent) await go();
    await page.getByRole("region", { name: "Result" }).waitFor();
    assert.equal(sent.length, 1);
    // Without a connection it fails: it does not wait to be sent when its person has gone on.
    await page.unrouteAll();
    await context.setOffline(true);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("alert").getByText("The service cannot be reached.").waitFor();
    assert.equal(await page.locator('[aria-busy="true"]').count(), 0);
    await context.setOffline(false);
  });

  it("keeps a list on the page when it cannot be read again", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain: "kept.example" } });
    const { page } = await signedIn(session);
    await page.getByRole("link", { name: "Blocklist" }).click();
    await page
      .getByRole("cell", { name: "kept.example" })
      .or(page.getByText("kept.example"))
      .first()
      .waitFor();
    await page.route("**/v1/blocklist*", (route) =>
      route.request().method() === "GET" ? route.abort() : route.continue(),
    );
    await page.getByRole("textbox", { name: "Domains" }).fill("another.example");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page
      .getByRole("alert")
      .getByText(/cannot be reached/)
      .waitFor();
    assert.equal(await page.getByText("kept.example").count(), 1);
  });

  it("verifies an address, says why, and shows the same call", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await page.getByLabel("Address").fill("Jane <exists@plain.test>");
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("Valid", { exact: true }).waitFor();
    await result.getByText(/Its mail server accepts this address/).waitFor();
    await result.getByText("accepted_mailbox").waitFor();
    assert.match((await page.locator("pre").textContent()) ?? "", /email=exists@plain\.test/);
    // The address is in the page's own, and asked about on demand alone: another site may lead here.
    await page.reload();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
    assert.equal(await page.getByLabel("Address").inputValue(), "Jane <exists@plain.test>");
    assert.equal(await result.count(), 0);
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await result.getByText("Valid", { exact: true }).waitFor();
  });

  it("makes a key, shows its secret once, and revokes it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    const { page } = await signedIn(session);
    const name = '<img src=x onerror="document.title=1">';
    await page.getByRole("link", { name: "API keys" }).click();
    await page.getByLabel("Name").fill(name);
    await page.getByRole("button", { name: "Make the key" }).click();
    const secret = (await page.locator(".secret").textContent()) ?? "";
    const call = page.getByRole("region", { name: "A call with it" }).locator("pre");
    assert.match((await call.textContent()) ?? "", new RegExp(`email=${email}`));
    const verified = await site.api.send("GET", "/v1/usage", { key: secret });
    assert.equal(verified.status, 200);
    const row = page.getByRole("row").filter({ hasText: name });
    await row.getByRole("cell", { name: email }).waitFor();
    await row.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
    await row.waitFor({ state: "detached" });
    assert.equal(await page.title(), "API keys · rcpt");
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
    // A password manager keeps the new password under the address.
    const username = page.locator('form input[autocomplete="username"][readonly]');
    assert.equal(await username.inputValue(), email);
    await page.getByText(/^You are invited to the team team \d+\.$/).waitFor();
    const field = page.getByLabel("Password");
    assert.equal(await field.getAttribute("autocomplete"), "new-password");
    await page.getByLabel("I have an account here").check();
    assert.equal(await field.getAttribute("autocomplete"), "current-password");
    await page.getByLabel("I am new here").check();
    await field.fill("short");
    assert.doesNotMatch(page.url(), /token|email/);
    await page.getByRole("button", { name: "Show password (new)" }).click();
    assert.equal(await field.getAttribute("type"), "text");
    await page.getByRole("button", { name: "Hide password (new)" }).click();
    assert.equal(await field.getAttribute("type"), "password");
    await page.getByRole("button", { name: "Show password (new)" }).click();
    await page.getByRole("button", { name: "Join the team" }).click();
    await page.locator('input[type="password"][autocomplete="new-password"]').waitFor();
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

  it("is told whose account it signs in to, where its link names another address", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const email = newPerson();
    await site.api.send("POST", "/v1/team/invites", { key: session, body: { email, role: "member" } });
    const { page } = await browser.visitor();
    const link = await site.mailedLink(email);
    await page.goto(link.replace(encodeURIComponent(email), encodeURIComponent("someone@else.example")));
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Join the team" }).click();
    await page.getByText("The link named another address").waitFor();
    await page.getByText(email).waitFor();
    await page.getByRole("link", { name: "Go on" }).click();
    await page.getByRole("heading", { name: "Verify an address" }).waitFor();
  });
});

describe("the usage", () => {
  it("is shown for today and by day, by the customs of its reader, and saved as a file", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const home = { locale: "de-DE", timezoneId: "Asia/Kolkata" };
    const { page } = await signedIn(session, { home });
    await page.getByLabel("Address").fill("exists@plain.test");
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).waitFor();
    // What is charged is told by the API at once, the rest of a day a little later.
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByText(/^1 of 2\.000\.000 units used$/).waitFor();
    await page.getByText(/The next day begins \d\d\.\d\d\.\d{4}, 05:30\./).waitFor();
    await page.getByText("1 unit was charged in these days.").waitFor();
    await page
      .getByRole("row")
      .filter({ hasText: new Date().toISOString().slice(0, 10) })
      .waitFor();
    await page.getByLabel("Days").selectOption("7");
    await until("7 days are shown", async () => (await page.getByRole("row").count()) === 8);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download as CSV" }).click();
    const text = readFileSync(await (await saved).path(), "utf8");
    const [head, first, ...rest] = text.trimEnd().split("\r\n");
    assert.equal(head, "date,used,single,cached,bulk,valid,invalid,risky,unknown");
    assert.match(first ?? "", /^\d{4}-\d\d-\d\d,1,/);
    assert.equal(rest.length, 6);
    // Also for those who hover over nothing.
    await page.getByRole("link", { name: "Settings" }).click();
    await page.getByLabel("Show times").selectOption("in UTC");
    await page.getByRole("link", { name: "Usage" }).click();
    await page.getByText(/The next day begins \d\d\.\d\d\.\d{4}, 00:00 UTC\./).waitFor();
  });
});

describe("the blocklist", () => {
  it("blocks a domain, and unblocks it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page } = await signedIn(session);
    await page.getByRole("link", { name: "Blocklist" }).click();
    await page.getByRole("textbox", { name: "Domains" }).fill("no domain");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByText("0 blocked, 0 blocked already, 2 not taken.").waitFor();
    await page.getByRole("textbox", { name: "Domains" }).fill("Plain.Test");
    await page.getByRole("button", { name: "Block", exact: true }).click();
    const row = page.getByRole("row").filter({ hasText: "plain.test" });
    await row.waitFor();
    const answer = await site.api.verify(session, "exists@plain.test");
    assert.equal(answer.body.reason, "blocklisted_domain");
    await row.getByRole("button", { name: "Unblock" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Unblock" }).click();
    await page.getByText("No domain is blocked.").waitFor();
    // The table is gone with its last row.
    await page.locator('section:focus[aria-label="Blocked domains"]').waitFor();
  });
});

describe("a notice about the whole page", () => {
  it("covers no control at the end of the page, where the window is narrow", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const { page, context } = await signedIn(session);
    await page.setViewportSize({ width: 360, height: 500 });
    await page.getByRole("link", { name: "Blocklist" }).click();
    await page.getByRole("textbox", { name: "Domains" }).fill("typed.example");
    await context.clearCookies();
    await page.getByRole("button", { name: "Block", exact: true }).click();
    const notice = page.getByRole("alert").filter({ hasText: "You were signed out." });
    await notice.waitFor();
    // The page grows by it.
    await page.getByRole("cell", { name: "You are signed out." }).waitFor();
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    const ends = await page.evaluate("document.querySelector('main').getBoundingClientRect().bottom");
    const begins = (await notice.boundingBox())?.y ?? 0;
    // Edges lie between pixels.
    assert.ok(Number(ends) <= begins + 0.5, `the page ends at ${ends}, the notice begins at ${begins}`);
  });
});

describe("the settings", () => {
  it("change the password, for the current one", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    const body = { email, password: PASSWORD };
    const other = await site.api.send<{ session: { token: string } }>("POST", "/v1/auth/login", { body });
    const { page } = await signedIn(session);
    await page.getByRole("link", { name: "Settings" }).click();
    const change = async (current: string) => {
      await page.getByLabel("Current password").fill(current);
      await page.getByLabel("New password").fill("another long password");
      await page.getByRole("button", { name: "Change" }).click();
    };
    await change("not the current one");
    await page.getByRole("alert").waitFor();
    await change(PASSWORD);
    await page.getByText("It is changed; your other sessions have ended.").waitFor();
    await until("other sessions have ended", async () => {
      const { status } = await site.api.send("GET", "/v1/auth/me", { key: other.body.session.token });
      return status === 401;
    });
    await page.reload();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
  });
});

describe("an account", () => {
  it("is registered, confirmed by the mailed link, and signed in", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const email = newPerson();
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/sign-in`);
    await page.getByRole("link", { name: "Register" }).click();
    // The page before has such fields, too.
    await page.getByRole("heading", { name: "Make an account" }).waitFor();
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
    await page.getByRole("heading", { name: "Forgot the password?" }).waitFor();
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
    const { page } = await browser.visitor();
    await page.goto(`${site.url}/`);
    await page.getByRole("link", { name: "Register" }).waitFor();
    await lookInThemes(page, "Sign in");
    await fillSignIn(page, email);
    await page.getByLabel("Address").fill("Jane <exists@plain.test>");
    await page.getByRole("button", { name: "Verify", exact: true }).click();
    await page.getByRole("region", { name: "Result" }).waitFor();
    await lookInThemes(page, "Verify");
    for (const [name, shown] of SHOWN) {
      await page.getByRole("link", { name, exact: true }).click();
      await page.getByText(shown).first().waitFor();
      await lookInThemes(page, name);
    }
  });

  it("is used by keyboard alone", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    await site.api.send("POST", "/v1/keys", { key: session, body: { label: "old", env: "test" } });
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
    await page.getByRole("navigation").getByRole("link", { name: "API keys" }).focus();
    await page.keyboard.press("Enter");
    const row = page.getByRole("row").filter({ hasText: "old" });
    await row.getByRole("button", { name: "Revoke" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).focus();
    await page.keyboard.press("Enter");
    await row.waitFor({ state: "detached" });
    // The row had the focus: it stays near, and what happened is read out.
    await page.locator('section.table-scroll:focus[aria-label="Keys"]').waitFor();
    await page.getByRole("status").getByText("The key old was revoked.").waitFor();
  });
});
