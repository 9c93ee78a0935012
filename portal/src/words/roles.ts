import type { Role } from "../api/session.ts";

/** Rights of each role, for members and keys; lowest first. */
const ROLES: readonly (readonly [role: Role, does: string])[] = [
  ["member", "Member: verifies and reads"],
  ["admin", "Admin: also keys, webhooks, blocklist, members, billing"],
  ["owner", "Owner: everything"],
];

/** The roles up to `own`, which a member of that role may grant. */
export const rolesUpTo = (own: Role) => ROLES.slice(0, ROLES.findIndex(([role]) => role === own) + 1);
