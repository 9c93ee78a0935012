import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Accuracy } from "../../../src/features/feedback/accuracy.ts";
import {
  arfComplaint,
  asMbox,
  datedToday,
  eximBounce,
  gmailBounce,
  ordinaryMail,
} from "../../support/bounce-mails.ts";
import { runRcpt } from "../../support/rcpt-command.ts";
import { createDeployment, type Team, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";

/** `rcpt feedback` reads bounce messages from local files and reports them to the API. */
const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let team: Team;
let folder: string;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startBulk(), deployment.startRelay()]);
  folder = mkdtempSync(join(tmpdir(), "rcpt-feedback-"));
  closing.after(() => rmSync(folder, { recursive: true, force: true }));
});
after(closing.close);
beforeEach(async () => {
  team = await deployment.team("pro_plus");
});

const rcpt = (args: string[], input?: string) =>
  runRcpt(["feedback", ...args], {
    env: { RCPT_URL: api.url, RCPT_API_KEY: team.liveKey },
    ...(input === undefined ? {} : { input }),
  });

function file(name: string, content: Buffer | string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const accuracy = async () =>
  (await api.send<Accuracy>("GET", "/v1/feedback/accuracy", { key: team.liveKey })).body;

describe("rcpt feedback", () => {
  it("reports mailboxes, messages and tables together, and the same again counts nothing", async () => {
    const paths = [
      file("bounces.mbox", asMbox(datedToday(gmailBounce), ordinaryMail, datedToday(eximBounce))),
      file("complaint.eml", datedToday(arfComplaint)),
      file("export.csv", "recipient,event\njane@customer.example,delivered\nx@customer.example,open\n"),
    ];
    const first = await rcpt(paths);
    assert.equal(first.stderr, "");
    assert.equal(
      first.stdout,
      "delivered 1\nbounced 3: mailbox_not_found 2, domain_not_found 1\ncomplained 1\n" +
        "5 events counted, 0 known before, 2 ignored\n",
    );
    const again = await rcpt([...paths, "--json"]);
    assert.deepEqual(JSON.parse(again.stdout), { accepted: 0, duplicates: 5, ignored: 2 });
    const { groups } = await accuracy();
    assert.deepEqual(
      groups.map(({ provider, hard_bounced: hard }) => [provider, hard]),
      [
        [null, 2],
        ["google", 1],
      ],
    );
  });

  it("adds what a job had answered", async () => {
    const emails = ["exists@plain.test", "missing@plain.test"];
    const { body: job } = await api.send<{ id: string }>("POST", "/v1/verify/bulk", {
      key: team.liveKey,
      body: { emails, evidence: true },
    });
    const watched = await runRcpt(["jobs", "watch", job.id], {
      env: { RCPT_URL: api.url, RCPT_API_KEY: team.liveKey },
    });
    assert.equal(watched.code, 0, watched.stderr);
    const table =
      "email,status,reply\nexists@plain.test,bounced,550 5.1.1 no such user\nmissing@plain.test,delivered,\n";
    const reported = await rcpt(["-", "--job", job.id], table);
    assert.equal(reported.stderr, `2 events of 2 found in ${job.id}\n`);
    const { wrong } = await accuracy();
    assert.deepEqual(
      wrong.map(({ verdict, reason, rule, outcome }) => [verdict, reason, rule === null, outcome]).sort(),
      [
        ["invalid", "mailbox_not_found", false, "delivered"],
        ["valid", "accepted_mailbox", false, "bounced"],
      ],
    );
  });

  it("shows what it would report, and reports nothing", async () => {
    const shown = await rcpt([file("dry.eml", datedToday(gmailBounce)), "--dry-run", "--json"]);
    const { address, outcome, mx_host: host } = JSON.parse(shown.stdout);
    assert.deepEqual(
      [address, outcome, host],
      ["nobody@gmail.com", "bounced", "gmail-smtp-in.l.google.com."],
    );
    assert.deepEqual((await accuracy()).groups, []);
  });

  it("reads tables of very many rows", async () => {
    const rows = Array.from({ length: 150_000 }, (_, i) => `u${i}@customer.example,delivered`);
    const shown = await rcpt(["-", "--dry-run"], `email,event\n${rows.join("\n")}\n`);
    assert.deepEqual([shown.code, shown.stdout], [0, "delivered 150000\nignored 0\n"]);
  });

  it("says what is missing: an outcome, a file", async () => {
    const bare = await rcpt([file("bare.csv", "a@customer.example\n")]);
    assert.equal(bare.code, 2);
    assert.match(bare.stderr, /bare\.csv: outcome must be said.*--outcome/);
    const result = await rcpt([join(folder, "bare.csv"), "--outcome", "bounced"]);
    assert.match(result.stdout, /^bounced 1: unspecified 1\n1 event counted/);
    const none = await rcpt([join(folder, "none.csv")]);
    assert.deepEqual([none.code, none.stdout], [2, ""]);
    assert.match(none.stderr, /none\.csv cannot be read/);
    const all = await rcpt([`${folder}/`]);
    assert.deepEqual(
      [all.code, all.stderr],
      [2, `rcpt: ${folder}/ is a folder: name its files, such as ${folder}/*\n`],
    );
  });
});
