/**
 * Outcomes of messages that teams report, and the number of reports of a team on a day. A row is an address, an outcome and
 * a UTC day: the same event reported twice is one row. The address itself is not stored. Its hash covers the team and the
 * address, so that rows of two teams cannot be matched.
 */
export const feedback = `
create table feedback (
  team_id text not null references teams (id) on delete cascade,
  -- Of the event, UTC.
  day date not null,
  outcome text not null check (outcome in ('delivered', 'bounced', 'complained')),
  address_hash text not null check (length(address_hash) = 22),
  -- What rcpt had answered, as the team says it; null: not said.
  verdict text check (verdict in ('valid', 'invalid', 'risky', 'unknown')),
  reason text check (length(reason) <= 100),
  provider text check (length(provider) <= 100),
  rule text check (length(rule) <= 100),
  -- Of a bounce: why, by which rule that was read, and whether the recipient cannot be reached at all.
  bounce_reason text,
  bounce_rule text,
  hard boolean not null,
  primary key (team_id, day, outcome, address_hash)
);
create index feedback_day on feedback (day);

-- By the UTC day of the reports.
create table feedback_days (
  team_id text not null references teams (id) on delete cascade,
  day date not null,
  events integer not null check (events >= 0),
  -- Bounces that were allowed to end a cached finding.
  withdrawals integer not null check (withdrawals >= 0),
  primary key (team_id, day)
);
create index feedback_days_day on feedback_days (day);
`;
