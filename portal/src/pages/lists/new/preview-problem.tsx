import { Problem } from "../../../api/client.ts";
import { Button } from "../../../components/button.tsx";
import { ForeignText } from "../../../components/foreign-text.tsx";
import { Failure, Notice } from "../../../components/notice.tsx";
import { JOB_ERRORS, type JobErrorCode } from "../../../words/jobs.ts";
import { CandidateChoices } from "../candidate-choices.tsx";

const isListCode = (code: string | null): code is JobErrorCode =>
  code !== null && Object.hasOwn(JOB_ERRORS, code);

/**
 * The reason why a file cannot be read with the options, and advice.
 * @param onColumn called when another column is chosen for the addresses
 */
export function PreviewProblem({ error, onColumn }: { error: Error; onColumn(index: number): void }) {
  if (!(error instanceof Problem) || !isListCode(error.code) || error.status !== 422)
    return <Failure error={error} />;
  const { says, advice } = JOB_ERRORS[error.code];
  const candidates = error.body?.candidates ?? [];
  return (
    <Notice kind="failure">
      <div className="stack">
        <p>
          <strong>{says}</strong> {advice}
        </p>
        {candidates.length === 0 && (
          <p className="muted">
            <ForeignText>{error.message}</ForeignText>
          </p>
        )}
        <CandidateChoices
          candidates={candidates}
          choice={(index, title) => <Button onClick={() => onColumn(index)}>{title}</Button>}
        />
      </div>
    </Notice>
  );
}
