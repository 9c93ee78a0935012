/** Fields of one group of a report, by their names in lower case; of repeated ones all values, in order. */
export type FieldGroup = ReadonlyMap<string, readonly string[]>;

const FIELD = /^([!-9;-~]{1,80}):[ \t]*(.*)$/;

/**
 * The groups of fields of a report's machine-readable part (RFC 3464 §2.1, RFC 5965 §3.1). Folded lines are joined, empty
 * lines separate groups, and malformed lines are skipped.
 */
export function readFieldGroups(text: string, maxGroups: number): FieldGroup[] {
  const groups: Map<string, string[]>[] = [];
  let group: Map<string, string[]> | null = null;
  let values: string[] | null = null;
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.trim() === "") {
      group = null;
      continue;
    }
    if (/^[ \t]/.test(line) && group !== null && values !== null) {
      values.push(`${values.pop() ?? ""} ${line.trim()}`);
      continue;
    }
    const [, name = "", value = ""] = FIELD.exec(line) ?? [];
    if (name === "") continue;
    if (group === null) {
      if (groups.length === maxGroups) break;
      group = new Map();
      groups.push(group);
    }
    const key = name.toLowerCase();
    values = group.get(key) ?? [];
    values.push(value.trim());
    group.set(key, values);
  }
  return groups;
}

/** The first value of a field; "" where there is none. */
export function fieldOf(group: FieldGroup, name: string): string {
  return group.get(name)?.[0] ?? "";
}

const ADDRESS_TYPE = /^(?:rfc822|utf-8)\s*;\s*/i;

/** The address of `rfc822; <user@example.com>`; "" for one of another type. */
export function addressOf(value: string): string {
  const untyped = value.replace(ADDRESS_TYPE, "");
  if (untyped.includes(";")) return "";
  return untyped.trim().replace(/^<(.*)>$/s, "$1");
}

/** The host of `dns; mx.example.com (192.0.2.1)`; "" where the text names no host. */
export function mtaHostOf(value: string): string {
  return /^(?:dns\s*;)?\s*([a-z0-9_.-]{1,253})(?=$|[\s([,;])/i.exec(value)?.[1] ?? "";
}

const DATE_CHARS = 100;

/** Epoch milliseconds of a mail's date; null where the text is not a date. */
export function dateOf(value: string): number | null {
  const ms = Date.parse(value.slice(0, DATE_CHARS).replace(/\s*\([^()]*\)\s*$/, ""));
  return Number.isFinite(ms) ? ms : null;
}
