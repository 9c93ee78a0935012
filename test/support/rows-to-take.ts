import { LIMITS } from "../../src/config/limits/limits.ts";
import { pruneInvites } from "../../src/features/accounts/invite-sql.ts";
import { pruneResets, takeResetRequest } from "../../src/features/accounts/password-reset-sql.ts";
import { lockUnmailed, pruneRegistrations } from "../../src/features/accounts/registrations.ts";
import { deleteSurplusSessions, pruneSessions } from "../../src/features/accounts/session-sql.ts";
import { leaseReread } from "../../src/features/billing/billing-rereads.ts";
import { pruneStripeEvents } from "../../src/features/billing/subscription-sql.ts";
import { clearTasks, deleteJob } from "../../src/features/bulk/jobs/job-clearing.ts";
import { hideExpiredJobs } from "../../src/features/bulk/jobs/job-sql.ts";
import {
  emittedTasks,
  makeReadyAgain,
  takeReadyTasks,
} from "../../src/features/bulk/schedule/job-emission.ts";
import {
  releaseBlockedRetries,
  releaseEgress,
  takeReadyRetries,
} from "../../src/features/bulk/schedule/job-retries.ts";
import { pruneFeedback } from "../../src/features/feedback/feedback-sql.ts";
import {
  evictIdempotencyKeys,
  pruneIdempotencyKeys,
} from "../../src/features/idempotency/idempotency-sql.ts";
import { createCredentials } from "../../src/features/identity/credentials.ts";
import { deleteHistory } from "../../src/features/identity/team-sql.ts";
import { createMailOutbox } from "../../src/features/mail/mail-outbox.ts";
import { mergeOverrides } from "../../src/features/overrides/override-sql.ts";
import { forgetRevokedKeys } from "../../src/features/teams/key-sql.ts";
import { createTeamRemovals } from "../../src/features/teams/team-removal-sql.ts";
import { hideOldUploads } from "../../src/features/uploads/upload-sql.ts";
import { createUsageStore } from "../../src/features/usage/usage-sql.ts";
import { stopDeliveries } from "../../src/features/webhooks/webhook-deliveries.ts";
import {
  claimDeliveries,
  pruneEvents,
  takeWaitingEvents,
} from "../../src/features/webhooks/webhook-queue.ts";
import type { Database, Transaction } from "../../src/stores/postgres/postgres.ts";

/** Rows made in each table. */
export const PENDING = 20_000;

/** A statement that takes rows from a table as from a queue, or several of one function. */
export interface Taking {
  /** Name as `takersOfRows` gives it; `database …`: a function in the database. */
  place: string;
  /** SQL that inserts PENDING rows `n` of team `t1`, of its user `u1`. */
  fill: string;
  run(tx: Transaction): Promise<unknown>;
  /** Number of rows that it deletes or updates, by table. */
  takes: Record<string, number>;
  /** Number of rows that it returns, where it only locks rows. */
  returns?: number;
}

/** Functions that lock one or a few rows by their keys, so that they have no batch size to test. */
export const LOCKS_BY_KEY = [
  "src/features/bulk/schedule/job-tasks.ts finishRows",
  "src/features/quota/quota-ledger.ts flush",
  "src/features/quota/quota-ledger.ts lease",
  "src/features/accounts/registrations.ts takeRegistration",
  "src/features/usage/usage-sql.ts addUsage",
];

const N = 100;
const SERIES = `from generate_series(1, ${PENDING}) n`;
const HASH = "sha256(n::text::bytea)";
const LONG_AGO = "now() - interval '900 days'";
/** The transaction, for functions that ask for a pool. */
const pool = (tx: Transaction) => tx as Database;

const JOB_COLUMNS = `jobs (id, team_id, livemode, status, source, source_key, options, daily_quota, bulk_bytes, probing,
  with_evidence, metadata, rows_total, completed_at)`;
const JOB = (id: string, status: string, completedAt: string) =>
  `select ${id}, 't1', true, '${status}', '{}'::jsonb, 'key', '{}'::jsonb, 1, 1, true, false, '{}'::jsonb, 1, ${completedAt}`;
const ONE_JOB = `insert into ${JOB_COLUMNS} ${JOB("'j1'", "processing", "null::timestamptz")};`;
const ENDED_JOB = `insert into ${JOB_COLUMNS} ${JOB("'j1'", "failed", LONG_AGO)};`
  .replace(JOB_COLUMNS, JOB_COLUMNS.replace("completed_at)", "completed_at, error_code, error_detail)"))
  .replace(/;$/, ", 'internal_error', 'x';");
const CHUNKS = (state: string) => `insert into job_tasks (job_id, number, kind, row_count, state, emitted_at)
  select 'j1', n, 'chunk', 1, '${state}', ${state === "emitted" ? "now()" : "null::timestamptz"} ${SERIES};`;
