/**
 * Requests with an `Idempotency-Key`: their owner and their response. A row is *claimed* (`status` is null) until its
 * request has been answered, then *kept*. A claim that was not settled by `locked_until`, because its process died, may be
 * taken over.
 */
export const idempotency = `
create table idempotency_keys (
  team_id text not null references teams (id) on delete cascade,
  livemode boolean not null,
  -- SHA-256 of mode and key: what a client writes there is nobody's business.
  key_hash bytea not null check (length(key_hash) = 32),
  -- SHA-256 of method, path, query and body.
  fingerprint bytea not null check (length(fingerprint) = 32),
  -- Who holds the claim: a late answer of a claim that was taken over is dropped.
  claim uuid not null,
  locked_until timestamptz not null,
  expires_at timestamptz not null,
  status smallint check (status between 200 and 499),
  content_type text,
  headers jsonb,
  -- Without what is shown once; null where the answer had no body.
  body text check (octet_length(body) <= 65536),
  primary key (team_id, key_hash)
);
create index idempotency_keys_latest on idempotency_keys (team_id, livemode, expires_at);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
`;
