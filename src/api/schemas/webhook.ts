import * as v from "valibot";
import { EVENT_TYPES } from "../../config/events.ts";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Webhook } from "../../features/webhooks/webhooks.ts";
import { named } from "./fields.ts";

const { urlChars, descriptionChars, oldSecretMs, failingMs } = LIMITS.webhooks;
const HOURS = 3_600_000;
const instant = (description: string) =>
  v.pipe(v.nullable(v.pipe(v.string(), v.isoTimestamp())), v.description(description));

export const webhookEntries = {
  id: v.string(),
  livemode: v.pipe(
    v.boolean(),
    v.description(
      "True: told of live events. False: made by a test key, and told of what test keys do. A test key sees no others.",
    ),
  ),
  url: v.pipe(v.string(), v.description("In normal form.")),
  events: v.pipe(
    v.array(v.picklist(EVENT_TYPES)),
    v.description("What it is told of. All types when none were named, also those to come."),
  ),
  description: v.pipe(v.string(), v.description("The team's own words; may be empty.")),
  status: v.pipe(v.picklist(["enabled", "disabled"]), v.description("A disabled one is told nothing.")),
  disabled_reason: v.pipe(
    v.nullable(v.picklist(["gone", "failing", "by_user"])),
    v.description(
      `\`gone\`: it answered 410; \`failing\`: nothing succeeded for ${failingMs / HOURS / 24} days; \`by_user\`: a \`PATCH\`.`,
    ),
  ),
  disabled_at: instant("When it was disabled."),
  created_at: v.pipe(v.string(), v.isoTimestamp()),
  last_success_at: instant("When it last answered with a success; null: never."),
  failing_since: instant("Since when every attempt has failed; null: the last one did not."),
};
export const WebhookSchema = named("Webhook", v.object(webhookEntries));

const secretWords =
  "The signing secret of Standard Webhooks: `whsec_` and the base64 of the key. Shown this once";
export const SecretSchema = named(
  "WebhookSecret",
  v.object({ secret: v.pipe(v.string(), v.description(`${secretWords}.`)) }),
);
export const TeamSecretSchema = named(
  "TeamWebhookSecret",
  v.object({
    secret: v.pipe(v.string(), v.description(`${secretWords}.`)),
    test_secret: v.pipe(
      v.string(),
      v.description(
        "What signs for jobs of test keys: `whsec_` and the base64 of HMAC-SHA256 of the text `rcpt test` by the key of `secret`.",
      ),
    ),
  }),
);
export const CreatedWebhookSchema = named(
  "CreatedWebhook",
  v.object({
    ...webhookEntries,
    secret: v.pipe(
      v.nullable(v.string()),
      v.description(`${secretWords}: a replay of the answer says null.`),
    ),
  }),
);

const UrlSchema = v.pipe(
  v.string(),
  v.nonEmpty("must not be empty"),
  v.maxLength(urlChars, `must have at most ${urlChars} characters`),
  v.description(
    "Where events are sent by POST: https, a public host, no user name or password, no fragment. What the host's name " +
      "resolves to is checked at each delivery.",
  ),
);

/** Quotes the name, cut, so that a client that sent several sees which one is wrong. */
const unknownEvent = (issue: v.BaseIssue<unknown>) => {
  const name = typeof issue.input === "string" ? `"${issue.input.slice(0, 50)}" ` : "";
  return `${name}is not an event; there are ${EVENT_TYPES.join(", ")}`;
};
const EventsSchema = v.pipe(
  v.array(v.picklist(EVENT_TYPES, unknownEvent)),
  v.minLength(1, "must name an event, or be left out for all"),
  v.maxLength(EVENT_TYPES.length, "names an event twice"),
  v.check((events) => new Set(events).size === events.length, "names an event twice"),
  v.description("Event types to be told of; all when absent, also those to come."),
);

const DescriptionSchema = v.pipe(
  v.string(),
  v.maxLength(descriptionChars, `must have at most ${descriptionChars} characters`),
  v.regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*$/u, "must be one line without control characters"),
  v.description("For people."),
);

export const CreateWebhookSchema = v.strictObject({
  url: UrlSchema,
  events: v.optional(EventsSchema),
  description: v.optional(DescriptionSchema),
});

export const UpdateWebhookSchema = v.strictObject({
  url: v.optional(UrlSchema),
  events: v.optional(
    v.pipe(
      v.nullable(EventsSchema),
      v.description("Event types to be told of; null: all, also those to come."),
    ),
  ),
  description: v.optional(DescriptionSchema),
  status: v.optional(
    v.pipe(
      v.picklist(["enabled", "disabled"], "must be enabled or disabled"),
      v.description(
        "Enabling forgets past failures; disabling gives up what waits. Nothing given up is sent by itself later.",
      ),
    ),
  ),
});

export const webhookExample: Webhook = {
  id: "wh_01h455vb4pex5vsknk084sn02q",
  livemode: true,
  url: "https://hooks.example.com/rcpt",
  events: ["bulk.completed", "bulk.failed"],
  description: "import pipeline",
  status: "enabled",
  disabled_reason: null,
  disabled_at: null,
  created_at: "2026-01-01T00:00:00.000Z",
  last_success_at: null,
  failing_since: null,
};
export const secretExample = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
export const OLD_SECRET_HOURS = oldSecretMs / HOURS;
