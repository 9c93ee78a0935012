/** `webhook_uses` of test webhooks: a leaked test key does not use up the live ones' hour. */
export const webhookTestUses = `
create table webhook_test_uses (
  team_id text not null references teams (id) on delete cascade,
  use text not null check (use in ('creation', 'manual')),
  since timestamptz not null default now(),
  count integer not null default 1,
  primary key (team_id, use)
);
`;
