import { Link } from "@tanstack/react-router";
import { useToday } from "../../../api/use-today.ts";
import { Notice } from "../../../components/notice.tsx";
import { QuotaLeft } from "../../../components/quota-left.tsx";
import { counted } from "../../../words/numbers.ts";
import { type Estimate, estimateOf, unitsText } from "./estimate.ts";
import type { Preview } from "./use-preview.ts";

/** The cost of the rows, and the rows that cost nothing. */
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
          ? `; ${counted(repeats, "of them repeats an address and costs", "of them repeat an address and cost")} nothing`
          : "; rows that repeat an address cost nothing")}
      .
    </>
  );
}

interface Props {
  preview: Preview;
  splitCells: boolean;
}

/** The cost of a list, compared with the remaining units of the day. */
export function Cost({ preview, splitCells }: Props) {
  const today = useToday();
  const estimate = estimateOf(preview, splitCells);
  const isShort = today.data !== undefined && estimate !== null && estimate.units > today.data.remaining;
  return (
    <>
      <p>
        <Units estimate={estimate} repeats={preview.sample.repeats} />{" "}
        <span className="muted">
          <QuotaLeft />
        </span>
      </p>
      {isShort && (
        <Notice kind="failure">
          That is more than is left today. The list would fail, and cost nothing: verify it tomorrow, split
          it, or choose <Link to="/billing">a larger plan</Link>.
        </Notice>
      )}
    </>
  );
}
