import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../../support/browser.ts";
import { PASSWORD } from "../../support/portal.ts";
import { portalVisits } from "../../support/portal-pages.ts";
import { newPerson, usePortalSite } from "../../support/portal-site.ts";
import { until } from "../../support/until.ts";

/** What owners do with a team, people with several, and both with many domains at once: overrides and the blocklist. */
const site = usePortalSite();
const browser = useBrowser();
const visits = portalVisits(site, browser);

const HOSTILE = '<img src=x onerror="document.title=1">';

const me = async (session: string) =>
  (
    await site.api.send<{ role: string; team: { id: string; name: string } }>("GET", "/v1/auth/me", {
      key: session,
    })
  ).body;
const dialog = (page: Page) => page.getByRole("alertdialog");
const rename = (session: string, name: string) =>
  site.api.send("PATCH", "/v1/team", { key: session, body: { name } });

describe("an owner", () => {
  it("hands the team over, and is an admin then", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/team" });
    await page.getByText("There is no other member yet").waitFor();
    const email = newPerson();
    const joined = await site.member(session, email, "member");
    await page.reload();
    await page.getByLabel("New owner").selectOption(`${email} (member)`);
    await page.getByRole("button", { name: "Transfer" }).click();
    await dialog(page).getByText(email).waitFor();
    await dialog(page).getByRole("button", { name: "Transfer" }).click();
    await page.getByText("Owners transfer the ownership, or delete the team.").waitFor();
    assert.deepEqual([(await me(session)).role, (await me(joined)).role], ["admin", "owner"]);
  });

  it("deletes the team once its name is typed", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    await rename(session, HOSTILE);
    const page = await visits.open({ session, path: "/team" });
    await page.getByRole("button", { name: "Delete the team" }).click();
    await dialog(page).getByLabel("Name of the team to delete").fill("another");
    await dialog(page).getByRole("button", { name: "Delete for good" }).click();
    await dialog(page)
      .getByRole("alert")
      .getByText(/Type the name/)
      .waitFor();
    assert.equal((await me(session)).team.name, HOSTILE);
    await dialog(page).getByLabel("Name of the team to delete").fill(HOSTILE);
    await dialog(page).getByRole("button", { name: "Delete for good" }).click();
    await page.waitForURL(/\/sign-in$/);
    const { status } = await site.api.send("GET", "/v1/auth/me", { key: session });
    assert.equal(status, 401);
  });
});

describe("the team", () => {
  it("invites, changes roles, removes, and keeps its last owner", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email: owner, session } = await site.owner();
    const { page } = await visits.signedIn(session);
    const changes: unknown[] = [];
    page.on("request", (request) => {
      if (request.method() === "PATCH" && request.url().includes("/members/"))
        changes.push(request.postDataJSON());
    });
    await page.getByRole("link", { name: "Team", exact: true }).click();
    const [joining, waiting] = [newPerson(), newPerson()];
    for (const email of [joining, waiting]) {
      await page.getByLabel("Email").fill(email);
      await page.getByRole("button", { name: "Invite", exact: true }).click();
      await page.getByText(`${email} is invited. A mail with a link is on its way.`).waitFor();
    }
    const guest = await browser.visitor();
    await guest.page.goto(await site.mailedLink(joining));
    await guest.page.getByLabel("Password").fill(PASSWORD);
    await guest.page.getByRole("button", { name: "Join the team" }).click();
    await guest.page.getByRole("heading", { name: "Verify an address" }).waitFor();

    await page.reload();
    const invitation = page.getByRole("row").filter({ hasText: waiting });
    await invitation.getByRole("button", { name: "Withdraw" }).click();
    await dialog(page).getByRole("button", { name: "Withdraw" }).click();
    await invitation.waitFor({ state: "detached" });

    const member = page.getByRole("row").filter({ hasText: joining });
    const choice = page.getByLabel(`Role of ${joining}`);
    // Arrow keys choose; nothing changes until it is asked for, and what cannot be taken back is asked again.
    await choice.focus();
    for (const role of ["admin", "owner"]) {
      await page.keyboard.press("ArrowDown");
      await until(`${role} is chosen`, async () => (await choice.inputValue()) === role);
    }
    await member.getByRole("button", { name: "Change" }).click();
    await dialog(page)
      .getByText(/may then do everything/)
      .waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    await choice.selectOption("admin");
    await member.getByRole("button", { name: "Change" }).click();
    await page.getByRole("status").getByText(`${joining} is an admin now.`).waitFor();
    await page.locator(`select:focus[aria-label="Role of ${joining}"]`).waitFor();
    assert.deepEqual(changes, [{ role: "admin" }]);
    await guest.page.getByRole("link", { name: "API keys" }).click();
    // A reload that breaks off the page's script would be a complaint.
    await guest.page.getByRole("heading", { name: "API keys" }).waitFor();
    await until("the guest may make keys", async () => {
      await guest.page.reload();
      await guest.page.getByRole("heading", { name: "API keys" }).waitFor();
      return (await guest.page.getByRole("button", { name: "Make the key" }).count()) > 0;
    });
    await page.getByLabel(`Role of ${owner}`).selectOption("member");
    await page.getByRole("row").filter({ hasText: "(you)" }).getByRole("button", { name: "Change" }).click();
    await dialog(page)
      .getByText(/Only another owner of the team can make you an owner again/)
      .waitFor();
    await dialog(page).getByRole("button", { name: "Become a member" }).click();
    await dialog(page)
      .getByRole("alert")
      .getByText(/Make another member an owner first/)
      .waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();

    await page.getByLabel("Name of the team").fill('<b id="x">Ours</b>');
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { name: '<b id="x">Ours</b>' }).waitFor();
    assert.equal(await page.locator("#x").count(), 0);

    await member.getByRole("button", { name: "Remove" }).click();
    assert.match(
      (await dialog(page).getByRole("link", { name: "See who made which key." }).getAttribute("href")) ?? "",
      /\/keys$/,
    );
    await dialog(page).getByRole("button", { name: "Remove" }).click();
    await member.waitFor({ state: "detached" });
    await page.getByRole("status").getByText(`${joining} was removed.`).waitFor();
    await until("the guest is signed out", async () => {
      await guest.page.goto(`${site.url}/keys`);
      await guest.page.getByRole("heading").first().waitFor();
      return guest.page.url().includes("/sign-in");
    });
  });
});

