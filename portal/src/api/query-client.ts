import { QueryClient } from "@tanstack/react-query";
import { isWorthRetrying, retryDelayMs } from "./retry.ts";

/**
 * The browser's own opinion whether it is online does not hold requests back: it knows nothing of a service on this machine, and
 * an action that waits for the network would be carried out when its person has long forgotten it.
 */
const networkMode = "always";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode,
      refetchOnReconnect: true,
      retry: isWorthRetrying,
      retryDelay: retryDelayMs,
      staleTime: 10_000,
    },
    mutations: { networkMode },
  },
});
