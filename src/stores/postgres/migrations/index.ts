import { accounts } from "./0001-to-0015/0001-accounts.ts";
import { quota } from "./0001-to-0015/0002-quota.ts";
import { changeFeed } from "./0001-to-0015/0003-change-feed.ts";
import { events } from "./0001-to-0015/0004-events.ts";
import { portal } from "./0001-to-0015/0005-portal.ts";
import { teamRemoval } from "./0001-to-0015/0006-team-removal.ts";
import { usage } from "./0001-to-0015/0007-usage.ts";
import { overrides } from "./0001-to-0015/0008-overrides.ts";
import { webhooks } from "./0001-to-0015/0009-webhooks.ts";
import { billing } from "./0001-to-0015/0010-billing.ts";
import { idempotency } from "./0001-to-0015/0011-idempotency.ts";
import { bulk } from "./0001-to-0015/0012-bulk.ts";
import { quotaTogether } from "./0001-to-0015/0013-quota-together.ts";
import { sourceColumns } from "./0001-to-0015/0014-source-columns.ts";
import { emptyRows } from "./0001-to-0015/0015-empty-rows.ts";
import { limitsNotedOnce } from "./0016-to-0030/0016-limits-noted-once.ts";
import { registrations } from "./0016-to-0030/0017-registrations.ts";
import { listChanges } from "./0016-to-0030/0018-list-changes.ts";
import { uploadMode, webhookMode } from "./0016-to-0030/0019-modes.ts";
import { shownInvites } from "./0016-to-0030/0021-shown-invites.ts";
import { goneTeams } from "./0016-to-0030/0022-gone-teams.ts";
import { uploadParts } from "./0016-to-0030/0023-upload-parts.ts";
import { operatorTeams } from "./0016-to-0030/0024-operator-teams.ts";
import { feedback } from "./0016-to-0030/0025-feedback.ts";
import { quotaUsage } from "./0016-to-0030/0026-quota-usage.ts";
import { jobProviders } from "./0016-to-0030/0027-job-providers.ts";
import { responseBodies } from "./0016-to-0030/0028-response-bodies.ts";
import { webhookTestUses } from "./0016-to-0030/0029-webhook-test-uses.ts";
import { eventOrder } from "./0016-to-0030/0030-event-order.ts";
import { eventTypes } from "./0031-to-0045/0031-event-types.ts";
import { testEvents } from "./0031-to-0045/0032-test-events.ts";
import { testEventTypes } from "./0031-to-0045/0033-test-event-types.ts";
import { deliveryStatus } from "./0031-to-0045/0034-delivery-status.ts";
import { testJobs } from "./0031-to-0045/0035-test-jobs.ts";
import { manyCredentials } from "./0031-to-0045/0036-many-credentials.ts";

/** One step of the schema. Modules, not `.sql` files, so that `tsc` alone carries them into the build. */
export interface Migration {
  id: number;
  name: string;
  /** Any number of statements; runs in one transaction. Never changed once released: its checksum is recorded. */
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  { id: 1, name: "accounts", sql: accounts },
  { id: 2, name: "quota", sql: quota },
  { id: 3, name: "change-feed", sql: changeFeed },
  { id: 4, name: "events", sql: events },
  { id: 5, name: "portal", sql: portal },
  { id: 6, name: "team-removal", sql: teamRemoval },
  { id: 7, name: "usage", sql: usage },
  { id: 8, name: "overrides", sql: overrides },
  { id: 9, name: "webhooks", sql: webhooks },
  { id: 10, name: "billing", sql: billing },
  { id: 11, name: "idempotency", sql: idempotency },
  { id: 12, name: "bulk", sql: bulk },
  { id: 13, name: "quota-together", sql: quotaTogether },
  { id: 14, name: "source-columns", sql: sourceColumns },
  { id: 15, name: "empty-rows", sql: emptyRows },
  { id: 16, name: "limits-noted-once", sql: limitsNotedOnce },
  { id: 17, name: "registrations", sql: registrations },
  { id: 18, name: "list-changes", sql: listChanges },
  { id: 19, name: "webhook-mode", sql: webhookMode },
  { id: 20, name: "upload-mode", sql: uploadMode },
  { id: 21, name: "shown-invites", sql: shownInvites },
  { id: 22, name: "gone-teams", sql: goneTeams },
  { id: 23, name: "upload-parts", sql: uploadParts },
  { id: 24, name: "operator-teams", sql: operatorTeams },
  { id: 25, name: "feedback", sql: feedback },
  { id: 26, name: "quota-usage", sql: quotaUsage },
  { id: 27, name: "job-providers", sql: jobProviders },
  { id: 28, name: "response-bodies", sql: responseBodies },
  { id: 29, name: "webhook-test-uses", sql: webhookTestUses },
  { id: 30, name: "event-order", sql: eventOrder },
  { id: 31, name: "event-types", sql: eventTypes },
  { id: 32, name: "test-events", sql: testEvents },
  { id: 33, name: "test-event-types", sql: testEventTypes },
  { id: 34, name: "delivery-status", sql: deliveryStatus },
  { id: 35, name: "test-jobs", sql: testJobs },
  { id: 36, name: "many-credentials", sql: manyCredentials },
];
