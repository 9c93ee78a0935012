import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { createPasswords } from "../../../src/features/accounts/password.ts";
import { hashSecret, newSecret } from "../../../src/features/identity/api-key.ts";
import {
  invitesOf,
  login,
  newClient,
  newEmail,
  PASSWORD,
  register,
  usePortal,
} from "../../support/portal.ts";
import type { Response } from "../../support/service.ts";

/** A new password that is easily guessed is refused wherever one is chosen, and the old one remains valid. */
const portal = usePortal();
const { invite, accept } = invitesOf(portal);

const COMMON = [
  "password1234",
  "Password123!",
  "letmein12345",
  "123456789012",
  "aaaaaaaaaaaa",
  "abcabcabcabc",
];

function assertRefused(
  { status, body }: Response<Record<string, unknown>>,
  path: string,
  what: string,
): void {
  assert.deepEqual([status, body.code], [400, "validation_failed"], what);
  const [error] = body.errors as { path: string; message: string }[];
  assert.equal(error?.path, path);
  assert.match(error?.message ?? "", /too easily guessed|at least 12/);
  assert.ok(!JSON.stringify(body).includes(what), "it is not quoted");
}

/** First guesses for an account: common passwords, and its own names. */
const guesses = (email: string, teamName: string) => [
  ...COMMON,
  email,
  email.toUpperCase(),
  `${email.split("@")[0]}12345`,
  teamName,
  `${teamName.replaceAll(" ", "")}2026!`,
];

describe("a password that is easily guessed is refused", () => {
  it("in registering, and no account is made", async () => {
    const email = newEmail();
    const team_name = "Blue Herons GmbH";
    for (const password of guesses(email, team_name)) {
      const body = { email, password, team_name };
      assertRefused(
        await portal.one.send("POST", "/v1/auth/register", { body, headers: newClient() }),
        "password",
        password,
      );
    }
    const users = await portal.deployment.sql`select from users where email = ${email}`;
    assert.equal(users.length, 0);
  });

  it("in registering, and counted for the client, since each costs milliseconds of the event loop", async () => {
    const [email, headers] = [newEmail(), newClient()];
    for (let i = 0; i < LIMITS.portal.registrationsPerAddress; i++)
      assertRefused(await register(portal.one, email, "password1234", headers), "password", "password1234");
    assert.equal((await register(portal.two, email, "password1234", headers)).body.code, "rate_limited");
  });

  it("in changing it, and by a mailed link, which stays good", async () => {
    const email = newEmail();
    const { body } = await register(portal.unmailed, email);
    const token = newSecret("pwr");
    await portal.deployment.sql`
      insert into password_resets (hash, user_id, expires_at)
      values (${Buffer.from(hashSecret(token), "hex")}, ${body.user.id}, now() + interval '1 hour')`;
    for (const next of guesses(email, body.team.name)) {
      const change = { current_password: PASSWORD, new_password: next };
      assertRefused(
        await portal.one.send("POST", "/v1/auth/password", {
          key: body.session.token,
          body: change,
          headers: newClient(),
        }),
        "new_password",
        next,
      );
      assertRefused(
        await portal.two.send("POST", "/v1/auth/password-reset/confirm", {
          body: { token, new_password: next },
          headers: newClient(),
        }),
        "new_password",
        next,
      );
    }
    assert.equal((await login(portal.one, { email, password: PASSWORD })).status, 200);
    const confirmed = await portal.two.send("POST", "/v1/auth/password-reset/confirm", {
      body: { token, new_password: "another long password" },
      headers: newClient(),
    });
    assert.equal(confirmed.status, 204);
  });

  it("in accepting an invitation, the same whether the address has an account or not", async () => {
    const team = await portal.deployment.team("pro");
    const [fresh, known] = [newEmail(), newEmail()];
    await register(portal.unmailed, known);
    for (const email of [fresh, known]) {
      const { body } = await invite(team.session, { email });
      for (const password of ["password1234", `${email.split("@")[0]}12345`, "short"])
        assertRefused(await accept({ token: body.token, password }), "password", password);
      assert.equal((await accept({ token: body.token, password: PASSWORD })).status, 200);
    }
  });
});

describe("a password from before the rules", () => {
  it("still signs in and accepts invitations", async () => {
    const email = newEmail();
    await register(portal.unmailed, email);
    const hash = await createPasswords(2).hash("qwertyuiop", { standing: "known", share: "usr_1" });
    await portal.deployment.sql`update users set password_hash = ${hash} where email = ${email}`;
    assert.equal((await login(portal.two, { email, password: "qwertyuiop" })).status, 200);
    const team = await portal.deployment.team("pro");
    const { body } = await invite(team.session, { email });
    assert.equal((await accept({ token: body.token, password: "qwertyuiop" })).status, 200);
  });
});

describe("a long password", () => {
  it("of any characters is taken: 64 and 200 of them", async () => {
    for (const length of [64, 200]) {
      const email = newEmail();
      const password = "pass ✓ é 日 "
        .repeat(40)
        .slice(0, length - 1)
        .padEnd(length, "!");
      assert.equal((await register(portal.unmailed, email, password)).status, 201);
      assert.equal((await login(portal.two, { email, password })).status, 200);
    }
  });
});
