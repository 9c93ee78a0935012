/** The events of a team's webhooks. The names are public: `events` of `POST /v1/webhooks`. */
export const EVENT_TYPES = [
  "bulk.completed",
  "bulk.failed",
  "bulk.cancelled",
  "quota.threshold_reached",
  "team.member_joined",
  "disposable.merged",
  "ping",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
