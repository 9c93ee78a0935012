import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { hashSecret, newSecret } from "../../../src/features/identity/api-key.ts";
import {
  login,
  newClient,
  newEmail,
  PASSWORD,
  PUBLIC_URL,
  register,
  type SignedInResponse,
  usePortal,
} from "../../support/portal.ts";
import type { Response } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** With mail, an address is confirmed before it gets an account; on two processes and a relay that mails. */
const portal = usePortal();

const ask = (email: string, password = PASSWORD, headers = newClient(), api = portal.one) =>
  register(api, email, password, headers);

const confirm = (
  token: string,
  password = PASSWORD,
  api = portal.one,
  headers = newClient(),
): Promise<SignedInResponse> =>
  api.send("POST", "/v1/auth/register/confirm", { body: { token, password }, headers });

const tokenIn = (text: string) => /^(rcpt_reg_\w+)$/m.exec(text)?.[1] ?? null;

/** The mails to an address, once there are so many. */
const mailsTo = (email: string, count: number) =>
  until("the mails have come", () => {
    const mails = portal.sink.to(email);
    return mails.length >= count ? mails : false;
  });

async function mailedToken(email: string): Promise<string> {
  const mail = (await mailsTo(email, 1)).at(-1);
  return tokenIn(mail?.text ?? "") ?? assert.fail(mail?.text);
}

/** Resolves when the relay has processed all registrations and has sent all mails. */
const allMailed = () =>
  until("all is mailed", async () => {
    const [row] = await portal.deployment.sql<[{ count: number }]>`
      select (select count(*) from registrations where hash is null)::int
        + (select count(*) from mail_outbox)::int as count`;
    return row.count === 0;
  });

async function usersOf(email: string): Promise<number> {
  return (await portal.deployment.sql`select from users where lower(email) = ${email.toLowerCase()}`).length;
}

/** Everything that the caller can see of an answer, with the given address removed. */
function shape({ status, body, headers }: Response<unknown>, email: string) {
  const names = [...headers.keys()].sort();
  const shown = JSON.stringify(body).replaceAll(email, "<email>");
  return { status, names, shown, bytes: shown.length, type: headers.get("content-type") };
}

