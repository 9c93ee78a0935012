import * as v from "valibot";
import { LIMITS } from "../../config/limits/limits.ts";
import type { History, Today, Usage } from "../../features/usage/usage.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { tierField } from "../schemas/enums.ts";
import { countField, named, wholeNumberParameter } from "../schemas/fields.ts";

const { historyDaysDefault, historyDaysMax } = LIMITS.usage;

const DayEntries = {
  date: v.pipe(v.string(), v.isoDate(), v.description("The UTC day.")),
  used: countField(
    "Units charged to the quota, those of checks that are under way included. An answer that is free of charge, " +
      "such as `unknown` by failure, is not in it; a bulk job is charged when it ends.",
  ),
  single: countField("Answers to single verifications, free ones too. Test keys are not counted."),
  bulk: countField("Rows of bulk jobs that were verified, free ones too."),
  cached: countField("Of the single ones, those answered from the cache. They cost the same."),
  verdicts: v.pipe(
    v.object({
      valid: countField("Answered `valid`."),
      invalid: countField("Answered `invalid`."),
      risky: countField("Answered `risky`."),
      unknown: countField("Answered `unknown`."),
    }),
    v.description("The same answers by verdict: they sum to `single` + `bulk`."),
  ),
};

const TodaySchema = named(
  "Usage",
  v.object({
    ...DayEntries,
    tier: tierField("The team's tier."),
    limit: countField("Units of the day."),
    remaining: countField(
      "What is left of them, 0 at least; what running bulk jobs have reserved is taken off.",
    ),
    resets_at: v.pipe(v.string(), v.isoTimestamp(), v.description("When the next day begins.")),
  }),
);

const HistorySchema = named(
  "UsageHistory",
  v.object({
    data: v.pipe(v.array(v.object(DayEntries)), v.description("A day each, today first.")),
    days: countField("How many days there are: as many as asked for, or as the tier keeps."),
    next_cursor: v.pipe(v.null(), v.description("Always null: a history has one page.")),
  }),
);

const HistoryQuerySchema = v.strictObject({
  days: v.optional(
    wholeNumberParameter(
      historyDaysMax,
      `How many days back from today, it included: 1 to ${historyDaysMax}, ${historyDaysDefault} when absent. ` +
        "Of more than the tier keeps, those it keeps are answered.",
    ),
    String(historyDaysDefault),
  ),
});

const day = {
  used: 41_200,
  single: 1_234,
  bulk: 40_000,
  cached: 321,
  verdicts: { valid: 30_000, invalid: 6_000, risky: 4_000, unknown: 1_234 },
};
const unused = {
  used: 0,
  single: 0,
  bulk: 0,
  cached: 0,
  verdicts: { valid: 0, invalid: 0, risky: 0, unknown: 0 },
};
const todayExample: Today = {
  date: "2026-01-02",
  tier: "pro",
  limit: 250_000,
  remaining: 208_800,
  resets_at: "2026-01-03T00:00:00.000Z",
  ...day,
};
const historyExample: History = {
  data: [
    { date: "2026-01-02", ...day },
    { date: "2026-01-01", ...unused },
  ],
  days: 2,
  next_cursor: null,
};

const EXACTNESS =
  "`used` is what the quota goes by and is exact: an answer that was read is in it, at the latest " +
  `${LIMITS.quota.flushEveryMs} ms later when another process gave it. The other figures are for reports: they may be ` +
  `late by ${LIMITS.usage.flushEveryMs} ms, and lack as much of a process that was killed.`;

export function createUsageRoutes(usage: Usage): Route[] {
  return [
    teamRoute({
      method: "GET",
      path: "/v1/usage",
      operationId: "getUsage",
      summary: "Today's use",
      description: `What the team has used of the present UTC day. ${EXACTNESS}`,
      tag: "usage",
      role: "member",
      rate: "read",
      errors: [],
      success: { status: 200, description: "Today's use", schema: TodaySchema, example: todayExample },
      handler: (_input, actor) => usage.today(actor),
    }),
    teamRoute({
      method: "GET",
      path: "/v1/usage/history",
      operationId: "getUsageHistory",
      summary: "Use of the last days",
      description: `One entry a UTC day, today first, days without use included. ${EXACTNESS}`,
      tag: "usage",
      role: "member",
      rate: "read",
      errors: [],
      query: HistoryQuerySchema,
      success: { status: 200, description: "Use by day", schema: HistorySchema, example: historyExample },
      handler: ({ query }, actor) => usage.history(actor, query.days),
    }),
  ];
}
