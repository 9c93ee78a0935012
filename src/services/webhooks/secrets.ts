import { type SecretBox, SecretBoxError } from "../secret-box.ts";

/** Where a signing secret belongs: what it is sealed for. A rotated one stays with its webhook, hence the same place. */
export function secretPlace(owner: { webhookId: string } | { teamId: string }): string {
  return "webhookId" in owner
    ? `webhooks.secret:${owner.webhookId}`
    : `team_webhook_secrets.secret:${owner.teamId}`;
}

export interface SealedSecrets {
  team_id: string;
  /** null: signed with the team's secret. */
  webhook_id: string | null;
  secret: Buffer | null;
  old_secret: Buffer | null;
}

/**
 * The secret before the last rotation, where there is one and it can be opened. After SECRETS_KEY was changed it cannot, and
 * rotating is how a team's webhooks come to work again: the old secret is not to keep them from it for a day more.
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
 * What a delivery is signed with, the secret in force first.
 * @throws SecretBoxError when that one cannot be opened; Error when there is none
 */
export function openSecrets(box: SecretBox, sealed: SealedSecrets): string[] {
  const { webhook_id: webhookId, team_id: teamId } = sealed;
  const place = secretPlace(webhookId === null ? { teamId } : { webhookId });
  if (sealed.secret === null) throw new Error("there is no secret to sign with");
  return [box.open(sealed.secret, place), ...oldSecrets(box, sealed.old_secret, place)];
}
