import type { Role } from "../api/session.ts";

/** What each role may do, for members and for keys; lowest first. */
const ROLES: readonly (readonly [role: Role, does: string])[] = [
  ["member", "Member: verifies and reads"],
  ["admin", "Admin: also keys, webhooks, blocklist, members, billing"],
  ["owner", "Owner: everything"],
];

/** The roles up to one: what a member of that role may give. */
export const rolesUpTo = (own: Role) => ROLES.slice(0, ROLES.findIndex(([role]) => role === own) + 1);
