import { EVENT_TYPES, type EventType } from "../../config/events.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { isId, newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import type { Database, Queryable, Transaction } from "../../stores/postgres/postgres.ts";
import { lockActingMember } from "../auth/acting-member.ts";
import { type Actor, canAccessMode } from "../identity/actor.ts";
import { requireFeature } from "../identity/tier-features.ts";
import type { DeliveryError } from "./deliver/outcome.ts";
import { secretSealContext } from "./secrets.ts";
import { newSigningSecret, testSigningSecret } from "./signature.ts";
import { readWebhookUrl } from "./url.ts";
import { stopDeliveries } from "./webhook-deliveries.ts";
import {
  countWebhooks,
  type DisabledReason,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  putTeamWebhookSecret,
  rotateWebhookSecret,
  updateWebhook,
  type WebhookChange,
  type WebhookRow,
} from "./webhook-sql.ts";
import { countWebhookUse } from "./webhook-uses.ts";

export interface Webhook {
  id: string;
  /** Gets live events; else those of test keys. */
  livemode: boolean;
  url: string;
  events: EventType[];
  description: string;
  status: "enabled" | "disabled";
  disabled_reason: DisabledReason | null;
  disabled_at: string | null;
  created_at: string;
  last_success_at: string | null;
  failing_since: string | null;
}

export interface WebhookInput {
  url: string;
  /** Absent: all, future ones included. */
  events?: EventType[] | undefined;
  description?: string | undefined;
}

export interface WebhookPatch {
  url?: string | undefined;
  /** null: all, future ones included. */
  events?: EventType[] | null | undefined;
  description?: string | undefined;
  status?: "enabled" | "disabled" | undefined;
}

/** A team's webhook URLs, each signed with a secret of its own. Another team's are not found, nor live ones by a test key. */
export interface Webhooks {
  list(actor: Actor, ask: PageRequest): Promise<Page<Webhook>>;
  /**
   * Creates one of the credential's own mode. The secret is shown here and never again.
   * @throws AppError `unavailable_in_tier`, `feature_unconfigured`, `validation_failed` (url), `limit_reached`,
   *   `rate_limited`
   */
  create(actor: Actor, input: WebhookInput): Promise<Webhook & { secret: string }>;
  /**
   * Enabling resets its failures; disabling gives up pending deliveries.
   * @throws AppError `not_found`, `validation_failed` (url), `unavailable_in_tier` (enabling)
   */
  update(actor: Actor, id: string, patch: WebhookPatch): Promise<Webhook>;
  /** @throws AppError `not_found` */
  remove(actor: Actor, id: string): Promise<void>;
  /**
   * Creates a new secret; the old one also signs for LIMITS.webhooks.oldSecretMs.
   * @throws AppError `not_found`, `feature_unconfigured`
   */
  rotateSecret(actor: Actor, id: string): Promise<{ secret: string }>;
  /**
   * Creates or replaces, at once, the secret for URLs that the team's live jobs name themselves, and with it the one for its
   * test jobs.
   * @throws AppError `unavailable_in_tier`, `feature_unconfigured`
   */
  rotateTeamSecret(actor: Actor): Promise<{ secret: string; test_secret: string }>;
}

export interface WebhooksDeps {
  sql: Database;
  /** null: SECRETS_KEY is not set, so no secret can be stored. */
  box: SecretBox | null;
  privateAddresses: boolean;
}

export const webhookNotFound = () => new AppError("not_found", "The team has no such webhook.");

/** @throws AppError `not_found` */
export async function requireWebhook(sql: Queryable, actor: Actor, id: string): Promise<WebhookRow> {
  const row = isId("wh", id) ? await findWebhook(sql, actor.teamId, id) : null;
  if (row === null || !canAccessMode(actor, row)) throw webhookNotFound();
  return row;
}

/** @throws AppError `feature_unconfigured` */
export function requireBox(box: SecretBox | null): SecretBox {
  if (box !== null) return box;
  throw new AppError("feature_unconfigured", "Webhooks require SECRETS_KEY, which is not configured.");
}

/** All types where the webhook is subscribed to all; types that no longer exist are left out. */
function eventsOf(row: WebhookRow): EventType[] {
  return EVENT_TYPES.filter((type) => row.events === null || row.events.includes(type));
}

function render(row: WebhookRow): Webhook {
  return {
    id: row.id,
    livemode: row.livemode,
    url: row.url,
    events: eventsOf(row),
    description: row.description,
    status: row.status,
    disabled_reason: row.disabled_reason,
    disabled_at: row.disabled_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    last_success_at: row.last_success_at?.toISOString() ?? null,
    failing_since: row.failing_since?.toISOString() ?? null,
  };
}

const { perTeam, createdPerHour, oldSecretMs } = LIMITS.webhooks;