describe("a part of a page that could not be read", () => {
  it("is read again on demand, and the focus stays beside it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/settings" });
    await page.getByText("New password").waitFor();
    await page.route(/\/v1\/team$/, (route) => route.fulfill({ status: 503, body: "" }));
    await page.getByRole("navigation").getByRole("link", { name: "Team" }).click();
    const members = page.getByRole("region", { name: "Members" });
    const again = members.getByRole("button", { name: "Try again" });
    await again.waitFor();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await again.click();
    await members.getByRole("row").first().waitFor();
    await page.locator("section:focus[aria-labelledby=members]").waitFor();
  });
});

describe("a person of two teams", () => {
  it("goes from one to the other with the password", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const [first, second] = [await site.owner(), await site.owner()];
    await rename(second.session, HOSTILE);
    const session = await site.member(second.session, first.email, "member");
    assert.equal((await me(session)).team.id, second.teamId);
    const page = await visits.open({ session: first.session, path: "/team" });
    await page
      .getByRole("region", { name: "Your other teams" })
      .getByText(HOSTILE, { exact: true })
      .waitFor();
    await page.getByRole("button", { name: "Go there" }).click();
    await page.getByLabel(/^Password, to sign in to/).fill("not this one");
    await page.getByRole("button", { name: "Switch" }).click();
    await page
      .getByRole("alert")
      .getByText(/Wrong address or password/)
      .waitFor();
    await page.getByLabel(/^Password, to sign in to/).fill(PASSWORD);
    await page.getByRole("button", { name: "Switch" }).click();
    await page.getByRole("navigation").getByText(HOSTILE).waitFor();
    await page.getByRole("navigation").getByText("(member)").waitFor();
    assert.match(await page.title(), / · rcpt$/);
  });
});

describe("a key", () => {
  it("gets a role no higher than that of who makes it", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const admin = await site.member(session, newPerson(), "admin");
    const page = await visits.open({ session: admin, path: "/keys" });
    await page.getByLabel("Role").waitFor();
    const roles = await page.getByLabel("Role").locator("option").allTextContents();
    assert.deepEqual(
      roles.map((text) => text.split(":")[0]),
      ["Member", "Admin"],
    );
    for (const role of ["member", "admin"]) {
      await page.getByLabel("Name").fill(`for ${role}s`);
      await page.getByLabel("Role").selectOption(role);
      await page.getByRole("button", { name: "Make the key" }).click();
      await page
        .getByRole("row")
        .filter({ hasText: `for ${role}s` })
        .getByRole("cell", { name: role })
        .waitFor();
    }
  });
});

describe("where nothing is sold", () => {
  it("the billing page says so", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await visits.open({ session, path: "/billing" });
    await page.getByText(/Nothing is sold in this deployment/).waitFor();
    assert.equal(await page.getByRole("button", { name: /^(Pay|Manage)/ }).count(), 0);
  });
});

describe("the page of the team", () => {
  it("looks well to its owner", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { email, session } = await site.owner();
    const other = await site.owner();
    await rename(other.session, HOSTILE);
    await site.member(other.session, email, "admin");
    await site.member(session, newPerson(), "member");
    await visits.lookInAll({ session, path: "/team" }, "team-owner", async (page) => {
      await page.getByRole("button", { name: "Go there" }).click();
      await page.getByLabel("New owner").waitFor();
    });
  });
});

const HOSTILE_DOMAIN = "<img/src=x/onerror=document.title=1>";

const open = (session: string, path: string) => visits.open({ session, path });
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `number-${i}.example`);

