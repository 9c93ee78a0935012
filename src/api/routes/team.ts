import * as v from "valibot";
import type { Team, TeamView } from "../../features/teams/team.ts";
import { type Route, teamRoute } from "../routing/route.ts";
import { roleField, tierField } from "../schemas/enums.ts";
import { named } from "../schemas/fields.ts";
import { labelSchema } from "../schemas/label.ts";
import { MemberSchema, memberExample } from "./members.ts";

const TeamSchema = named(
  "Team",
  v.object({
    id: v.string(),
    name: v.pipe(v.string(), v.description("For people.")),
    tier: tierField("What the team may do, and how much."),
    role: roleField("Yours."),
    members: v.pipe(v.array(MemberSchema), v.description("By the time they joined.")),
    created_at: v.pipe(v.string(), v.isoTimestamp()),
  }),
);

const example: TeamView = {
  id: "team_01h455vb4pex5vsknk084sn02q",
  name: "Example",
  tier: "pro_plus",
  role: "owner",
  members: [memberExample],
  created_at: "2026-01-01T00:00:00.000Z",
};

export function createTeamRoutes(team: Team): Route[] {
  return [getRoute(team), renameRoute(team), transferRoute(team), deleteRoute(team)];
}

function getRoute(team: Team): Route {
  return teamRoute({
    method: "GET",
    path: "/v1/team",
    operationId: "getTeam",
    summary: "The team and its members",
    tag: "team",
    role: "member",
    rate: "read",
    errors: [],
    success: { status: 200, description: "The team", schema: TeamSchema, example },
    handler: (_, actor) => team.get(actor),
  });
}

function renameRoute(team: Team): Route {
  return teamRoute({
    method: "PATCH",
    path: "/v1/team",
    operationId: "updateTeam",
    summary: "Rename the team",
    tag: "team",
    role: "admin",
    rate: "write",
    liveOnly: true,
    errors: [],
    body: v.strictObject({ name: labelSchema("The team's name, for people.") }),
    bodyExample: { name: example.name },
    success: { status: 200, description: "The team as it is now", schema: TeamSchema, example },
    handler: ({ body }, actor) => team.rename(actor, body.name),
  });
}

function transferRoute(team: Team): Route {
  return teamRoute({
    method: "POST",
    path: "/v1/team/transfer",
    operationId: "transferTeam",
    summary: "Hand the team over",
    description:
      "The member named becomes an owner and you become an admin, both at once. Other owners stay owners.",
    tag: "team",
    role: "owner",
    rate: "write",
    liveOnly: true,
    errors: ["not_found"],
    body: v.strictObject({
      user_id: v.pipe(v.string(), v.description("Of a member of the team; another one than yours.")),
    }),
    bodyExample: { user_id: "usr_01h455vb4pex5vsknk084sn02s" },
    success: {
      status: 200,
      description: "The team as it is now",
      schema: TeamSchema,
      example: { ...example, role: "admin" },
    },
    handler: ({ body }, actor) => team.transfer(actor, body.user_id),
  });
}

function deleteRoute(team: Team): Route {
  return teamRoute({
    method: "DELETE",
    path: "/v1/team",
    operationId: "deleteTeam",
    summary: "Delete the team with all it has",
    description:
      "For good. Its keys and sessions let nobody in any more: in this process with the answer, in every other within a " +
      "second. Jobs end, webhooks, invitations, blocklist, overrides and usage go; the subscription is cancelled and " +
      "stored files are deleted soon after. Its members keep their accounts.",
    tag: "team",
    role: "owner",
    rate: "write",
    liveOnly: true,
    errors: [],
    success: { status: 204, description: "Deleted", schema: null },
    async handler(_, actor) {
      await team.remove(actor);
      return null;
    },
  });
}
