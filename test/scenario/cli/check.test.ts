import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createMailWorld, type MailWorld } from "../../support/mail-world/world.ts";
import { type CommandOptions, type CommandOutcome, runRcpt } from "../../support/rcpt-command.ts";
import { workbookOf } from "../../support/workbook.ts";

/** `rcpt check` in its own process. It needs only mail servers: no API and no stores. */
let world: MailWorld;
let folder: string;

before(async () => {
  world = await createMailWorld();
  folder = mkdtempSync(join(tmpdir(), "rcpt-cli-"));
});
after(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

function rcpt(args: string[], options: Omit<CommandOptions, "env"> = {}): Promise<CommandOutcome> {
  const env = {
    DNS_SERVERS: world.dnsServer,
    SMTP_PORT: String(world.smtpPort),
    PROBE_PRIVATE_ADDRESSES: "true",
    VERIFY_DEADLINE_MS: "30000",
    CHECK_THREADS: "1",
  };
  return runRcpt(args, { ...options, env });
}

const wordsOf = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ +/).slice(0, 3));

describe("rcpt check", () => {
  it("says of each address what it is and why, and counts them", async () => {
    const { code, stdout, stderr } = await rcpt([
      "check",
      "exists@plain.test",
      "missing@plain.test",
      "nonsense",
    ]);
    assert.deepEqual(wordsOf(stdout), [
      ["valid", "exists@plain.test", "accepted_mailbox"],
      ["invalid", "missing@plain.test", "mailbox_not_found"],
      ["invalid", "nonsense", "invalid_format"],
    ]);
    assert.match(stderr, /^3 addresses in [\d.]+ s: 1 valid, 2 invalid\n$/);
    assert.equal(code, 0);
  });

  it("reads lines of standard input, prints JSON lines, and fails as `--fail-on` says", async () => {
    const { code, stdout } = await rcpt(
      ["check", "-", "--json", "--evidence", "--fail-on", "invalid,risky"],
      {
        input: "exists@plain.test\n\nJane <missing@plain.test>\n",
      },
    );
    const [first, second] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual([first.email, first.verdict], ["exists@plain.test", "valid"]);
    assert.deepEqual([second.input, second.evidence.code], ["Jane <missing@plain.test>", 550]);
    assert.equal(code, 3);
  });

  it("asks no mail server with --no-probe", async () => {
    const { account } = world.host("mx.plain.test");
    const before = account.connections;
    const { stdout } = await rcpt(["check", "--no-probe", "exists@plain.test"]);
    assert.deepEqual(wordsOf(stdout), [["unknown", "exists@plain.test", "smtp_not_requested"]]);
    assert.equal(account.connections, before);
  });

  it("writes a list as it is, with what was found behind it", async () => {
    const path = join(folder, "list.csv");
    writeFileSync(
      path,
      'Name;Email\r\n"Größe; Jane";exists@plain.test\r\n=cmd();missing@plain.test\r\nShort\r\n',
    );
    const { code, stdout, stderr } = await rcpt(["check", "--csv", path]);
    const [header, jane, formula, short] = stdout.split("\r\n");
    assert.match(header ?? "", /^Name;Email;rcpt_verdict;rcpt_reason;/);
    assert.match(jane ?? "", /^"Größe; Jane";exists@plain\.test;valid;accepted_mailbox;/);
    assert.match(formula ?? "", /^'=cmd\(\);missing@plain\.test;invalid;mailbox_not_found;/);
    assert.match(short ?? "", /^Short;;unknown;empty;/);
    assert.deepEqual([code, stderr.split("\n").length], [0, 2]);
  });

  it("reads the given sheet of a workbook", async () => {
    const path = join(folder, "list.xlsx");
    const sheet = (email: string) => ({ name: email, rows: [["Email"], [email]] });
    writeFileSync(path, workbookOf({ sheets: [sheet("exists@plain.test"), sheet("missing@plain.test")] }));
    const { code, stdout, stderr } = await rcpt(["check", "--csv", path, "--sheet", "1"]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^missing@plain\.test,invalid,mailbox_not_found,/m);
  });

  it("takes the given column", async () => {
    const path = join(folder, "columns.csv");
    writeFileSync(path, "a,b\r\nx@plain.test,y@plain.test\r\nz@plain.test,w@plain.test\r\n");
    const { code, stdout } = await rcpt(["check", "--csv", path, "--column", "b", "--no-probe"]);
    assert.match(stdout, /^x@plain\.test,y@plain\.test,unknown,smtp_not_requested,\d+,y@plain\.test,/m);
    assert.equal(code, 0);
  });

  it("passes no control characters of foreign text to the terminal", async () => {
    const { stdout } = await rcpt(["check", "x\u001b[2J\u202e@", "--no-probe"]);
    assert.doesNotMatch(stdout.trimEnd(), /[\p{Cc}\p{Cf}]/u);
  });

  it("prints the dialogue with --trace, beside the results", async () => {
    const { stdout, stderr } = await rcpt(["check", "--trace", "missing@plain.test"]);
    assert.deepEqual(wordsOf(stdout), [["invalid", "missing@plain.test", "mailbox_not_found"]]);
    const lines = stderr.split("\n");
    const said = [
      /^\[1\] \* mx\.plain\.test \[127\.[\d.]+\] port \d+$/,
      /^\[1\] \* connected$/,
      /^\[1\] < 220 /,
      /^\[1\] > EHLO \S+$/,
      /^\[1\] < 250-/,
      /^\[1\] > MAIL FROM:<>$/,
      /^\[1\] > RCPT TO:<missing@plain\.test>$/,
      /^\[1\] < 550 /,
      /^\[1\] > QUIT$/,
    ];
    let from = 0;
    for (const pattern of said) {
      const at = lines.findIndex((line, i) => i >= from && pattern.test(line));
      assert.ok(at >= 0, `${pattern} in\n${stderr}`);
      from = at + 1;
    }
  });

  it("traces what is secured, and what is no reply, without letting it drive the terminal", async () => {
    const { stderr } = await rcpt(["check", "--trace", "garbage@rude.test", "flood@rude.test"]);
    assert.match(stderr, /^\[\d\] < .*\\x[0-9a-f]{2}/m);
    assert.doesNotMatch(stderr.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u);
    assert.ok(Buffer.byteLength(stderr) < 1_000_000);
  });

  it("answers what came before an endless line, and says what is wrong with it", async () => {
    const { code, stdout, stderr } = await rcpt(["check", "-", "--no-probe"], {
      input: `exists@plain.test\n${"x".repeat(70_000)}`,
      isOpen: true,
    });
    assert.deepEqual(wordsOf(stdout), [["unknown", "exists@plain.test", "smtp_not_requested"]]);
    assert.match(stderr, /^rcpt: a line of standard input is over 65536 bytes: give one address a line/m);
    assert.equal(code, 2);
  });

  it("ends when it is interrupted, with what it has printed", async () => {
    let isTold = false;
    const many = Array.from({ length: 3_000 }, (_, i) => `exists-${i}@plain.test`).join("\n");
    const { code, stdout, stderr } = await rcpt(["check", "-"], {
      input: many,
      onOutput: (printed, end) => {
        if (isTold || printed.split("\n").length <= 5) return;
        isTold = true;
        end();
      },
    });
    assert.match(stderr, /rcpt: interrupted/);
    assert.ok(stdout.split("\n").length < 3_000);
    assert.equal(code, 130);
  });

  it("answers each line when it comes, and is interrupted while none comes", async () => {
    const { code, stdout, stderr } = await rcpt(["check", "-"], {
      input: "exists@plain.test\n",
      isOpen: true,
      onOutput: (_printed, end) => end(),
    });
    assert.deepEqual(wordsOf(stdout), [["valid", "exists@plain.test", "accepted_mailbox"]]);
    assert.match(stderr, /rcpt: interrupted/);
    assert.equal(code, 130);
  });
});
