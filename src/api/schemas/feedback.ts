import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { Accuracy } from "../../features/feedback/accuracy.ts";
import type { Recorded } from "../../features/feedback/record.ts";
import { boundedArray } from "../body/bounded-array.ts";
import { outcomeField, reasonField, verdictField } from "./enums.ts";
import { countField, named, textField, wholeNumberParameter } from "./fields.ts";
import { storableText } from "./file-options.ts";

const { eventsPerRequest, fieldChars, replyChars, keptDays, daysDefault, groups, wrong, wrongCounted } =
  LIMITS.feedback;

const shortText = (maxChars: number) =>
  v.pipe(v.string(), v.maxLength(maxChars, `must be at most ${maxChars} characters`), storableText);
/** A name in the form of rcpt's reasons, providers and rules. */
const name = (description: string) =>
  v.nullish(
    v.pipe(
      v.string(),
      v.regex(/^[a-z0-9_.-]{1,100}$/i, "must be a name as rcpt gives it"),
      v.description(description),
    ),
  );

const EventEntries = {
  address: v.pipe(
    shortText(LIMITS.http.emailBytes),
    v.nonEmpty("must not be empty"),
    v.description("The address that the message was sent to."),
  ),
  outcome: outcomeField(
    "`delivered`: its mail server took the message. `bounced`: it was returned. `complained`: the recipient called it spam.",
  ),
  at: v.optional(
    v.pipe(
      v.string(),
      v.isoTimestamp("must be a time in UTC, such as 2026-01-01T00:00:00Z"),
      v.description(
        `When it happened; now when absent. What is over ${keptDays} days ago is ignored. Send it where the same event may ` +
          "be reported on several days.",
      ),
    ),
  ),
  reply: v.optional(
    v.pipe(
      shortText(replyChars),
      v.description(
        "Of a bounce: the SMTP reply, such as `550 5.1.1 User unknown`, or the `Diagnostic-Code` of its report.",
      ),
    ),
  ),
  enhanced_code: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[245]\.\d{1,3}\.\d{1,3}$/, "must be an enhanced status code such as 5.1.1"),
      v.description("Of a bounce: the enhanced status code, where `reply` does not have it."),
    ),
  ),
  bounce: v.optional(
    v.pipe(
      v.picklist(["hard", "soft"]),
      v.description(
        "Of a bounce: how your mail system judged it. Counts where there is neither `reply` nor `enhanced_code`.",
      ),
    ),
  ),
  mx_host: v.optional(
    v.pipe(
      shortText(253),
      v.description(
        "Of a bounce: the mail server that refused. Its provider counts where `provider` is absent.",
      ),
    ),
  ),
  verdict: v.nullish(verdictField("`verdict` that rcpt had answered for the address.")),
  reason: v.nullish(reasonField("`reason` of that answer.")),
  provider: name("`checks.mx.provider` of that answer."),
  rule: name("`evidence.rule` of that answer."),
};
const EventSchema = named("FeedbackEvent", v.strictObject(EventEntries));

export const RecordFeedbackSchema = v.strictObject({
  events: v.pipe(
    boundedArray(EventSchema, 1, eventsPerRequest),
    v.description("An address with the same outcome on the same UTC day counts once."),
  ),
});

export const recordFeedbackExample = {
  events: [
    {
      address: "someone@example.com",
      outcome: "bounced",
      at: "2026-01-01T00:00:00Z",
      reply: "550 5.1.1 User unknown",
      verdict: "valid",
      reason: "accepted_mailbox",
    },
    { address: "info@example.com", outcome: "delivered" },
  ],
};

export const RecordedSchema = named(
  "RecordedFeedback",
  v.object({
    accepted: countField("Events that are new."),
    duplicates: countField("Those reported before, or twice in the request."),
    ignored: countField(
      `Those over ${keptDays} days old or without an address that can be read; of a file also its rows and messages without an event.`,
    ),
  }),
);
export const recordedExample: Recorded = { accepted: 2, duplicates: 0, ignored: 0 };

export const FileQuerySchema = v.strictObject({
  outcome: v.optional(outcomeField("Of a table: what became of every row, where no column says so.")),
  column: v.optional(
    v.pipe(
      shortText(fieldChars),
      v.nonEmpty("must not be empty"),
      v.description(
        "Of a table: the column of addresses, by its name in the header; the likeliest when absent.",
      ),
    ),
  ),
});

export const AccuracyQuerySchema = v.strictObject({
  days: v.optional(
    wholeNumberParameter(
      keptDays,
      `UTC days back from today, it included: 1 to ${keptDays}, ${daysDefault} when absent.`,
    ),
    String(daysDefault),
  ),
});

const answer = {
  reason: v.nullable(textField("The reason of that answer; null: not reported.")),
  provider: v.nullable(textField("The mail provider, as reported or as a bounce shows it; null: not known.")),
};

const GroupSchema = named(
  "AccuracyGroup",
  v.object({
    verdict: v.nullable(verdictField("The verdict that rcpt had answered; null: not reported.")),
    ...answer,
    delivered: countField(
      "Addresses whose message was delivered. One that is reported on several days counts on each.",
    ),
    bounced: countField("Addresses whose message bounced, for whatever reason."),
    hard_bounced: countField("Of these, those that cannot be reached: no such mailbox or domain, or closed."),
    complained: countField("Addresses that complained."),
  }),
);

const WrongSchema = named(
  "WrongAnswers",
  v.object({
    verdict: verdictField("The verdict that rcpt had answered."),
    ...answer,
    rule: v.nullable(textField("The rule of that answer, `evidence.rule`; null: not reported.")),
    outcome: outcomeField("What happened instead."),
    bounce_reason: v.nullable(textField("Why the message bounced; null where it was delivered.")),
    bounce_rule: v.nullable(textField("The rule by which the bounce was read.")),
    events: countField("How often."),
  }),
);

export const AccuracySchema = named(
  "Accuracy",
  v.object({
    days: countField("The UTC days that are counted, today included."),
    groups: v.pipe(
      v.array(GroupSchema),
      v.description(
        `By verdict, reason and provider, the largest first. Beyond the largest ${groups} they are counted together by verdict, ` +
          "without reason and provider.",
      ),
    ),
    wrong: v.pipe(
      v.array(WrongSchema),
      v.description(
        `Answers that were wrong: \`valid\` that bounced hard, and \`invalid\` that was delivered. The most frequent ${wrong} ` +
          `of the newest ${wrongCounted.toLocaleString("en-US")}.`,
      ),
    ),
  }),
);

export const accuracyExample: Accuracy = {
  days: 30,
  groups: [
    {
      verdict: "valid",
      reason: "accepted_mailbox",
      provider: "google",
      ...{ delivered: 1_980, bounced: 6, hard_bounced: 2, complained: 1 },
    },
  ],
  wrong: [
    {
      verdict: "valid",
      reason: "accepted_mailbox",
      provider: "google",
      rule: "rcpt.accepted",
      outcome: "bounced",
      bounce_reason: "mailbox_disabled",
      bounce_rule: "text.disabled",
      events: 2,
    },
  ],
};
