import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LIMITS } from "../../../src/config/limits/limits.ts";
import { invitesOf, newEmail, PASSWORD, register, usePortal } from "../../support/portal.ts";
import { until } from "../../support/until.ts";

/** Invitations cannot flood a mailbox: the mails stop, the invitations do not. */
const portal = usePortal();
const { invite, accept } = invitesOf(portal);

async function queueIsEmpty(): Promise<void> {
  await until("every mail was sent", async () => {
    const [row] = await portal.deployment.sql<[{ count: number }]>`select count(*)::int from mail_outbox`;
    return row.count === 0;
  });
}

describe("the mails of invitations", () => {
  it("to one address stop for the day, whichever team they come from; its links go on working", async () => {
    const email = newEmail();
    const more = LIMITS.portal.inviteMailsPerRecipient + 3;
    const teams = await Promise.all(Array.from({ length: more }, () => portal.deployment.team("pro")));
    await register(portal.unmailed, email);
    const answers = await Promise.all(teams.map(({ session }) => invite(session, { email }, portal.one)));
    assert.ok(answers.every(({ status }) => status === 201));
    const mailed = answers.filter(({ body }) => body.mailed);
    assert.equal(mailed.length, LIMITS.portal.inviteMailsPerRecipient);
    await queueIsEmpty();
    assert.equal(portal.sink.to(email).length, LIMITS.portal.inviteMailsPerRecipient);
    const silent = answers.find(({ body }) => !body.mailed) ?? assert.fail("all were mailed");
    assert.equal((await accept({ token: silent.body.token, password: PASSWORD })).status, 200);
  });

  it("of a free team stop for the day, whomever they go to", async () => {
    const { body: account } = await register(portal.unmailed, newEmail());
    const emails = Array.from({ length: LIMITS.portal.inviteMailsOfFreeTeam + 2 }, newEmail);
    const answers = [];
    for (const email of emails) answers.push(await invite(account.session.token, { email }, portal.one));
    assert.ok(answers.every(({ status }) => status === 201));
    const mailed = answers.map(({ body }) => body.mailed);
    assert.deepEqual(mailed, [...Array(LIMITS.portal.inviteMailsOfFreeTeam).fill(true), false, false]);
    await queueIsEmpty();
    for (const [i, email] of emails.entries()) assert.equal(portal.sink.to(email).length, mailed[i] ? 1 : 0);
  });
});
