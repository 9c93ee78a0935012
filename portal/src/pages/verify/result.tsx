import { useEffect, useRef, useState } from "react";
import { Button } from "../../components/button.tsx";
import { ForeignText } from "../../components/foreign-text.tsx";
import { Time } from "../../components/time.tsx";
import { useSecondsUntil } from "../../components/use-seconds-until.ts";
import { VerdictBadge } from "../../components/verdict-badge.tsx";
import { duration } from "../../words/durations.ts";
import { FAULTS, REASONS, type VerificationResult } from "../../words/reasons.ts";
import { Checks } from "./checks.tsx";

/** However the clocks of browser and server differ. */
const AGAIN_MIN_S = 5;

/** Counts down to when asking again makes sense, then asks by itself where that is wanted. */
function AskAgain({ at, onAgain, byItself }: { at: string; onAgain(): void; byItself: boolean }) {
  const [endMs] = useState(() => Math.max(Date.parse(at), Date.now() + AGAIN_MIN_S * 1_000));
  const leftS = useSecondsUntil(endMs);
  const hasAsked = useRef(false);
  useEffect(() => {
    if (leftS > 0) return;
    if (byItself && !hasAsked.current) onAgain();
    hasAsked.current = true;
  }, [leftS, onAgain, byItself]);
  return (
    <p className="row">
      <span>
        {byItself ? "This page asks again" : "Worth asking again"} {leftS > 0 && `in ${duration(leftS)}`} (
        <Time at={at} />)
      </span>
      <Button onClick={onAgain}>Ask now</Button>
    </p>
  );
}

interface Props {
  result: VerificationResult;
  /** The same address, once more. */
  onAgain(): void;
  /** The page repeats the request by itself when that makes sense. */
  asksByItself: boolean;
  onTry(email: string): void;
}

/** The result of one address: the verdict, the reason in a sentence, and the checks. */
export function Result({ result, onAgain, asksByItself, onTry }: Props) {
  const { says, advice } = REASONS[result.reason];
  const { fault } = result.checks.smtp;
  return (
    <section className="card" aria-label="Result">
      <div className="page-head">
        <h2>
          <ForeignText>{result.email}</ForeignText>
        </h2>
        <VerdictBadge verdict={result.verdict} />
      </div>
      <p>
        {says} <span className="muted">{advice}</span>
      </p>
      {result.did_you_mean !== null && (
        <p className="row">
          Did you mean
          <Button onClick={() => onTry(result.did_you_mean ?? "")}>
            <ForeignText>{result.did_you_mean}</ForeignText>
          </Button>
        </p>
      )}
      {result.retry_at !== null && (
        <AskAgain key={result.verified_at} at={result.retry_at} onAgain={onAgain} byItself={asksByItself} />
      )}
      <dl className="facts">
        <dt>Reason</dt>
        <dd>
          <code>{result.reason}</code>
        </dd>
        {fault !== null && (
          <>
            <dt>Fault</dt>
            <dd>{FAULTS[fault]}</dd>
          </>
        )}
        <dt>Risk</dt>
        <dd>{result.risk_score} of 100 (0 is best)</dd>
        {result.normalized_email !== null && result.normalized_email !== result.email && (
          <>
            <dt>Same mailbox as</dt>
            <dd>
              <ForeignText>{result.normalized_email}</ForeignText>
            </dd>
          </>
        )}
        <dt>Checked</dt>
        <dd>
          <Time at={result.verified_at} />
          {result.cached ? ", from the cache" : ""}
        </dd>
      </dl>
      <Checks result={result} />
    </section>
  );
}
