/**
 * Registrations whose address is not confirmed by mail yet. `hash` is the SHA-256 of the mailed token; null until the relay
 * has mailed it. Only the relay looks up whether the address has an account: the response time must not reveal it.
 */
export const registrations = `
create table registrations (
  id text primary key,
  email text not null check (length(email) between 3 and 320),
  -- argon2id in its encoded form.
  password_hash text not null,
  team_name text not null,
  hash bytea unique check (length(hash) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index registrations_waiting on registrations (id) where hash is null;
create index registrations_address on registrations (lower(email collate "C"));
create index registrations_expiry on registrations (expires_at);
`;
