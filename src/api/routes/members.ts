import * as v from "valibot";
import type { Member, Members } from "../../features/teams/members.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { roleField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";

export const MemberSchema = named(
  "Member",
  v.object({
    id: v.pipe(v.string(), v.description("The user's.")),
    email: v.pipe(v.string(), v.description("Of the user's account.")),
    role: roleField("What the member may do in this team."),
    joined_at: v.pipe(v.string(), v.isoTimestamp(), v.description("When the user became a member.")),
  }),
);

export const memberExample: Member = {
  id: "usr_01h455vb4pex5vsknk084sn02r",
  email: "owner@example.com",
  role: "owner",
  joined_at: "2026-01-01T00:00:00.000Z",
};

const ParamsSchema = v.strictObject({ id: v.pipe(v.string(), v.description("The user's.")) });

export function createMemberRoutes(members: Members): Route[] {
  return [
    teamRoute({
      method: "PATCH",
      path: "/v1/team/members/{id}",
      operationId: "updateMember",
      summary: "Change a member's role",
      description:
        "Only an owner makes or unmakes an owner, and a team keeps at least one. Keys that the member made fall with the " +
        "role at once, and rise again no higher than they were made.",
      tag: "team",
      role: "admin",
      rate: "write",
      liveOnly: true,
      errors: ["not_found", "last_owner"],
      params: ParamsSchema,
      body: v.strictObject({
        role: roleField("What the member may do from now on."),
      }),
      bodyExample: { role: "owner" },
      success: {
        status: 200,
        description: "The member as it is now",
        schema: MemberSchema,
        example: memberExample,
      },
      handler: ({ params, body }, actor) => members.setRole(actor, params.id, body.role),
    }),
    teamRoute({
      method: "DELETE",
      path: "/v1/team/members/{id}",
      operationId: "removeMember",
      summary: "Remove a member, or leave",
      description:
        "Needs the role admin, of an owner owner; by a portal session every member may leave. The keys the member made " +
        "stay without a user: they verify and read, nothing else. Sessions of this team end.",
      tag: "team",
      // Any member may leave. The service asks for a higher role when the request is about another member.
      role: "member",
      rate: "write",
      liveOnly: true,
      errors: ["not_found", "insufficient_role", "session_required", "last_owner"],
      params: ParamsSchema,
      success: { status: 204, description: "Removed", schema: null },
      async handler({ params }, actor) {
        await members.remove(actor, params.id);
        return null;
      },
    }),
  ];
}
