import type { SecretBox } from "../secret-box.ts";

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
 * What a delivery is signed with, the secret in force first.
 * @throws SecretBoxError when one cannot be opened; Error when there is none
 */
export function openSecrets(box: SecretBox, sealed: SealedSecrets): string[] {
  const { webhook_id: webhookId, team_id: teamId } = sealed;
  const place = secretPlace(webhookId === null ? { teamId } : { webhookId });
  if (sealed.secret === null) throw new Error("there is no secret to sign with");
  const old = sealed.old_secret === null ? [] : [box.open(sealed.old_secret, place)];
  return [box.open(sealed.secret, place), ...old];
}
