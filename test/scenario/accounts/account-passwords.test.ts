import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { newSecret } from "../../../src/features/identity/api-key.ts";
import {
  afterItEnded,
  login,
  newClient,
  newEmail,
  PASSWORD,
  PUBLIC_URL,
  register,
  usePortal,
} from "../../support/portal.ts";
import { until } from "../../support/until.ts";

/** Passwords: changed, lost, and guessed at; on two processes and a relay that mails. */
const portal = usePortal();

const NEXT = "another long password";
const isOpen = async (token: string) =>
  (await portal.two.send("GET", "/v1/auth/me", { key: token })).status === 200;

const ask = (email: unknown, headers = newClient()) =>
  portal.one.send("POST", "/v1/auth/password-reset", { body: { email }, headers });

const confirm = (token: string, password: string, api = portal.one, headers = newClient()) =>
  api.send("POST", "/v1/auth/password-reset/confirm", {
    body: { token, new_password: password },
    headers,
  });

/** The tokens that were mailed to the address, in the order of their mails, once there are so many. */
async function mailedTokens(email: string, count: number): Promise<string[]> {
  return until("the mails have come", () => {
    const mails = portal.sink.to(email);
    if (mails.length < count) return false;
    return mails.map(({ text }) => /^(rcpt_pwr_\w+)$/m.exec(text)?.[1] ?? "");
  });
}

describe("changing a password", () => {
  const change = (key: string, body: Record<string, unknown>, headers = newClient()) =>
    portal.one.send("POST", "/v1/auth/password", { key, body, headers });

  it("is refused to a session that has just ended, though it is cached: a password lasts", async () => {
    const email = newEmail();
    const { body } = await register(portal.unmailed, email);
    const key = body.session.token;
    assert.equal((await portal.one.send("GET", "/v1/auth/me", { key })).status, 200);
    await portal.deployment.sql`delete from sessions where user_id = ${body.user.id}`;
    const late = await change(key, { current_password: PASSWORD, new_password: NEXT });
    assert.deepEqual([late.status, late.body.code], [401, "unauthorized"]);
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 200);
  });

  it("needs the current one, ends all other sessions, and counts at once", async () => {
    const email = newEmail();
    const { body: first } = await register(portal.unmailed, email);
    const { body: second } = await login(portal.two, { email, password: PASSWORD });
    const missing = await change(first.session.token, { new_password: NEXT });
    assert.deepEqual([missing.status, missing.body.code], [400, "validation_failed"]);
    const wrong = await change(first.session.token, { current_password: NEXT, new_password: NEXT });
    assert.deepEqual([wrong.status, wrong.body.code], [401, "invalid_credentials"]);
    assert.equal(await isOpen(second.session.token), true);
    const done = await change(first.session.token, { current_password: PASSWORD, new_password: NEXT });
    assert.deepEqual([done.status, done.body], [204, null]);
    await afterItEnded();
    assert.equal(await isOpen(second.session.token), false);
    assert.equal(await isOpen(first.session.token), true);
    assert.equal((await login(portal.two, { email, password: PASSWORD })).status, 401);
    assert.equal((await login(portal.two, { email, password: NEXT })).status, 200);
  });

  it("gives one to an account that the operator made, by its session", async () => {
    const { ownerEmail, session } = await portal.deployment.team("pro");
    assert.equal((await change(session, { new_password: NEXT })).status, 204);
    assert.equal((await login(portal.two, { email: ownerEmail, password: NEXT })).body.team.tier, "pro");
    assert.equal((await change(session, { new_password: PASSWORD })).status, 400);
  });

  it("happens once of 10 at once, and no session that began with the old one is left", async () => {
    const email = newEmail();
    const { body } = await register(portal.unmailed, email);
    const headers = newClient();
    const changes = Array.from({ length: 10 }, (_, i) => `${NEXT} ${i}`);
    const answers = await Promise.all([
      ...changes.map((password) =>
        change(body.session.token, { current_password: PASSWORD, new_password: password }, newClient()),
      ),
      ...Array.from({ length: 8 }, () => login(portal.two, { email, password: PASSWORD }, headers)),
    ]);
    const changed = answers.slice(0, 10).filter(({ status }) => status === 204);
    assert.equal(changed.length, 1);
    assert.ok(answers.every(({ status }) => status === 204 || status === 401 || status === 200));
    const [row] = await portal.deployment.sql<[{ count: number }]>`
      select count(*)::int from sessions where user_id = ${body.user.id}`;
    assert.equal(row.count, 1);
    assert.equal(await isOpen(body.session.token), true);
  });
});

