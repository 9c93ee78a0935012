import { type DragEvent, useId, useState } from "react";
import { Notice } from "../notice.tsx";

/** File types of lists. */
const LIST_KINDS =
  ".csv,.tsv,.txt,.xlsx,.xlsm,.gz,text/csv,text/plain,text/tab-separated-values,application/gzip";

/** The fault of the dropped or chosen files; null: they are right. */
function faultOf(files: readonly File[]): string | null {
  if (files.length === 0) return "That was no file.";
  if (files.length > 1) return "One file at a time, please.";
  return files[0]?.size === 0 ? "The file is empty: choose one with addresses." : null;
}

interface Props {
  label: string;
  hint: string;
  /** File types that the dialog offers first; absent: lists. */
  kinds?: string;
  onFile(file: File): void;
}

/** A place to drop a file on, or to choose one at. */
export function ChooseFile({ label, hint, kinds = LIST_KINDS, onFile }: Props) {
  const id = useId();
  const [isOver, setOver] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  function take(files: FileList | null): void {
    const chosen = Array.from(files ?? []);
    const fault = faultOf(chosen);
    setFault(fault);
    const [file] = chosen;
    if (fault === null && file !== undefined) onFile(file);
  }

  function drop(event: DragEvent): void {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: by keyboard a file is chosen with the field within.
    <div
      className={`drop ${isOver ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <label htmlFor={id}>
        <strong>{label}</strong>
      </label>
      <input
        id={id}
        type="file"
        accept={kinds}
        aria-describedby={`${id}-hint`}
        onChange={({ target }) => {
          take(target.files);
          // The same file may be chosen again.
          target.value = "";
        }}
      />
      <span className="muted" id={`${id}-hint`}>
        {hint}
      </span>
      {fault !== null && <Notice kind="failure">{fault}</Notice>}
    </div>
  );
}
