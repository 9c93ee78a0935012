import { useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../../../api/client.ts";
import { Notice } from "../../../components/notice.tsx";
import { Time } from "../../../components/time.tsx";
import { grouped } from "../../../words/numbers.ts";
import { type Estimate, estimateOf, unitsText } from "./estimate.ts";
import type { Preview } from "./use-preview.ts";

/** What the rows cost, and which cost nothing. */
function Units({ estimate, repeats }: { estimate: Estimate | null; repeats: number }) {
  if (estimate === null)
    return (
      <>How many rows the file has is known once it has been read. Each different address costs one unit.</>
    );
  return (
    <>
      <strong>{unitsText(estimate)}</strong> {estimate.units === 1 && estimate.isExact ? "unit" : "units"} at
      most for {estimate.rows}
      {repeats > 0 &&
        (estimate.isExact
          ? `; ${grouped(repeats)} of them repeat an address and cost nothing`
          : "; rows that repeat an address cost nothing")}
      .
    </>
  );
}

/** What a list would cost, against what is left of the day's quota. */
export function Cost({ preview }: { preview: Preview }) {
  const today = useQuery({ queryKey: ["usage"], queryFn: () => dataOf(api.GET("/v1/usage")) });
  const estimate = estimateOf(preview);
  const isShort = today.data !== undefined && estimate !== null && estimate.units > today.data.remaining;
  return (
    <>
      <p>
        <Units estimate={estimate} repeats={preview.sample.repeats} />{" "}
        {today.data !== undefined && (
          <span className="muted">
            {grouped(today.data.remaining)} of {grouped(today.data.limit)} units are left today; the next day
            begins <Time at={today.data.resets_at} />.
          </span>
        )}
      </p>
      {isShort && (
        <Notice kind="failure">
          That is more than is left today. The list would fail, and cost nothing: verify it tomorrow, split
          it, or choose a larger tier.
        </Notice>
      )}
    </>
  );
}
