import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { runInNewContext } from "node:vm";
import {
  login,
  newClient,
  newEmail,
  PASSWORD,
  PUBLIC_URL,
  register,
  usePortal,
} from "../../support/portal.ts";
import { until } from "../../support/until.ts";

/** Where the links of mails lead: a page for each, tried with as much of a browser as its script needs. */
const portal = usePortal();

const NEXT = "another long password";

interface OpenPage {
  /** What is left in the address bar. */
  address: string;
  shown(): string;
  hidden(): boolean;
  submit(password: string): Promise<void>;
}

/** Opens a link as a browser would; requests go to the API that the link would have led to. */
async function open(link: string): Promise<OpenPage> {
  const url = new URL(link.replace(PUBLIC_URL, portal.one.url));
  const hash = url.hash;
  url.hash = "";
  const response = await fetch(url);
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
  assert.equal(response.headers.get("referrer-policy"), "no-referrer");
  const html = await response.text();
  const script = /<script>([\s\S]*?)<\/script>/.exec(html)?.[1] ?? "";
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? "";
  const policy = response.headers.get("content-security-policy") ?? "";
  for (const text of [script, style])
    assert.ok(
      policy.includes(createHash("sha256").update(text).digest("base64")),
      "what the page holds may run",
    );
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(html, /https?:|\son\w+=/);

  const dataset = Object.fromEntries(
    [...html.matchAll(/data-(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  const output = { textContent: "" };
  const input = { value: "" };
  const button = { disabled: false };
  let onSubmit = async (_event: { preventDefault(): void }): Promise<void> => undefined;
  const form = {
    dataset,
    hidden: false,
    elements: { namedItem: () => input },
    querySelector: () => button,
    addEventListener: (_name: string, listener: typeof onSubmit) => {
      onSubmit = listener;
    },
  };
  let address = url.pathname + hash;
  runInNewContext(script, {
    document: { querySelector: (name: string) => (name === "form" ? form : output) },
    location: { hash, pathname: url.pathname },
    history: {
      replaceState(_state: unknown, _title: string, to: string) {
        address = to;
      },
    },
    URLSearchParams,
    fetch: (target: string, init: RequestInit) =>
      fetch(new URL(target, url), {
        ...init,
        headers: { ...(init.headers as Record<string, string>), ...newClient() },
      }),
  });
  return {
    get address() {
      return address;
    },
    shown: () => output.textContent,
    hidden: () => form.hidden,
    async submit(password) {
      input.value = password;
      await onSubmit({ preventDefault: () => undefined });
    },
  };
}

/** The link in the first mail to the address. */
async function mailedLink(email: string): Promise<string> {
  const mail = await until("the mail has come", () => portal.sink.to(email)[0] ?? null);
  return mail.text.split("\n").find((line) => line.startsWith(PUBLIC_URL)) ?? assert.fail(mail.text);
}

describe("the page of an invitation", () => {
  it("accepts it, once, and takes the token out of the address bar", async () => {
    const team = await portal.deployment.team("pro");
    const email = newEmail();
    await portal.one.send("POST", "/v1/team/invites", { key: team.session, body: { email } });
    const link = await mailedLink(email);
    const page = await open(link);
    assert.equal(page.address, "/accept-invite");
    await page.submit("short");
    assert.match(page.shown(), /at least 12 characters/);
    assert.equal(page.hidden(), false);
    await page.submit(PASSWORD);
    assert.match(page.shown(), /You are a member now\.\nTeam: team \d+\nSession, shown once: rcpt_sess_\w+$/);
    assert.equal(page.hidden(), true);
    assert.equal((await login(portal.one, { email, password: PASSWORD })).body.team.id, team.id);
    const again = await open(link);
    await again.submit(PASSWORD);
    assert.match(again.shown(), /used, revoked or expired/);
  });

  it("says so when the link is not whole", async () => {
    const page = await open(`${PUBLIC_URL}/accept-invite`);
    assert.match(page.shown(), /whole link/);
  });
});

describe("the page of a registration", () => {
  it("makes the account, for its password", async () => {
    const email = newEmail();
    assert.equal((await register(portal.one, email)).status, 202);
    const page = await open(await mailedLink(email));
    assert.equal(page.address, "/confirm-registration");
    await page.submit("not the password");
    assert.match(page.shown(), /not the password of the registration/i);
    await page.submit(PASSWORD);
    assert.match(
      page.shown(),
      /^Your account is made\.\nTeam: team of .+\nSession, shown once: rcpt_sess_\w+$/,
    );
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 200);
  });
});

describe("the page of a new password", () => {
  it("sets it", async () => {
    const email = newEmail();
    await register(portal.unmailed, email);
    await portal.one.send("POST", "/v1/auth/password-reset", { body: { email }, headers: newClient() });
    const page = await open(await mailedLink(email));
    await page.submit(NEXT);
    assert.match(page.shown(), /^Your password is set/);
    assert.equal((await login(portal.one, { email, password: NEXT })).status, 200);
  });
});
