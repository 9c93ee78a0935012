import { api, dataOf } from "../../api/client.ts";

export const readHistory = (days: number) =>
  dataOf(api.GET("/v1/usage/history", { params: { query: { days } } }));
/** A day of the API's usage history. */
export type Day = Awaited<ReturnType<typeof readHistory>>["data"][number];
