/**
 * Portal accounts: invitations, password resets, and outgoing mails. Tokens are stored as SHA-256. A mail's text is
 * encrypted with SECRETS_KEY, because it contains a token. A mail is deleted with its token: revoking an invitation revokes
 * its mail.
 */
export const portal = `
-- Without case by A to Z alone, whatever the locale of the database: what more is folded differs from what we fold.
drop index users_email;
create unique index users_email on users (lower(email collate "C"));

create table invites (
  id text primary key,
  team_id text not null references teams (id) on delete cascade,
  email text not null check (length(email) between 3 and 320),
  role text not null check (role in ('member', 'admin', 'owner')),
  invited_by text not null,
  hash bytea not null unique check (length(hash) = 32),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- Who leaves the team, or is removed, takes the invitations along: a token of one's own would lead back in.
  foreign key (team_id, invited_by) references memberships (team_id, user_id) on delete cascade
);
create index invites_team on invites (team_id, id);
-- To invite an address again replaces its invitation.
create unique index invites_address on invites (team_id, lower(email collate "C"));
create index invites_expiry on invites (expires_at);

-- Whose role is lowered takes those along that he could not make any more.
create function withdraw_invites() returns trigger language plpgsql as $$ begin
  delete from invites i
  where i.team_id = new.team_id and i.invited_by = new.user_id
    and (new.role = 'member' or (new.role = 'admin' and i.role = 'owner'));
  return null;
end $$;
create trigger memberships_lowered after update of role on memberships
  for each row execute function withdraw_invites();

create table password_resets (
  hash bytea primary key check (length(hash) = 32),
  user_id text not null references users (id) on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index password_resets_user on password_resets (user_id);
create index password_resets_expiry on password_resets (expires_at);

-- Addresses that somebody asked a link for. The relay sees whether they have an account: who asks must not feel it.
create table password_reset_requests (
  id text primary key,
  sealed_email bytea not null,
  created_at timestamptz not null default now()
);

create table mail_outbox (
  id text primary key,
  -- Recipient, subject and text.
  sealed bytea not null,
  invite_id text references invites (id) on delete cascade,
  reset_hash bytea references password_resets (hash) on delete cascade,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
-- Links for a new password first: somebody waits for them.
create index mail_outbox_due on mail_outbox ((reset_hash is null), next_attempt_at);
create index mail_outbox_expiry on mail_outbox (expires_at);
create index mail_outbox_invite on mail_outbox (invite_id) where invite_id is not null;
create index mail_outbox_reset on mail_outbox (reset_hash) where reset_hash is not null;
`;