describe("a lost password", () => {
  it("is replaced by a mailed link, once; all sessions end", async () => {
    const email = newEmail();
    const { body } = await register(portal.unmailed, email);
    const { status } = await ask(email.toUpperCase());
    assert.equal(status, 202);
    const [token = ""] = await mailedTokens(email, 1);
    const [mail] = portal.sink.to(email);
    assert.ok(mail?.text.includes(`${PUBLIC_URL}/reset-password#token=${token}`), mail?.text);
    assert.equal(mail?.headers.get("subject"), "Choose a new password");
    assert.equal(mail?.from, "rcpt@sender.example");
    assert.match(mail?.headers.get("content-type") ?? "", /^text\/plain/);
    assert.equal((await confirm(token, "short")).status, 400);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => confirm(token, NEXT, i % 2 === 0 ? portal.one : portal.two)),
    );
    const outcomes = answers.map(({ status, body }) => `${status} ${body?.code ?? ""}`).sort();
    assert.deepEqual(outcomes, ["204 ", ...Array(9).fill("410 token_unusable")]);
    await afterItEnded();
    assert.equal(await isOpen(body.session.token), false);
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 401);
    assert.equal((await login(portal.one, { email, password: NEXT })).status, 200);
  });

  it("is replaced past a lock-out: the link proves the account, its counters begin anew", async () => {
    const email = newEmail();
    await register(portal.unmailed, email);
    const home = newClient();
    const tryIn = (password: string) => login(portal.two, { email, password }, home);
    for (let i = 0; i < LIMITS.portal.signInPerPair; i++)
      assert.equal((await tryIn("a wrong password")).status, 401);
    assert.equal((await tryIn(PASSWORD)).status, 429);
    await ask(email);
    const [token = ""] = await mailedTokens(email, 1);
    assert.equal((await confirm(token, NEXT, portal.one, home)).status, 204);
    assert.equal((await tryIn(NEXT)).status, 200);
  });

  it("is answered the same for an address without an account, which gets no mail", async () => {
    const email = newEmail();
    await register(portal.unmailed, email);
    const unknownEmail = newEmail();
    const [known, unknown] = await Promise.all([ask(email), ask(unknownEmail)]);
    assert.deepEqual([known.status, known.body], [unknown.status, unknown.body]);
    await mailedTokens(email, 1);
    await until("every request was looked at", async () => {
      const [row] = await portal.deployment.sql<[{ count: number }]>`
        select (select count(*) from password_reset_requests)::int + (select count(*) from mail_outbox)::int as count`;
      return row.count === 0;
    });
    assert.equal(portal.sink.to(unknownEmail).length, 0);
    assert.deepEqual((await ask("no address")).status, 400);
  });

  it("makes every link unusable once one was used, or the password was changed, or its time has passed", async () => {
    const email = newEmail();
    const { body } = await register(portal.unmailed, email);
    await ask(email);
    await ask(email);
    const [first = "", second = ""] = await mailedTokens(email, 2);
    assert.equal((await confirm(second, NEXT)).status, 204);
    assert.equal((await confirm(first, NEXT)).status, 410);
    await ask(email);
    await ask(email);
    const tokens = await mailedTokens(email, 4);
    await portal.deployment.sql`
      update password_resets set expires_at = now() where user_id = ${body.user.id}`;
    for (const token of tokens) assert.equal((await confirm(token, PASSWORD)).status, 410);
    for (const token of ["", "x", newSecret("pwr"), newSecret("inv"), newSecret("sess")])
      assert.equal((await confirm(token, PASSWORD)).body.code, "token_unusable");
    assert.equal((await login(portal.one, { email, password: NEXT })).status, 200);
  });

  it(`is mailed ${LIMITS.portal.resetsPerUser} links at a time at most, from any client`, async () => {
    const email = newEmail();
    await register(portal.unmailed, email);
    const more = LIMITS.portal.resetsPerUser + 5;
    const answers = await Promise.all(Array.from({ length: more }, () => ask(email)));
    assert.ok(answers.every(({ status }) => status === 202));
    await until("every request was looked at", async () => {
      const [row] = await portal.deployment.sql<[{ count: number }]>`
        select (select count(*) from password_reset_requests)::int + (select count(*) from mail_outbox)::int as count`;
      return row.count === 0;
    });
    assert.equal(portal.sink.to(email).length, LIMITS.portal.resetsPerUser);
  });

  it("may be asked for so often by one client, and not where no mail is sent", async () => {
    const headers = newClient();
    for (let i = 0; i < LIMITS.portal.resetsPerAddress; i++)
      assert.equal((await ask(newEmail(), headers)).status, 202);
    const refused = await ask(newEmail(), headers);
    assert.deepEqual([refused.status, refused.body.code], [429, "rate_limited"]);
    const api = await portal.deployment.startApi();
    try {
      const email = newEmail();
      await register(portal.unmailed, email);
      for (const address of [email, newEmail(), "no address"]) {
        const answer = await api.send("POST", "/v1/auth/password-reset", { body: { email: address } });
        assert.deepEqual([answer.status, answer.body.code], [503, "feature_unconfigured"]);
      }
    } finally {
      await api.stop();
    }
  });
});

