import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, it } from "node:test";
import { PORTAL_PATHS } from "../../../src/api/pages/portal-page.ts";
import { PASSWORD } from "../../support/portal.ts";
import { newPerson, tokenOf, usePortalSite } from "../../support/portal-site.ts";

/** What the service answers a browser with: the portal's files, and the session's cookie, which counts for the portal's own pages and for no other site's. */
const site = usePortalSite();

const page = async (path: string, headers: Record<string, string> = {}) =>
  fetch(site.url + path, { headers });

describe("the portal's page", () => {
  it("is the same at each of its addresses, and names its files below the path that it is served at", async () => {
    const html = await (await page("/")).text();
    assert.match(html, /<script type="module" crossorigin src="\/base\/assets\/index-[\w-]+\.js">/);
    for (const path of PORTAL_PATHS) {
      const answer = await page(path);
      assert.equal(answer.status, 200, path);
      assert.equal(await answer.text(), html, path);
    }
    assert.equal((await page("/nowhere")).status, 404);
  });

  it("runs nothing but its own files, and is shown in no frame", async () => {
    const { headers } = await page("/sign-in");
    const policy = headers.get("content-security-policy") ?? "";
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "frame-ancestors 'none'",
    ])
      assert.ok(policy.split("; ").includes(part), part);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.deepEqual(
      ["x-content-type-options", "referrer-policy", "cache-control"].map((name) => headers.get(name)),
      ["nosniff", "no-referrer", "no-cache"],
    );
  });

  it("asks no other host", async () => {
    const html = await (await page("/")).text();
    assert.doesNotMatch(html, /https?:\/\//);
  });

  it("is not sent again to who has it", async () => {
    const etag = (await page("/")).headers.get("etag") ?? "";
    assert.equal((await page("/", { "If-None-Match": etag })).status, 304);
    assert.equal((await page("/", { "If-None-Match": `W/${etag}` })).status, 304);
    assert.equal((await page("/", { "If-None-Match": '"other"' })).status, 200);
  });
});

describe("a file of the portal", () => {
  it("is kept for ever, and compressed for who takes that", async () => {
    const name = /assets\/index-[\w-]+\.js/.exec(await (await page("/")).text())?.[0] ?? "";
    const plain = await page(`/${name}`, { "Accept-Encoding": "identity" });
    assert.equal(plain.headers.get("cache-control"), "public, max-age=31536000, immutable");
    assert.equal(plain.headers.get("content-encoding"), null);
    const compressed = await page(`/${name}`, { "Accept-Encoding": "gzip, br" });
    assert.equal(compressed.headers.get("content-encoding"), "br");
    assert.equal(await compressed.text(), await plain.text());
  });

  it("is found by its whole name alone", async () => {
    for (const name of ["..%2findex.html", "index.js", "%00", "constructor"])
      assert.equal((await page(`/assets/${name}`)).status, 404, name);
  });
});

const PORTAL = { "X-Rcpt-Portal": "1" };

