import { useEffect, useRef, useState } from "react";
import { Button } from "../../components/button.tsx";
import { Time } from "../../components/time.tsx";
import { VerdictBadge } from "../../components/verdict-badge.tsx";
import { FAULTS, REASONS, type VerificationResult } from "../../words/reasons.ts";
import { Checks } from "./checks.tsx";

/** Counts down to when asking again makes sense, then asks by itself, once. */
function AskAgain({ at, onAgain }: { at: string; onAgain(): void }) {
  const [now, setNow] = useState(() => Date.now());
  const leftS = Math.max(0, Math.ceil((Date.parse(at) - now) / 1_000));
  const hasAsked = useRef(false);
  useEffect(() => {
    if (leftS === 0) {
      if (hasAsked.current) return;
      hasAsked.current = true;
      onAgain();
      return;
    }
    const timer = setTimeout(() => setNow(Date.now()), 1_000);
    return () => clearTimeout(timer);
  }, [leftS, onAgain]);
  return (
    <p className="row">
      <span>
        Asked again by itself in <span className="number">{leftS}</span> s (<Time at={at} />)
      </span>
      <Button onClick={onAgain}>Ask now</Button>
    </p>
  );
}

interface Props {
  result: VerificationResult;
  /** The same address, afresh. */
  onAgain(): void;
  onTry(email: string): void;
}

/** What was found of one address: the verdict, why in a sentence, and what it rests on. */
export function Result({ result, onAgain, onTry }: Props) {
  const { says, advice } = REASONS[result.reason];
  const { fault } = result.checks.smtp;
  return (
    <section className="card" aria-label="Result" aria-live="polite">
      <div className="page-head">
        <h2 className="wrap-anywhere">{result.email}</h2>
        <VerdictBadge verdict={result.verdict} />
      </div>
      <p>
        {says} <span className="muted">{advice}</span>
      </p>
      {result.did_you_mean !== null && (
        <p className="row">
          Did you mean
          <Button onClick={() => onTry(result.did_you_mean ?? "")}>{result.did_you_mean}</Button>
        </p>
      )}
      {result.retry_at !== null && (
        <AskAgain key={result.verified_at} at={result.retry_at} onAgain={onAgain} />
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
        <dd>{result.risk_score} of 100</dd>
        {result.normalized_email !== null && result.normalized_email !== result.email && (
          <>
            <dt>Same mailbox as</dt>
            <dd>{result.normalized_email}</dd>
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
