const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** An instant in the reader's own time; in UTC on hover. */
export function Time({ at }: { at: string }) {
  return (
    <time dateTime={at} title={`${at.slice(0, 19).replace("T", " ")} UTC`}>
      {LOCAL.format(new Date(at))}
    </time>
  );
}