async function signIn(headers: Record<string, string>) {
  const { email } = await site.owner();
  const answer = await fetch(`${site.url}/v1/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ email, password: PASSWORD }),
  });
  const body = (await answer.json()) as { session: { token: string | null } };
  return { answer, body, cookie: answer.headers.get("set-cookie") };
}

/** The cookie as a browser sends it. */
async function sessionCookie(): Promise<string> {
  const { cookie } = await signIn(PORTAL);
  return cookie?.split(";")[0] ?? "";
}

interface Sent {
  method?: string;
  headers: Record<string, string>;
  body?: string;
}

/** Not by `fetch`, which writes `Sec-Fetch-Mode` itself. */
async function statusOf(path: string, { method = "GET", headers, body }: Sent): Promise<number> {
  const sent = request(site.url + path, { method, headers, agent: false }).end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode ?? 0;
}

describe("signing in", () => {
  it("from the portal puts the session into a cookie that no script reads, and not into the answer", async () => {
    const { answer, body, cookie } = await signIn(PORTAL);
    assert.deepEqual([answer.status, body.session.token], [200, null]);
    assert.match(
      cookie ?? "",
      /^__Host-rcpt_session=rcpt_sess_\w+; Expires=[^;]+ GMT; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    );
  });

  it("from a program answers with the token, and sets no cookie", async () => {
    const { body, cookie } = await signIn({});
    assert.match(body.session.token ?? "", /^rcpt_sess_/);
    assert.equal(cookie, null);
  });

  it("from another site's page sets no cookie", async () => {
    for (const headers of [{ "Sec-Fetch-Site": "cross-site" }, { Origin: "https://evil.example" }])
      assert.equal((await signIn({ ...PORTAL, ...headers })).cookie, null);
  });
});

describe("the session's cookie", () => {
  it("counts with what only the portal's scripts send", async () => {
    const Cookie = await sessionCookie();
    const own = new URL(site.url).origin;
    assert.equal(await statusOf("/v1/auth/me", { headers: { Cookie, ...PORTAL } }), 200);
    assert.equal(await statusOf("/v1/auth/me", { headers: { Cookie, ...PORTAL, Origin: own } }), 200);
    const sameOrigin = { "Sec-Fetch-Site": "same-origin" };
    assert.equal(await statusOf("/v1/auth/me", { headers: { Cookie, ...PORTAL, ...sameOrigin } }), 200);
    assert.equal(
      await statusOf("/v1/auth/me", { headers: { Cookie: `a=b; ${Cookie}; c=d`, ...PORTAL } }),
      200,
    );
  });

  it("counts for what a page of the portal links to, and changes nothing so", async () => {
    const Cookie = await sessionCookie();
    const link = { Cookie, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate" };
    assert.equal(await statusOf("/v1/usage", { headers: link }), 200);
    assert.equal(await statusOf("/v1/auth/logout", { method: "POST", headers: link }), 401);
  });

  it("does not count for other sites, whatever they send", async () => {
    const Cookie = await sessionCookie();
    const hostile: Record<string, string>[] = [
      {},
      { "Sec-Fetch-Site": "cross-site" },
      { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors" },
      { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" },
      { "Sec-Fetch-Site": "same-site" },
      { "Sec-Fetch-Site": "none" },
      { Origin: "https://evil.example" },
      { ...PORTAL, "Sec-Fetch-Site": "cross-site" },
      { ...PORTAL, "Sec-Fetch-Site": "same-site" },
      { ...PORTAL, Origin: "https://evil.example" },
      { ...PORTAL, Origin: "null" },
      { ...PORTAL, Origin: `${new URL(site.url).origin}0` },
    ];
    for (const headers of hostile)
      for (const method of ["GET", "POST"]) {
        const path = method === "GET" ? "/v1/usage" : "/v1/auth/logout";
        const status = await statusOf(path, { method, headers: { Cookie, ...headers } });
        assert.equal(status, 401, `${method} ${JSON.stringify(headers)}`);
      }
    assert.equal(await statusOf("/v1/auth/me", { headers: { Cookie, ...PORTAL } }), 200);
  });

  it("is not taken from a name that only looks like its own, nor where there are two", async () => {
    const Cookie = await sessionCookie();
    for (const text of [
      `x=y;\u00a0${Cookie}`,
      `a${Cookie}`,
      `${Cookie}; ${Cookie}`,
      `__Host-rcpt_session=x; ${Cookie}`,
    ])
      assert.equal(await statusOf("/v1/auth/me", { headers: { Cookie: text, ...PORTAL } }), 401, text);
  });

  it("does not count beside another credential, or when it is not one", async () => {
    const Cookie = await sessionCookie();
    const headers = { Cookie, ...PORTAL, Authorization: "Bearer rcpt_live_wrong" };
    assert.equal(await statusOf("/v1/auth/me", { headers }), 401);
    for (const text of [
      "__Host-rcpt_session=",
      "__Host-rcpt_session=a b",
      "x__Host-rcpt_session=a",
      '=;;="\u00ff',
    ])
      assert.equal(await statusOf("/v1/auth/me", { headers: { Cookie: text, ...PORTAL } }), 401, text);
  });

  it("does not keep a person from accepting an invitation when its session has ended", async () => {
    const Cookie = await sessionCookie();
    const headers = { Cookie, ...PORTAL, "Content-Type": "application/json" };
    assert.equal(await statusOf("/v1/auth/logout", { method: "POST", headers }), 204);
    const { session } = await site.owner();
    const email = newPerson();
    await site.api.send("POST", "/v1/team/invites", { key: session, body: { email } });
    const token = tokenOf(await site.mailedLink(email));
    const body = JSON.stringify({ token, password: PASSWORD });
    const accept = (more: Record<string, string>) =>
      statusOf("/v1/auth/accept-invite", { method: "POST", headers: { ...headers, ...more }, body });
    assert.equal(await accept({ Authorization: `Bearer ${session.slice(0, -1)}x` }), 401);
    assert.equal(await accept({}), 200);
  });

  it("is gone when its session is ended", async () => {
    const Cookie = await sessionCookie();
    const headers = { Cookie, ...PORTAL };
    const left = await fetch(`${site.url}/v1/auth/logout`, { method: "POST", headers });
    assert.equal(left.status, 204);
    assert.match(left.headers.get("set-cookie") ?? "", /^__Host-rcpt_session=; Max-Age=0; Path=\/;/);
    assert.equal(await statusOf("/v1/auth/me", { headers }), 401);
  });
});
