import { api, dataOf } from "../../api/client.ts";

export const readTeam = () => dataOf(api.GET("/v1/team"));
export type Member = Awaited<ReturnType<typeof readTeam>>["members"][number];
