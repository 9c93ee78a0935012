import type { ReactNode } from "react";
import { ForeignText } from "../../components/foreign-text.tsx";
import type { BulkJob } from "../../words/jobs.ts";
import { addressesFound, columnTitle } from "./layout-words.ts";

type Candidates = NonNullable<NonNullable<BulkJob["error"]>["candidates"]>;

interface Props {
  candidates: Candidates;
  /** Renders the element that chooses a column. */
  choice(index: number, title: ReactNode): ReactNode;
}

/** Columns that may hold the addresses, each with what its first rows have. */
export function CandidateChoices({ candidates, choice }: Props) {
  return (
    <ul className="choices">
      {candidates.map(({ index, name, addresses, distinct }) => (
        <li key={index}>
          {choice(index, <ForeignText>{columnTitle({ index, name })}</ForeignText>)}
          <span className="muted">{addressesFound({ addresses, distinct })}</span>
        </li>
      ))}
    </ul>
  );
}
