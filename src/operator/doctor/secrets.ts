import { mailSealContext } from "../../features/mail/queue.ts";
import { secretSealContext } from "../../features/webhooks/secrets.ts";
import { createSecretBox, type SecretBox } from "../../platform/secret-box.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { type DoctorFinding, type DoctorGroup, errorLine, fail, ok, skipped } from "./finding.ts";
import { hasDatabase, openDatabase } from "./postgres.ts";
import { concerns } from "./roles.ts";

/** One text of each kind that is stored sealed, the oldest and the latest, where there are any. */
interface Sealed {
  what: string;
  place: string;
  bytes: Buffer;
}

async function sealedSamples(sql: Database): Promise<Sealed[]> {
  const webhooks = await sql<{ id: string; secret: Buffer }[]>`
    (select id, secret from webhooks order by id limit 1) union all
    (select id, secret from webhooks order by id desc limit 1)`;
  const teams = await sql<{ team_id: string; secret: Buffer }[]>`
    (select team_id, secret from team_webhook_secrets order by team_id limit 1) union all
    (select team_id, secret from team_webhook_secrets order by team_id desc limit 1)`;
  const mails = await sql<{ id: string; sealed: Buffer }[]>`
    select id, sealed from mail_outbox where expires_at > now() limit 1`;
  return [
    ...webhooks.map(({ id, secret }) => ({
      what: "a webhook's secret",
      place: secretSealContext({ webhookId: id }),
      bytes: secret,
    })),
    ...teams.map(({ team_id: teamId, secret }) => ({
      what: "a team's webhook secret",
      place: secretSealContext({ teamId }),
      bytes: secret,
    })),
    ...mails.map(({ id, sealed }) => ({ what: "a waiting mail", place: mailSealContext(id), bytes: sealed })),
  ];
}

/** Judges whether the key opens the stored secrets. Pure. @param box null: SECRETS_KEY is not set */
export function judgeSecrets(box: SecretBox | null, samples: readonly Sealed[]): DoctorFinding {
  const check = "SECRETS_KEY";
  if (box === null) {
    if (samples.length === 0)
      return skipped(check, "SECRETS_KEY is not set, and nothing is stored under one.");
    return fail(
      check,
      `SECRETS_KEY is not set, and ${samples[0]?.what} is stored under one: webhooks cannot be signed.`,
      "Set SECRETS_KEY to what it was.",
    );
  }
  const closed = samples.filter(({ bytes, place }) => !opens(box, bytes, place));
  if (closed.length === 0)
    return ok(check, samples.length === 0 ? "Nothing is stored under it yet." : "It opens what is stored.");
  const kinds = [...new Set(closed.map(({ what }) => what))].join(" and ");
  const part = closed.length < samples.length ? "; others it does" : "";
  return fail(
    check,
    `SECRETS_KEY does not open ${kinds}${part}: such webhooks cannot be signed, such mails not be sent.`,
    "Set SECRETS_KEY to what it was (all processes need the same), or rotate what was lost (docs/operations.md).",
  );
}

function opens(box: SecretBox, bytes: Buffer, place: string): boolean {
  try {
    box.open(bytes, place);
    return true;
  } catch {
    return false;
  }
}

export const SECRETS_GROUP: DoctorGroup = {
  name: "secrets",
  title: "stored secrets",
  async examine(subject, examination) {
    if (!concerns(subject.config.role, "secrets"))
      return examination.note(
        skipped(
          "SECRETS_KEY",
          "A worker opens nothing, and needs no key: run the doctor in an api or a relay too.",
        ),
      );
    if (!hasDatabase(subject, examination)) return;
    const sql = openDatabase(subject, examination);
    const { secretsKey } = subject.config;
    if (secretsKey === null && subject.diagnosis.problems.some(({ setting }) => setting === "SECRETS_KEY"))
      return examination.note(skipped("SECRETS_KEY", "SECRETS_KEY is wrong."));
    try {
      const samples = await sealedSamples(sql);
      examination.note(judgeSecrets(secretsKey === null ? null : createSecretBox(secretsKey), samples));
    } catch (error) {
      examination.note(skipped("SECRETS_KEY", `What is stored cannot be read (${errorLine(error)}).`));
    }
  },
};
