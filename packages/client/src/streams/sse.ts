/** One server-sent event. */
export interface ServerEvent {
  /** `message` where the server gives no name. */
  event: string;
  data: string;
  /** Id of this event, or of the last one before it that had an id; "": none yet. */
  lastEventId: string;
}

interface EventParser {
  /** @returns the events that are complete now */
  feed(text: string): ServerEvent[];
}

const NONE = -1;

/** Complete lines, and the unfinished rest. A CR at the end stays in the rest: it may be half of a CRLF. */
function splitLines(text: string): { lines: string[]; rest: string } {
  const lines: string[] = [];
  let start = 0;
  for (;;) {
    const [cr, lf] = [text.indexOf("\r", start), text.indexOf("\n", start)];
    const isCr = cr !== NONE && (lf === NONE || cr < lf);
    const end = isCr ? cr : lf;
    if (end === NONE || (isCr && end === text.length - 1)) return { lines, rest: text.slice(start) };
    lines.push(text.slice(start, end));
    start = end + (isCr && text[end + 1] === "\n" ? 2 : 1);
  }
}

/** `name: value` as the standard reads it; null: a comment. */
function fieldOf(line: string): { name: string; value: string } | null {
  const colon = line.indexOf(":");
  if (colon === 0) return null;
  if (colon === NONE) return { name: line, value: "" };
  return { name: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, "") };
}

/**
 * Parses `text/event-stream` (WHATWG HTML 9.2.6), however it is split. An event without its final blank line is
 * dropped.
 */
export function createEventParser(): EventParser {
  let rest = "";
  let isFirst = true;
  let event = "";
  let lastEventId = "";
  let data: string[] = [];

  function onLine(line: string, found: ServerEvent[]): void {
    if (line === "") {
      if (data.length > 0) found.push({ event: event || "message", data: data.join("\n"), lastEventId });
      event = "";
      data = [];
      return;
    }
    const field = fieldOf(line);
    if (field?.name === "event") event = field.value;
    else if (field?.name === "data") data.push(field.value);
    else if (field?.name === "id" && !field.value.includes("\0")) lastEventId = field.value;
  }

  return {
    feed(text) {
      if (text === "") return [];
      const found: ServerEvent[] = [];
      const begun = isFirst ? text.replace(/^\uFEFF/, "") : text;
      isFirst = false;
      const { lines, rest: left } = splitLines(rest + begun);
      rest = left;
      for (const line of lines) onLine(line, found);
      return found;
    },
  };
}
