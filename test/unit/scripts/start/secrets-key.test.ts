import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { keptSecretsKey } from "../../../../scripts/start/secrets-key.ts";

const folder = mkdtempSync(join(tmpdir(), "rcpt-secrets-"));
after(() => rmSync(folder, { recursive: true }));

test("a key is made once, for its owner's eyes only, and is the same ever after", () => {
  const { SECRETS_KEY = "" } = keptSecretsKey(folder, {});
  assert.equal(Buffer.from(SECRETS_KEY, "base64").length, 32);
  assert.equal(statSync(join(folder, "secrets-key")).mode & 0o777, 0o600);
  assert.deepEqual(keptSecretsKey(folder, {}), { SECRETS_KEY });
});

test("the user's own is left alone, also where it is a mounted file", () => {
  assert.deepEqual(keptSecretsKey(folder, { SECRETS_KEY: "mine" }), {});
  assert.deepEqual(keptSecretsKey(folder, { SECRETS_KEY_FILE: "/run/secrets/key" }), {});
});
