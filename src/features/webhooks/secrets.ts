import { type SecretBox, SecretBoxError } from "../../platform/secret-box.ts";
import { testSigningSecret } from "./signature.ts";

/** The context that a signing secret is sealed for. A rotated one stays with its webhook, hence the same context. */
export function secretSealContext(owner: { webhookId: string } | { teamId: string }): string {
  return "webhookId" in owner
    ? `webhooks.secret:${owner.webhookId}`
    : `team_webhook_secrets.secret:${owner.teamId}`;
}

export interface SealedSecrets {
  team_id: string;
  /** null: signed with the team's secret. */
  webhook_id: string | null;
  livemode: boolean;
  secret: Buffer | null;
  old_secret: Buffer | null;
}

/**
 * The secret before the last rotation, if it can be opened. After a change of SECRETS_KEY it cannot, and rotating is how a
 * team's webhooks work again: the old secret must not prevent that for another day.
 */
function oldSecrets(box: SecretBox, old: Buffer | null, place: string): string[] {
  if (old === null) return [];
  try {
    return [box.open(old, place)];
  } catch (error) {
    if (error instanceof SecretBoxError) return [];
    throw error;
  }
}

/**
 * The secrets that sign a delivery, the current one first.
 * @throws SecretBoxError when the current one cannot be opened; Error when there is none
 */
export function openSecrets(box: SecretBox, sealed: SealedSecrets): string[] {
  const { webhook_id: webhookId, team_id: teamId } = sealed;
  const place = secretSealContext(webhookId === null ? { teamId } : { webhookId });
  if (sealed.secret === null) throw new Error("the signing secret is missing");
  const secret = box.open(sealed.secret, place);
  const isOfTestJob = webhookId === null && !sealed.livemode;
  return [isOfTestJob ? testSigningSecret(secret) : secret, ...oldSecrets(box, sealed.old_secret, place)];
}
