import { QueryClient } from "@tanstack/react-query";
import { Problem } from "./client.ts";

const RETRIES = 2;

/** What the API refused is refused again; what did not reach it may the next time. */
function isWorthRetrying(failures: number, error: Error): boolean {
  return failures < RETRIES && error instanceof Problem && (error.status === 0 || error.status === 503);
}

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: isWorthRetrying, staleTime: 10_000 } },
});