describe("registering where mail is sent", () => {
  it("mails a link that makes account, team and session, once; nothing is there before", async () => {
    const email = newEmail();
    const answer = await ask(email);
    assert.deepEqual([answer.status, answer.body], [202, { status: "confirmation_sent", email }]);
    const [mail] = await mailsTo(email, 1);
    assert.equal(mail?.headers.get("subject"), "Confirm your address");
    const token = await mailedToken(email);
    assert.ok(mail?.text.includes(`${PUBLIC_URL}/confirm-registration#token=${token}`), mail?.text);
    assert.doesNotMatch(mail?.text ?? "", /team of/);
    assert.equal(await usersOf(email), 0);
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 401);

    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => confirm(token, PASSWORD, i % 2 === 0 ? portal.one : portal.two)),
    );
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(made.length, 1, JSON.stringify(answers.map(({ status, body }) => [status, body.code])));
    for (const { status, body } of answers)
      if (status !== 201) assert.match(String(body.code), /^(token_unusable|account_exists)$/);
    const [first] = made;
    assert.deepEqual(
      [first?.body.user.email, first?.body.team.name, first?.body.team.tier, first?.body.team.role],
      [email, `team of ${email}`, "free", "owner"],
    );
    const key = first?.body.session.token ?? "";
    const live = await portal.two.send("POST", "/v1/keys", { key, body: { label: "first", env: "live" } });
    assert.equal(live.status, 201);
    assert.equal((await confirm(token)).body.code, "token_unusable");
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 200);
  });

  it("answers the same whether the address has an account or not, after the same work", async () => {
    const [fresh, known] = [newEmail(), newEmail()];
    const { ownerEmail: bare } = await portal.deployment.team("pro");
    await register(portal.unmailed, known);
    const answers = [];
    for (const email of [fresh, known, bare, fresh, known, bare])
      answers.push(shape(await ask(email), email));
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    assert.equal(answers[0]?.status, 202);
    // Nothing but the relay looks the address up: the request notes the same row for each.
    await allMailed();
    const [told] = await mailsTo(known, 2);
    assert.equal(told?.headers.get("subject"), "You already have an account");
    assert.equal(tokenIn(told?.text ?? ""), null);
    assert.equal(portal.sink.to(bare).length, 2);
    assert.notEqual(await mailedToken(fresh), "");
  });

  it("leaves the same behind for every address while the relay has not looked", async () => {
    const [fresh, known] = [newEmail(), newEmail()];
    await register(portal.unmailed, known);
    await portal.withoutRelay(async () => {
      for (const email of [fresh, known]) await ask(email);
      const rows = await portal.deployment.sql<{ password_hash: string; hash: Buffer | null }[]>`
        select password_hash, hash from registrations where email in (${fresh}, ${known})`;
      assert.equal(rows.length, 2);
      for (const row of rows) {
        assert.match(row.password_hash, /^\$argon2id\$/);
        assert.equal(row.hash, null);
      }
    });
    assert.notEqual(await mailedToken(fresh), "");
  });

  it("does not make an account whose password the owner of the mailbox did not choose", async () => {
    const email = newEmail();
    await ask(email, "a stranger's own password");
    const strangers = await mailedToken(email);
    await ask(email, PASSWORD);
    const mine = tokenIn((await mailsTo(email, 2))[1]?.text ?? "") ?? "";
    const refused = await confirm(strangers, PASSWORD);
    assert.deepEqual([refused.status, refused.body.code], [401, "invalid_credentials"]);
    assert.equal(await usersOf(email), 0);
    assert.equal((await confirm(mine, PASSWORD)).status, 201);
    // Other registrations of the address are removed with it.
    assert.equal((await confirm(strangers, "a stranger's own password")).body.code, "token_unusable");
    assert.equal((await login(portal.one, { email, password: "a stranger's own password" })).status, 401);
  });

  it("is not confirmed by guessing, by another's token, or after its time; expired ones go", async () => {
    const email = newEmail();
    await ask(email);
    const token = await mailedToken(email);
    for (const wrong of ["", "x", "\0", newSecret("reg"), newSecret("pwr"), newSecret("inv")])
      assert.equal((await confirm(wrong)).body.code, "token_unusable");
    const guesser = newClient();
    for (let i = 0; i < LIMITS.portal.signInPerPair; i++)
      assert.equal((await confirm(token, "a wrong password", portal.one, guesser)).status, 401);
    assert.equal((await confirm(token, PASSWORD, portal.two, guesser)).status, 429);
    await portal.deployment.sql`update registrations set expires_at = now() where email = ${email}`;
    assert.equal((await confirm(token)).body.code, "token_unusable");
    await ask(email);
    const again = tokenIn((await mailsTo(email, 2))[1]?.text ?? "") ?? "";
    assert.equal((await confirm(again)).status, 201);
  });

  it("mails an address so often at most, in whatever spelling, and answers all the same", async () => {
    const email = newEmail();
    const { registrationMailsPerMailbox: most } = LIMITS.portal;
    for (let i = 0; i < most + 3; i++) {
      const spelling = email.replace("@", i % 2 === 0 ? "@" : `+${i}@`);
      assert.equal((await ask(spelling)).status, 202);
    }
    await allMailed();
    const mails = portal.sink.mails.filter(({ to }) => to[0]?.replace(/\+\d+/, "") === email);
    assert.equal(mails.length, most);
  });

  it("is limited by client address", async () => {
    const headers = newClient();
    const statuses = [];
    for (let i = 0; i <= LIMITS.portal.registrationsPerAddress; i++)
      statuses.push((await ask(newEmail(), PASSWORD, headers)).status);
    const last = statuses.pop();
    assert.ok(statuses.every((status) => status === 202));
    assert.equal(last, 429);
  });

  it("gives an account whose teams have gone a team again, for its own password", async () => {
    const email = newEmail();
    const { body } = await register(portal.unmailed, email);
    assert.equal((await portal.one.send("DELETE", "/v1/team", { key: body.session.token })).status, 204);
    await ask(email, "a stranger's own password");
    const token = await mailedToken(email);
    assert.equal((await confirm(token, "a stranger's own password")).status, 401);
    const back = await confirm(token, PASSWORD);
    assert.deepEqual([back.status, back.body.user.id], [201, body.user.id]);
    assert.equal((await login(portal.two, { email, password: PASSWORD })).status, 200);
  });

  for (const registration of ["invite", "closed"]) {
    it(`is refused at both steps where REGISTRATION=${registration}`, async () => {
      const email = newEmail();
      await ask(email);
      const token = await mailedToken(email);
      const api = await portal.deployment.startApi({
        REGISTRATION: registration,
        SMTP_OUT_URL: portal.sink.url,
        SMTP_OUT_FROM: "rcpt@sender.example",
        PUBLIC_URL,
        TRUSTED_PROXIES: "127.0.0.1",
      });
      try {
        for (const answer of [
          await ask(newEmail(), PASSWORD, newClient(), api),
          await confirm(token, PASSWORD, api),
        ])
          assert.deepEqual([answer.status, answer.body.code], [403, "registration_closed"]);
      } finally {
        await api.stop();
      }
    });
  }
});

describe("a token of a registration", () => {
  it("is stored as its hash alone, and the password as argon2id", async () => {
    const email = newEmail();
    await ask(email);
    const token = await mailedToken(email);
    const [row] = await portal.deployment.sql<{ hash: Buffer; text: string }[]>`
      select hash, r::text as text from registrations r where email = ${email}`;
    assert.equal(row?.hash.toString("hex"), hashSecret(token));
    assert.ok(!row?.text.includes(PASSWORD) && !row?.text.includes(token));
  });
});