const RETRIES = (
  state: string,
  dueAt: string,
) => `insert into job_tasks (job_id, number, kind, row_count, state, emitted_at,
    chunk, row_set, site, egress, reason, due_at)
  select 'j1', ${PENDING} + n, 'retry', 1, '${state}', ${state === "emitted" ? "now()" : "null::timestamptz"}, 1, '\\x01'::bytea,
    'site', 'e1', 'sender_blocked', ${dueAt} + n * interval '1 microsecond' ${SERIES};`;

const EVENTS = (
  createdAt: string,
  fannedOutAt: string,
) => `insert into events (id, team_id, type, livemode, data, created_at, fanned_out_at)
  select 'ev' || n, 't1', 'ping', true, '{}'::jsonb, ${createdAt}, ${fannedOutAt} ${SERIES};`;
const DELIVERIES = (
  status: string,
) => `insert into webhook_deliveries (id, team_id, event_id, url, lane, status, next_attempt_at)
  select 'd' || n, 't1', 'ev' || n, 'https://example.com', 't1', '${status}', ${status === "pending" ? "now()" : "null::timestamptz"} ${SERIES};`;
const KEYS = (
  revokedAt: string,
) => `insert into api_keys (id, team_id, user_id, label, env, role, hash, prefix, last4, revoked_at)
  select 'k' || n, 't1', 'u1', 'l', 'live', 'member', ${HASH}, 'p', '4444', ${revokedAt} ${SERIES};`;
const REGISTRATIONS = (expires: string) => `
  insert into registrations (id, email, password_hash, team_name, expires_at)
  select 'r' || n, 'r' || n || '@example.com', 'hash', 'a team', ${expires} ${SERIES};`;
const SESSIONS = (expiresAt: string) => `insert into sessions (id, hash, user_id, team_id, expires_at)
  select 's' || n, ${HASH}, 'u1', 't1', ${expiresAt} ${SERIES};`;
const IDEMPOTENCY_KEYS = (expiresAt: string) => `insert into idempotency_keys
    (team_id, livemode, key_hash, fingerprint, claim, locked_until, expires_at, status)
  select 't1', true, ${HASH}, ${HASH}, gen_random_uuid(), now(), ${expiresAt} + n * interval '1 second', 200 ${SERIES};`;
const RESETS = `insert into password_resets (hash, user_id, expires_at) select ${HASH}, 'u1', ${LONG_AGO} ${SERIES};`;
const WISHES = `insert into password_reset_requests (id, sealed_email, created_at) select 'w' || n, '\\x01', ${LONG_AGO} ${SERIES};`;
const MAILS = (expiresAt: string) =>
  `insert into mail_outbox (id, sealed, expires_at) select 'm' || n, '\\x01', ${expiresAt} ${SERIES};`;

const { prunedPerRound: portal, sessionsPerUser } = LIMITS.portal;
const { tasksPerStatement, emitJobs } = LIMITS.bulk;
const { spare, perTeam } = LIMITS.idempotency;

const FEEDBACK = `insert into feedback (team_id, day, outcome, address_hash, hard)
  select 't1', current_date - 900, 'delivered', lpad(n::text, 22, '0'), false ${SERIES};`;