describe("guessing a password", () => {
  const weather: [string, () => void][] = [
    ["as usual", () => undefined],
    ["with Redis cut", () => portal.redis.shut()],
    ["with Redis silent", () => portal.redis.stall()],
  ];
  for (const [how, makeWeather] of weather) {
    it(`is stopped for the client, and not for the owner elsewhere, ${how}`, async () => {
      const email = newEmail();
      await register(portal.unmailed, email);
      const guesser = newClient();
      makeWeather();
      try {
        const guess = () => login(portal.one, { email, password: "a wrong password" }, guesser);
        const answers = await Promise.all(Array.from({ length: 30 }, guess));
        const counted = answers.filter(({ status }) => status === 401).length;
        assert.equal(counted, LIMITS.portal.signInPerPair);
        const limited = answers.filter(({ status }) => status === 429);
        assert.equal(limited.length, 30 - counted);
        for (const { body, headers } of limited) {
          assert.equal(body.code, "rate_limited");
          const retryAfterS = Number(headers.get("retry-after"));
          assert.ok(retryAfterS > 0 && retryAfterS <= LIMITS.portal.signInWindowMs / 1000);
        }
        // Also with the right password: else a guess that is refused would tell that it is right.
        assert.equal((await login(portal.one, { email, password: PASSWORD }, guesser)).status, 429);
        assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 200);
        assert.equal(
          (await login(portal.one, { email: newEmail(), password: PASSWORD }, guesser)).status,
          401,
        );
      } finally {
        portal.redis.open();
        await until("Redis is back", async () => (await portal.one.get("/readyz")).body.status === "ready");
      }
    });
  }

  it("is counted over both processes, and begins anew with a success", async () => {
    const email = newEmail();
    await register(portal.unmailed, email);
    await until("counts are shared", async () => {
      const headers = newClient();
      const address = newEmail();
      for (let i = 0; i < LIMITS.portal.signInPerPair; i++)
        await login(portal.one, { email: address, password: "a wrong password" }, headers);
      return (await login(portal.two, { email: address, password: PASSWORD }, headers)).status === 429;
    });
    const headers = newClient();
    const fail = (api: typeof portal.one) => login(api, { email, password: "a wrong password" }, headers);
    for (let i = 0; i < LIMITS.portal.signInPerPair - 1; i++)
      assert.equal((await fail(i % 2 === 0 ? portal.one : portal.two)).status, 401);
    assert.equal((await login(portal.two, { email, password: PASSWORD }, headers)).status, 200);
    for (let i = 0; i < LIMITS.portal.signInPerPair; i++)
      assert.equal((await fail(i % 2 === 0 ? portal.one : portal.two)).status, 401);
    assert.equal((await fail(portal.one)).status, 429);
    assert.equal((await fail(portal.two)).status, 429);
  });
});
