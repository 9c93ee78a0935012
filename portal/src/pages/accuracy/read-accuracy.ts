import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, dataOf, type Schemas } from "../../api/client.ts";

export type Accuracy = Schemas["Accuracy"];
export type Group = Schemas["AccuracyGroup"];
export type Outcome = Schemas["MessageOutcome"];
export type Counts = Pick<Group, "delivered" | "bounced" | "hard_bounced" | "complained">;

/** Queries of the page begin so: a report makes them old. */
export const ACCURACY_KEY = "accuracy";

export const useAccuracy = (days: number) =>
  useQuery({
    queryKey: [ACCURACY_KEY, days],
    queryFn: () => dataOf(api.GET("/v1/feedback/accuracy", { params: { query: { days } } })),
    placeholderData: keepPreviousData,
  });

/** With fewer messages a rate is not meaningful. */
export const FEW = 30;

/** Messages with a known outcome: delivered or bounced. */
export const messagesOf = ({ delivered, bounced }: Counts) => delivered + bounced;

const ORDER: readonly (Group["verdict"] | null)[] = ["valid", "risky", "unknown", "invalid", null];

/** The counts of each verdict that has any, in the order of their promise. */
export function byVerdict(groups: readonly Group[]): { verdict: Group["verdict"]; counts: Counts }[] {
  return ORDER.flatMap((verdict) => {
    const own = groups.filter((group) => group.verdict === verdict);
    if (own.length === 0) return [];
    const sum = (name: keyof Counts) => own.reduce((total, group) => total + group[name], 0);
    return [
      {
        verdict,
        counts: {
          delivered: sum("delivered"),
          bounced: sum("bounced"),
          hard_bounced: sum("hard_bounced"),
          complained: sum("complained"),
        },
      },
    ];
  });
}

/** Sends a file of bounces, or a pasted text. @throws Problem */
export const reportFile = (file: Blob, outcome: Outcome | undefined, signal: AbortSignal) =>
  dataOf(
    api.POST("/v1/feedback/files", {
      params: { query: outcome === undefined ? {} : { outcome } },
      // The service detects the type itself.
      headers: { "Content-Type": "application/octet-stream" },
      body: file as never,
      bodySerializer: (body) => body,
      signal,
    }),
  );
