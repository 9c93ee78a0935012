import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openSecrets, secretSealContext } from "../../../../src/features/webhooks/secrets.ts";
import { newSigningSecret, testSigningSecret } from "../../../../src/features/webhooks/signature.ts";
import { createSecretBox, SecretBoxError } from "../../../../src/platform/secret-box.ts";

const box = createSecretBox(Buffer.alloc(32, 1));
/** The box of a former SECRETS_KEY. */
const former = createSecretBox(Buffer.alloc(32, 2));
const place = secretSealContext({ webhookId: "wh_1" });
const sealed = (secret: Buffer | null, old: Buffer | null) => ({
  team_id: "team_1",
  webhook_id: "wh_1",
  livemode: true,
  secret,
  old_secret: old,
});

describe("what a delivery is signed with", () => {
  it("is the secret in force, and the one before while both hold", () => {
    assert.deepEqual(openSecrets(box, sealed(box.seal("new", place), null)), ["new"]);
    assert.deepEqual(openSecrets(box, sealed(box.seal("new", place), box.seal("old", place))), [
      "new",
      "old",
    ]);
  });

  it("is the new one alone when the one before was sealed under another SECRETS_KEY", () => {
    assert.deepEqual(openSecrets(box, sealed(box.seal("new", place), former.seal("old", place))), ["new"]);
  });

  it("is the team's secret for the URL of a live job, and its test secret for that of a test job", () => {
    const secret = newSigningSecret();
    const stored = {
      team_id: "team_1",
      webhook_id: null,
      secret: box.seal(secret, secretSealContext({ teamId: "team_1" })),
      old_secret: null,
    };
    assert.deepEqual(openSecrets(box, { ...stored, livemode: true }), [secret]);
    assert.deepEqual(openSecrets(box, { ...stored, livemode: false }), [testSigningSecret(secret)]);
    // Test webhooks have a secret of their own.
    const own = { ...sealed(box.seal("own", place), null), livemode: false };
    assert.deepEqual(openSecrets(box, own), ["own"]);
  });

  it("is nothing when the one in force cannot be opened", () => {
    const unreadable = sealed(former.seal("new", place), box.seal("old", place));
    assert.throws(() => openSecrets(box, unreadable), SecretBoxError);
    assert.throws(() => openSecrets(box, sealed(null, null)), /secret is missing/);
  });
});
