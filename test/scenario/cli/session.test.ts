import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  arfComplaint,
  asMbox,
  datedToday,
  eximBounce,
  gmailBounce,
  ordinaryMail,
} from "../../support/bounce-mails.ts";
import { PASSWORD } from "../../support/portal.ts";
import { RCPT_COMMAND } from "../../support/rcpt-command.ts";
import { createDeployment, type TestApi, type TestDeployment } from "../../support/service.ts";
import { createClosing } from "../../support/store.ts";
import { killTerminals, startInTerminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";

/** The sessions of docs/cli.md, typed into a terminal: it has to show what the page shows. */
const PAGE = readFileSync(resolve(import.meta.dirname, "../../../docs/cli.md"), "utf8");
const SHOWN = { url: "https://rcpt.example.com", email: "jane@example.com", home: "/home/jane" };
const EXPORT = "recipient,event\njane@customer.example,delivered\nx@customer.example,open\n";
const LIST = "name,email\nJane,exists@plain.test\nJohn,missing@plain.test\n";

const closing = createClosing();
let deployment: TestDeployment;
let api: TestApi;
let email: string;
let home: string;
let feedbackKey: string;

before(async () => {
  deployment = await createDeployment();
  closing.after(() => deployment.stop());
  [api] = await Promise.all([deployment.startApi(), deployment.startBulk(), deployment.startRelay()]);
  const team = await deployment.team("pro_plus");
  email = team.ownerEmail;
  // A team that registered by the portal has no keys.
  await deployment.sql`delete from api_keys where team_id = ${team.id}`;
  await api.send("POST", "/v1/auth/password", { key: team.session, body: { new_password: PASSWORD } });
  home = mkdtempSync(join(tmpdir(), "rcpt-home-"));
  mkdirSync(join(home, "bin"));
  const words = RCPT_COMMAND.map((word) => `'${word}'`).join(" ");
  writeFileSync(join(home, "bin", "rcpt"), `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(join(home, "bin", "rcpt"), 0o755);
  writeFileSync(join(home, "customers.csv"), LIST);
  writeFileSync(
    join(home, "bounces.mbox"),
    asMbox(datedToday(gmailBounce), ordinaryMail, datedToday(eximBounce)),
  );
  writeFileSync(join(home, "complaint.eml"), datedToday(arfComplaint));
  writeFileSync(join(home, "export.csv"), EXPORT);
  ({ liveKey: feedbackKey } = await deployment.team("pro_plus"));
});
after(async () => {
  killTerminals();
  await closing.close();
  rmSync(home, { recursive: true, force: true });
});

/** The commands of the page's sessions, each with the output shown there. */
function stepsOfPage(): { command: string; shown: string }[] {
  const sessions = [...PAGE.matchAll(/^```console\n(.*?)^```$/gms)].map(([, text = ""]) => text);
  return sessions.flatMap((session) =>
    session
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = "", ...lines] = step.trimEnd().split("\n");
        return { command, shown: lines.join("\n") };
      }),
  );
}

/** Without what differs from run to run: ids, keys, times and other numbers, and how wide a column is. */
const comparable = (text: string) =>
  text
    .replaceAll(/\b(job|key|evt)_\w+/g, "$1_ID")
    .replaceAll(/\brcpt_(live|test)_\S+/g, "rcpt_$1_KEY")
    .replaceAll(/rcpt on \S+/g, "rcpt on HOST")
    .replaceAll(/\d[\d.:TZ-]*/g, "N")
    .replaceAll(/, N rows\/s|, N s left/g, "")
    .replaceAll(/ +/g, " ");

const toPage = (text: string) =>
  text.replaceAll(api.url, SHOWN.url).replaceAll(email, SHOWN.email).replaceAll(home, SHOWN.home);

async function run(command: string): Promise<string> {
  const { DNS_SERVERS = "", SMTP_PORT = "" } = deployment.settings;
  const terminal = startInTerminal("/bin/sh", ["-c", command.replaceAll(SHOWN.url, api.url)], {
    env: {
      ...{
        HOME: home,
        PATH: `${join(home, "bin")}:${process.env.PATH}`,
        RCPT_RUN: process.env.RCPT_RUN ?? "",
      },
      ...{ DNS_SERVERS, SMTP_PORT, PROBE_PRIVATE_ADDRESSES: "true", CHECK_THREADS: "1" },
      SMTP_HELO_NAME: "probe.example.com",
      // Behind the session that logs out.
      ...(command.startsWith("rcpt feedback") ? { RCPT_URL: api.url, RCPT_API_KEY: feedbackKey } : {}),
    },
    cwd: home,
    columns: 160,
  });
  if (command.startsWith("rcpt login")) {
    await terminal.shows(/Email/);
    terminal.type(`${email}\r`);
    await terminal.shows(/Password/);
    terminal.type(`${PASSWORD}\r`);
  }
  assert.equal(await terminal.ended, 0, `${command}\n${terminal.screen()}`);
  return toPage(terminal.screen());
}

/** True once the key that `rcpt login` made has a time of its last use: the API writes these in batches. */
async function isUseWritten(): Promise<boolean> {
  const used = await deployment.sql`
    select from api_keys where label like 'rcpt on %' and last_used_at is not null`;
  return used.length > 0;
}

describe("a session of docs/cli.md", () => {
  const steps = stepsOfPage();
  it("is on the page", () => assert.ok(steps.length >= 5));

  for (const { command, shown } of steps)
    it(`shows what the page shows: ${command}`, async () => {
      if (command === "rcpt keys") await until("the use of the key is written", isUseWritten);
      const seen = await run(command);
      if (process.env.RCPT_SHOW_SESSION) console.log(`$ ${command}\n${seen}`);
      assert.equal(comparable(seen), comparable(shown));
    });
});
