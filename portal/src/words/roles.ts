import type { Role } from "../api/session.ts";

/** What each role may do, for members and for keys; lowest first. */
export const ROLES: readonly { role: Role; does: string }[] = [
  { role: "member", does: "Member: verifies and reads" },
  { role: "admin", does: "Admin: also keys, webhooks, blocklist, members, billing" },
  { role: "owner", does: "Owner: everything" },
];

/** The roles up to one: what a member of that role may give. */
export const rolesUpTo = (own: Role) => ROLES.slice(0, ROLES.findIndex(({ role }) => role === own) + 1);
