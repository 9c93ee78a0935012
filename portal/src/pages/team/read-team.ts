import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "../../api/client.ts";

const readTeam = () => dataOf(api.GET("/v1/team"));
export type Member = Awaited<ReturnType<typeof readTeam>>["members"][number];

/** The team with its members. */
export const teamQuery = queryOptions({ queryKey: ["team"], queryFn: readTeam });
