import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";

/** What the team has used of today's quota, and what is left. */
export const useToday = () => useQuery({ queryKey: ["usage"], queryFn: () => dataOf(api.GET("/v1/usage")) });