class WebhookService implements Webhooks {
  readonly #deps: WebhooksDeps;

  constructor(deps: WebhooksDeps) {
    this.#deps = deps;
  }

  async list(actor: Actor, ask: PageRequest): Promise<Page<Webhook>> {
    const page = { after: ask.after, limit: ask.limit + 1, testOnly: !actor.livemode };
    const rows = await listWebhooks(this.#deps.sql, actor.teamId, page);
    return pageOf(rows, ask, (row) => row.id, render);
  }

  async create(actor: Actor, input: WebhookInput): Promise<Webhook & { secret: string }> {
    requireFeature(actor, "webhooks");
    const sealer = requireBox(this.#deps.box);
    const { teamId, livemode } = actor;
    const id = newId("wh");
    const secret = newSigningSecret();
    const row = {
      id,
      teamId,
      livemode,
      url: this.#readUrl(input.url),
      events: input.events ?? null,
      description: input.description ?? "",
      secret: sealer.seal(secret, secretSealContext({ webhookId: id })),
    };
    const made = await this.#asAdmin(actor, async (tx) => {
      if ((await countWebhooks(tx, row)) >= perTeam)
        throw new AppError("limit_reached", `A team may have ${perTeam} webhooks.`);
      const { count, leftS } = await countWebhookUse(tx, row, "creation");
      if (count > createdPerHour)
        throw new AppError("rate_limited", `A team may make ${createdPerHour} webhooks an hour.`, {
          retryAfterS: leftS,
        });
      return insertWebhook(tx, row);
    });
    return { ...render(made), secret };
  }

  async update(actor: Actor, id: string, patch: WebhookPatch): Promise<Webhook> {
    await requireWebhook(this.#deps.sql, actor, id);
    if (patch.status === "enabled") requireFeature(actor, "webhooks");
    const { teamId } = actor;
    const row = await this.#asAdmin(actor, (tx) => this.#change(tx, teamId, id, patch));
    if (row === null) throw webhookNotFound();
    const stopped: DeliveryError = "webhook_disabled";
    if (patch.status === "disabled") await stopDeliveries(this.#deps.sql, id, stopped);
    return render(row);
  }

  async remove(actor: Actor, id: string): Promise<void> {
    await requireWebhook(this.#deps.sql, actor, id);
    const removed = await this.#asAdmin(actor, (tx) => deleteWebhook(tx, actor.teamId, id));
    if (!removed) throw webhookNotFound();
  }

  async rotateSecret(actor: Actor, id: string): Promise<{ secret: string }> {
    const { teamId } = actor;
    await requireWebhook(this.#deps.sql, actor, id);
    const secret = newSigningSecret();
    const sealed = requireBox(this.#deps.box).seal(secret, secretSealContext({ webhookId: id }));
    const rotated = await this.#asAdmin(actor, (tx) =>
      rotateWebhookSecret(tx, teamId, id, { secret: sealed, oldMs: oldSecretMs }),
    );
    if (!rotated) throw webhookNotFound();
    return { secret };
  }

  async rotateTeamSecret(actor: Actor): Promise<{ secret: string; test_secret: string }> {
    requireFeature(actor, "webhooks");
    const { teamId } = actor;
    const secret = newSigningSecret();
    const sealed = requireBox(this.#deps.box).seal(secret, secretSealContext({ teamId }));
    await this.#asAdmin(actor, (tx) => putTeamWebhookSecret(tx, teamId, sealed));
    return { secret, test_secret: testSigningSecret(secret) };
  }

  #readUrl(text: string): string {
    const read = readWebhookUrl(text, this.#deps.privateAddresses);
    if ("url" in read) return read.url;
    throw new AppError("validation_failed", `url (body) ${read.problem}.`, {
      errors: [{ path: "url", message: read.problem }],
    });
  }

  #changeOf({ url, events, description }: WebhookPatch): WebhookChange {
    return {
      ...(url === undefined ? {} : { url: this.#readUrl(url) }),
      ...(events === undefined ? {} : { events }),
      ...(description === undefined ? {} : { description }),
    };
  }

  async #change(tx: Transaction, teamId: string, id: string, patch: WebhookPatch) {
    if (patch.status === "enabled") await enableWebhook(tx, teamId, id);
    if (patch.status === "disabled") await disableWebhook(tx, teamId, id, "by_user");
    return updateWebhook(tx, teamId, id, this.#changeOf(patch));
  }

  /**
   * A webhook's URL and the secret outlast the request: the caller's present role is checked in the transaction that
   * changes them.
   */
  async #asAdmin<T>(actor: Actor, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const { done } = await this.#deps.sql.begin(async (tx) => {
      await lockActingMember(tx, actor, "admin");
      return { done: await work(tx) };
    }, actor.teamId);
    return done;
  }
}

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  return new WebhookService(deps);
}