describe("disposable overrides", () => {
  it("are pasted, told apart, merged, found and taken back", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const page = await open(session, "/overrides");
    await page.getByText("No domain is marked.").waitFor();
    const wrong = Array.from({ length: 25 }, (_, i) => `no_domain${i}`);
    const pasted = [...numbered(510), "Number-1.Example.", HOSTILE_DOMAIN, ...wrong, "münchen.example"];
    await page.getByRole("textbox", { name: "Domains" }).fill(pasted.join("\n"));
    await page.getByRole("button", { name: "Mark as disposable" }).click();
    await page.getByText("511 marked, 0 marked already, 26 not taken. 1 was given twice.").waitFor();
    await page.getByRole("region", { name: "Not taken" }).getByText(HOSTILE_DOMAIN).waitFor();
    const left = await page.getByRole("textbox", { name: "Domains" }).inputValue();
    assert.deepEqual(left.split("\n").sort(), [HOSTILE_DOMAIN, ...wrong].sort());
    assert.match(await page.title(), / · rcpt$/);
    await page.getByText("All of them are in effect.").waitFor();
    const rows = page.getByRole("region", { name: "Disposable domains", exact: true }).locator("tbody tr");
    await page.getByRole("button", { name: "Older ones" }).waitFor();
    await until("those shown count", async () => (await rows.getByText("in effect").count()) === 100);
    await page.getByLabel(/^Find a domain/).fill("München");
    await page.getByText("1 found.").waitFor();
    const row = rows.filter({ hasText: "xn--mnchen-3ya.example" });
    await row.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("0 found.").waitFor();
    await page.getByLabel(/^Find a domain/).fill("number-0.");
    await page.getByText("1 found.").waitFor();
    const answer = await site.api.verify(session, "jane@number-0.example");
    assert.equal(answer.body.reason, "disposable_domain");
  });

  it("are for owners alone, and others are told", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    for (const role of ["member", "admin"] as const) {
      const page = await open(await site.member(session, newPerson(), role), "/overrides");
      await page.getByText(`your role is ${role}`).waitFor();
      assert.equal(await page.getByRole("button", { name: "Mark as disposable" }).count(), 0);
    }
  });

  it("look well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const domains = ["throwaway.example", `${"long-".repeat(12)}x.example`];
    await site.api.send("POST", "/v1/admin/disposable", { key: session, body: { domains } });
    await visits.lookInAll({ session, path: "/overrides" }, "overrides", async (page) => {
      await page.getByText("All of them are in effect.").waitFor();
      await page.getByRole("textbox", { name: "Domains" }).fill("throwaway.example\nno_domain");
      await page.getByRole("button", { name: "Mark as disposable" }).click();
      await page.getByText("0 marked, 1 marked already, 1 not taken.").waitFor();
    });
  });
});

/** Uses up the tokens of the team's writes. */
const useUpWrites = (key: string) =>
  until("no token is left", async () => {
    const { status } = await site.api.send("POST", "/v1/blocklist", { key, body: { domain: "no_domain" } });
    return status === 429;
  });

describe("the blocklist", () => {
  it("looks well", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.owner();
    const domain = `${"long-".repeat(12)}x.example`;
    await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain } });
    await visits.lookInAll({ session, path: "/blocklist" }, "blocklist-many", async (page) => {
      await page.getByRole("textbox", { name: "Domains" }).fill(`${domain} no_domain`);
      await page.getByRole("button", { name: "Block", exact: true }).click();
      await page.getByText("0 blocked, 1 blocked already, 1 not taken.").waitFor();
    });
  });

  it("takes many domains, no faster than the API does, and finds one", async (t) => {
    if (!browser.isThere) return t.skip("no browser");
    const { session } = await site.deployment.team("pro_plus", { writesPerS: 1, writesBurst: 3 });
    await site.api.send("POST", "/v1/blocklist", { key: session, body: { domain: "number-3.example" } });
    const page = await open(session, "/blocklist");
    let refused = 0;
    page.on("response", (response) => {
      if (response.status() === 429) refused += 1;
    });
    // However slow its requests are: one comes when no token is left.
    await page.route("**/v1/blocklist", async (route) => {
      if (refused === 0 && route.request().method() === "POST") await useUpWrites(session);
      await route.continue();
    });
    await page
      .getByRole("textbox", { name: "Domains" })
      .fill(`${numbered(6).join(", ")} Number-5.example. ${HOSTILE_DOMAIN}`);
    await page.getByRole("button", { name: "Block", exact: true }).click();
    await page.getByText("5 blocked, 1 blocked already, 1 not taken. 1 was given twice.").waitFor();
    assert.ok(refused > 0);
    await page.getByRole("region", { name: "Not taken" }).getByText(HOSTILE_DOMAIN).waitFor();
    assert.match(await page.title(), / · rcpt$/);
    await page.getByLabel(/^Find a domain/).fill("number-5");
    await page.getByText("1 found.").waitFor();
    assert.equal(await page.getByRole("row").filter({ hasText: "number-4" }).count(), 0);
  });
});
