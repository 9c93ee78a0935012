/**
 * A second token of an invitation, shown to the inviter when the invitation is mailed. It does not prove the mailbox, so it
 * creates no account. The mailed token is `invites.hash`.
 */
export const shownInvites = `
create table shown_invites (
  hash bytea primary key check (length(hash) = 32),
  invite_id text not null references invites (id) on delete cascade
);
create index shown_invites_invite on shown_invites (invite_id);
`;
