import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { judgeLogs, secretIn, secretsInLogs } from "../../../scripts/test/secrets.ts";
import { newSecret } from "../../../src/features/identity/api-key.ts";

describe("the search for secrets in logs", () => {
  it("finds each kind, wherever it is in a line", () => {
    const secrets: [string, string][] = [
      [newSecret("live"), "a key or session"],
      [newSecret("sess"), "a key or session"],
      [`rcpt_inv_${"a1B2c3".repeat(6)}`, "a token of ours"],
      ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a webhook's secret"],
      ["sk_test_51Habc", "a Stripe key"],
      ["Bearer abcdefgh1234", "a credential"],
      ['"authorization":"x"', "a header with a credential"],
      ["correct horse battery", "a password of a test"],
      ["$argon2id$v=19$m=1", "a password of a test"],
      ["postgres://rcpt:hunter2@127.0.0.1:5432/x", "a password in a URL"],
      ["Exists-7@plain.test", "an address"],
      ["/v1/verify?email=exists-7%40plain.test", "an address in a URL"],
    ];
    for (const [secret, what] of secrets) {
      const line = `{"level":"info","msg":${secret.startsWith('"') ? `"x",${secret}` : `"so ${secret}"`}}`;
      assert.equal(secretIn(line)?.what, what, secret);
    }
  });

  it("lets pass what may be logged", () => {
    for (const line of [
      '{"request_id":"req_01h455vb4pex5vsknk084sn02q","team_id":"team_01h455vb4pex5vsknk084sn02q"}',
      '{"key_id":"key_01h455vb4pex5vsknk084sn02q","route":"/v1/keys/{id}","status":401}',
      '{"authorization":"[Redacted]"}',
      '{"prefix":"rcpt_live_1aB2","last4":"x9Yz"}',
      '{"err":{"message":"connect ECONNREFUSED 127.0.0.1:6379"},"site":"mx.plain.test"}',
      '{"url":"redis://127.0.0.1:6379/3"}',
    ])
      assert.equal(secretIn(line), null, line);
  });

  it("says where it is, and how much was looked at", () => {
    const folder = mkdtempSync(join(tmpdir(), "rcpt-secrets-"));
    try {
      writeFileSync(join(folder, "a.jsonl"), '{"ok":1}\n{"ok":2}\n');
      writeFileSync(
        join(folder, "b.jsonl"),
        `{"ok":1}\n{"token":"${newSecret("test")}"}\n${"x".repeat(3_000_000)}`,
      );
      const { lines, findings } = secretsInLogs(folder);
      assert.equal(lines, 5);
      assert.equal(findings.length, 1);
      assert.match(findings[0] ?? "", /^b\.jsonl:2 a key or session: /);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("the logs of a run", () => {
  const judged = (text: string, linesMin: number) => {
    const folder = mkdtempSync(join(tmpdir(), "rcpt-secrets-"));
    try {
      if (text !== "") writeFileSync(join(folder, "a.jsonl"), text);
      return judgeLogs(folder, linesMin);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it("are good when there are enough, without a secret", () => {
    assert.deepEqual(judged('{"ok":1}\n{"ok":2}\n', 2), { lines: 2, faults: [] });
    assert.deepEqual(judged("", 0), { lines: 0, faults: [] });
  });

  it("show nothing when there are none, or too few", () => {
    assert.match(judged("", 1_000).faults.join(), /^only 0 lines were logged, of 1000 at least$/);
    assert.match(judged('{"ok":1}\n', 2).faults.join(), /^only 1 lines/);
  });

  it("are not good with a secret", () => {
    assert.match(
      judged(`{"token":"${newSecret("test")}"}\n`, 1).faults.join(),
      /^secret logged: a\.jsonl:1 /,
    );
  });

  it("are not good when the search has gone blind", (t) => {
    t.mock.method(RegExp.prototype, "exec", () => null);
    const { faults } = judged('{"ok":1}\n', 1);
    assert.equal(faults.length, 10);
    for (const fault of faults) assert.ok(fault.startsWith("the search for secrets does not see a"), fault);
  });
});
