import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import type { Schemas } from "../../api/client.ts";
import { Button } from "../../components/button.tsx";
import { ChooseFile } from "../../components/forms/choose-file.tsx";
import { Select } from "../../components/forms/select.tsx";
import { TextArea } from "../../components/forms/text-area.tsx";
import { Loading } from "../../components/loading.tsx";
import { Failure, Notice } from "../../components/notice.tsx";
import { grouped } from "../../words/numbers.ts";
import { ACCURACY_KEY, type Outcome, reportFile } from "./read-accuracy.ts";

const KINDS = ".mbox,.mbx,.eml,.csv,.tsv,.txt,message/rfc822,text/csv,text/plain";

const OUTCOMES: readonly (readonly [Outcome | "", string])[] = [
  ["", "read from the file or text"],
  ["bounced", "all bounced"],
  ["delivered", "all were delivered"],
  ["complained", "all complained"],
];

type Recorded = Schemas["RecordedFeedback"];

/** Sends one file or text at a time. */
function useReport() {
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [recorded, setRecorded] = useState<Recorded | null>(null);
  const leaving = useRef<AbortController | null>(null);
  useEffect(() => () => leaving.current?.abort(), []);

  /** @returns whether it was taken */
  async function send(file: Blob, outcome: Outcome | ""): Promise<boolean> {
    if (busy) return false;
    leaving.current = new AbortController();
    const { signal } = leaving.current;
    setBusy(true);
    setError(null);
    setRecorded(null);
    try {
      setRecorded(await reportFile(file, outcome === "" ? undefined : outcome, signal));
      await queries.invalidateQueries({ queryKey: [ACCURACY_KEY] });
      return true;
    } catch (thrown) {
      if (!signal.aborted) setError(thrown);
      return false;
    } finally {
      setBusy(false);
    }
  }
  return { send, busy, error, recorded };
}

function Taken({ of: { accepted, duplicates, ignored } }: { of: Recorded }) {
  return (
    <Notice {...(accepted + duplicates > 0 ? { kind: "success" } : {})}>
      {grouped(accepted)} counted, {grouped(duplicates)} known before, {grouped(ignored)} ignored.
      {accepted + duplicates === 0 &&
        " No bounce, complaint or delivery of the last 90 days was found in it."}
    </Notice>
  );
}

/** Import of bounces: as a file, or pasted. */
export function Report() {
  const [outcome, setOutcome] = useState<Outcome | "">("");
  const [text, setText] = useState("");
  const { send, busy, error, recorded } = useReport();

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    if (await send(new Blob([text]), outcome)) setText("");
  }

  return (
    <section className="card" aria-labelledby="report">
      <h2 id="report">Report what happened</h2>
      <Select label="Outcome" value={outcome} onChange={setOutcome} options={OUTCOMES} />
      <ChooseFile
        label="Drop a file of bounces here, or choose one"
        hint="A mailbox (mbox), a message (.eml), or a CSV with the columns email and status; up to 10 MiB."
        kinds={KINDS}
        onFile={(file) => void send(file, outcome)}
      />
      <form className="stack" onSubmit={submit}>
        <TextArea
          label="Or paste"
          hint="A bounce with its headers, rows of a CSV, or addresses, one a line."
          autoComplete="off"
          spellCheck={false}
          rows={4}
          required
          value={text}
          onChange={setText}
        />
        <div className="row">
          <Button type="submit" busy={busy}>
            Report
          </Button>
        </div>
      </form>
      {busy && <Loading />}
      <Failure error={error} />
      {recorded !== null && <Taken of={recorded} />}
    </section>
  );
}