export const TAKINGS: readonly Taking[] = [
  {
    place: "src/features/billing/billing-rereads.ts leaseReread",
    fill: `insert into billing_rereads (customer_id) select 'c' || n ${SERIES};`,
    run: (tx) => leaseReread(pool(tx)),
    takes: { billing_rereads: 1 },
  },
  {
    place: "src/features/billing/subscription-sql.ts pruneStripeEvents",
    fill: `insert into stripe_events (id, type, created_s, received_at) select 'e' || n, 't', n, ${LONG_AGO} ${SERIES};`,
    run: (tx) => pruneStripeEvents(pool(tx)),
    takes: { stripe_events: LIMITS.billing.prunedPerRound },
  },
  {
    place: "src/features/identity/credentials.ts touch",
    fill: KEYS("null::timestamptz"),
    run: (tx) => createCredentials(pool(tx)).touch(Array.from({ length: N }, (_, i) => `k${i + 1}`)),
    takes: { api_keys: N },
  },
  {
    place: "src/features/idempotency/idempotency-sql.ts evictIdempotencyKeys",
    fill: IDEMPOTENCY_KEYS("now()"),
    run: (tx) => evictIdempotencyKeys(tx, { teamId: "t1", livemode: true } as never),
    takes: { idempotency_keys: Math.min(spare, PENDING - perTeam) },
  },
  {
    place: "src/features/idempotency/idempotency-sql.ts pruneIdempotencyKeys",
    fill: IDEMPOTENCY_KEYS(LONG_AGO),
    run: pruneIdempotencyKeys,
    takes: { idempotency_keys: LIMITS.idempotency.prunedPerRound },
  },
  {
    place: "src/features/accounts/invite-sql.ts pruneInvites",
    fill: `insert into invites (id, team_id, email, role, invited_by, hash, expires_at)
      select 'i' || n, 't1', n || '@example.com', 'member', 'u1', ${HASH}, ${LONG_AGO} ${SERIES};`,
    run: (tx) => pruneInvites(pool(tx)),
    takes: { invites: portal },
  },
  {
    place: "src/features/bulk/jobs/job-clearing.ts clearTasks",
    fill: ONE_JOB + CHUNKS("ready") + RETRIES("ready", "now()"),
    run: (tx) => clearTasks(tx, "j1"),
    takes: { job_tasks: 2 * tasksPerStatement },
  },
  {
    place: "src/features/bulk/jobs/job-clearing.ts deleteJob",
    fill: ONE_JOB + CHUNKS("done"),
    run: (tx) => deleteJob(tx, "j1"),
    takes: { job_tasks: PENDING, jobs: 1 },
  },
  {
    place: "src/features/bulk/schedule/job-emission.ts makeReadyAgain",
    fill: ONE_JOB + CHUNKS("emitted"),
    run: async (tx) => makeReadyAgain(tx, await emittedTasks(tx, null, N)),
    takes: { job_tasks: N },
  },
  {
    place: "src/features/bulk/schedule/job-emission.ts takeReadyTasks",
    fill: ONE_JOB + CHUNKS("ready"),
    run: (tx) => takeReadyTasks(tx, { window: N, shareWindow: 4 * N, shareWhole: 1, jobs: emitJobs }),
    takes: { job_tasks: N },
  },
  {
    place: "src/features/bulk/schedule/job-retries.ts releaseBlockedRetries",
    fill: ONE_JOB + RETRIES("ready", "now() + interval '1 day'"),
    run: (tx) => releaseBlockedRetries(tx, { egress: "e1", site: "site", after: null }, N),
    takes: { job_tasks: N },
  },
  {
    place: "src/features/bulk/schedule/job-retries.ts releaseEgress",
    fill: ONE_JOB + RETRIES("ready", "now()"),
    run: (tx) => releaseEgress(tx, "e1", N),
    takes: { job_tasks: N },
  },
  {
    place: "src/features/bulk/schedule/job-retries.ts takeReadyRetries",
    fill: ONE_JOB + RETRIES("ready", LONG_AGO),
    run: (tx) => takeReadyRetries(tx, "e1", { window: N, mixedWindow: N, total: PENDING, queues: 10 }, null),
    takes: { job_tasks: N },
  },
  {
    place: "src/features/bulk/jobs/job-sql.ts hideExpiredJobs",
    fill: `insert into ${JOB_COLUMNS} ${JOB("'j' || n", "cancelled", LONG_AGO)} ${SERIES};`,
    run: (tx) => hideExpiredJobs(tx, 1_000, N),
    takes: { jobs: N },
  },
  {
    place: "src/features/teams/key-sql.ts forgetRevokedKeys",
    fill: KEYS(LONG_AGO),
    run: (tx) => forgetRevokedKeys(tx, "t1", PENDING - N),
    takes: { api_keys: N },
  },
  {
    place: "src/features/mail/mail-outbox.ts prune",
    fill: MAILS(LONG_AGO),
    run: (tx) => createMailOutbox(pool(tx)).prune(),
    takes: { mail_outbox: portal },
  },
  {
    place: "src/features/mail/mail-outbox.ts leaseDue",
    fill: MAILS("now() + interval '1 day'"),
    run: (tx) => createMailOutbox(pool(tx)).leaseDue(N),
    takes: { mail_outbox: N },
  },
  {
    place: "src/features/overrides/override-sql.ts mergeOverrides",
    fill: `insert into disposable_overrides (id, team_id, domain) select 'o' || n, 't1', n || '.example' ${SERIES};`,
    run: (tx) => mergeOverrides(tx, "t1"),
    takes: { disposable_overrides: LIMITS.overrides.mergeBatch },
  },
  {
    place: "src/features/accounts/password-reset-sql.ts pruneResets",
    fill: RESETS + WISHES,
    run: (tx) => pruneResets(pool(tx)),
    takes: { password_resets: portal, password_reset_requests: portal },
  },
  {
    place: "src/features/accounts/password-reset-sql.ts takeResetRequest",
    fill: WISHES,
    run: (tx) => takeResetRequest(tx, ""),
    takes: { password_reset_requests: 1 },
  },
  {
    place: "src/features/accounts/registrations.ts lockUnmailed",
    fill: REGISTRATIONS("now() + interval '1 day'"),
    run: async (tx) => [await lockUnmailed(tx, "")],
    takes: {},
    returns: 1,
  },
  {
    place: "src/features/accounts/registrations.ts pruneRegistrations",
    fill: REGISTRATIONS(LONG_AGO),
    run: (tx) => pruneRegistrations(pool(tx)),
    takes: { registrations: portal },
  },
  {
    place: "src/features/accounts/session-sql.ts deleteSurplusSessions",
    fill: SESSIONS("now() + interval '1 day'"),
    run: (tx) => deleteSurplusSessions(tx, "u1"),
    takes: { sessions: PENDING - sessionsPerUser },
  },
  {
    place: "src/features/accounts/session-sql.ts pruneSessions",
    fill: SESSIONS(LONG_AGO),
    run: (tx) => pruneSessions(pool(tx)),
    takes: { sessions: portal },
  },
  {
    place: "src/features/teams/team-removal-sql.ts claimDue",
    fill: `insert into team_removals (team_id) select 't' || n ${SERIES};`,
    run: (tx) => createTeamRemovals(pool(tx)).claimDue(),
    takes: { team_removals: 1 },
  },
  {
    place: "src/features/feedback/feedback-sql.ts pruneFeedback",
    fill: `${FEEDBACK} insert into feedback_days (team_id, day, events, withdrawals)
      select 't1', current_date - 900 - n, 1, 0 ${SERIES};`,
    run: (tx) => pruneFeedback(pool(tx)),
    takes: { feedback: LIMITS.feedback.prunedPerRound, feedback_days: LIMITS.feedback.prunedPerRound },
  },
  {
    place: "src/features/identity/team-sql.ts deleteHistory",
    fill: `${EVENTS("now()", "now()")}${DELIVERIES("failed")}${ENDED_JOB}${CHUNKS("done")}${IDEMPOTENCY_KEYS("now()")}${FEEDBACK}`,
    run: (tx) => deleteHistory(tx, "t1", N),
    // Events go only once they have no delivery left.
    takes: { webhook_deliveries: N, events: N, job_tasks: N, idempotency_keys: N, feedback: N },
  },
  {
    place: "src/features/uploads/upload-sql.ts hideOldUploads",
    fill: `insert into uploads (id, team_id, filename, object_key, status, expires_at, created_at)
      select 'u' || n, 't1', 'f', 'k', 'stored', now(), ${LONG_AGO} ${SERIES};`,
    run: (tx) => hideOldUploads(tx, 1_000, N),
    takes: { uploads: N },
  },
  {
    place: "src/features/usage/usage-sql.ts prune",
    fill: `insert into usage_days (team_id, day, single, bulk, cached, valid, invalid, risky, unknown)
      select 't1', current_date - 900 - n, 1, 0, 0, 1, 0, 0, 0 ${SERIES};
      insert into quota_days (team_id, day, changed_at) select 't1', current_date - 900 - n, ${LONG_AGO} ${SERIES};
      insert into quota_thresholds (team_id, day, percent) select 't1', current_date - 900 - n, 80 ${SERIES};
      insert into usage_writers (id, revision, seen_at) select gen_random_uuid(), 1, ${LONG_AGO} ${SERIES};`,
    run: (tx) => createUsageStore(pool(tx)).prune(),
    takes: Object.fromEntries(
      ["usage_days", "quota_days", "quota_thresholds", "usage_writers"].map((table) => [
        table,
        LIMITS.usage.prunedPerRound,
      ]),
    ),
  },
  {
    place: "src/features/webhooks/webhook-deliveries.ts stopDeliveries",
    fill: EVENTS("now()", "now()") + DELIVERIES("pending"),
    run: (tx) => stopDeliveries(tx, "t1", "disabled"),
    takes: { webhook_deliveries: PENDING },
  },
  {
    place: "src/features/webhooks/webhook-queue.ts claimDeliveries",
    fill: EVENTS("now()", "now()") + DELIVERIES("pending"),
    run: (tx) => claimDeliveries(tx, [{ lane: "t1", take: N }]),
    takes: { webhook_deliveries: N },
  },
  {
    place: "src/features/webhooks/webhook-queue.ts pruneEvents",
    fill: EVENTS(LONG_AGO, "now()"),
    run: (tx) => pruneEvents(pool(tx), 1_000, N),
    takes: { events: N },
  },
  {
    place: "src/features/webhooks/webhook-queue.ts takeWaitingEvents",
    fill: EVENTS("now()", "null::timestamptz"),
    run: (tx) => takeWaitingEvents(tx, N),
    takes: {},
    returns: N,
  },
  {
    place: "database note_quota_limits",
    fill: `insert into quota_days (team_id, day)
      select 't1', (clock_timestamp() at time zone 'utc')::date - 1 + n ${SERIES};`,
    run: (tx) => tx`update teams set limits = '{"ratePerSecond": 7}' where id = 't1'`,
    takes: { quota_days: 1 },
  },
];
