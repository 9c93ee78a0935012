import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../../../api/client.ts";
import { Time } from "../../../components/time.tsx";
import { grouped } from "../../../words/numbers.ts";
import type { Preview } from "./use-preview.ts";

/** What a list would cost, against what is left of the day's quota. */
export function Cost({ preview: _ }: { preview: Preview }) {
  const today = useQuery({ queryKey: ["usage"], queryFn: () => dataOf(api.GET("/v1/usage")) });
  if (today.data === undefined) return null;
  const { remaining, limit, resets_at: resetsAt } = today.data;
  return (
    <p>
      Each different address costs one unit. <strong>{grouped(remaining)}</strong> of {grouped(limit)} units
      are left today; the next day begins <Time at={resetsAt} />.
    </p>
  );
}
