import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "./client.ts";

/** The team's use of today's quota, and the remaining units. */
export const useToday = () => useQuery({ queryKey: ["usage"], queryFn: () => dataOf(api.GET("/v1/usage")) });
