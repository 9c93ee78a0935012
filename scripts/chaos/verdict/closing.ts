/** A line of the closing table: what was found, and what it may be. */
export interface Finding {
  name: string;
  value: string | number;
  /** null: no bound; the value is only shown. */
  bound: string | null;
  ok: boolean;
  /** The measurement was too poor to judge the bound, so it is neither held nor missed. */
  void?: true;
}

export interface Closing {
  seed: number;
  /** The command that draws the same faults again. */
  again: string;
  findings: Finding[];
  /** Descriptions of the faults. */
  details: string[];
}

export const noted = (name: string, value: string | number): Finding => ({
  name,
  value,
  bound: null,
  ok: true,
});

export const voided = (name: string, value: string | number): Finding => ({
  ...noted(name, `${value}: void`),
  void: true,
});

export const none = (name: string, value: number): Finding => ({ name, value, bound: "0", ok: value === 0 });

export const within = (name: string, value: string | number, bound: string, ok: boolean): Finding => ({
  name,
  value,
  bound,
  ok,
});

const NAME_WIDTH = 34;
const VALUE_WIDTH = 30;
const DETAILS_SHOWN = 40;

export function renderClosing({ again, findings, details }: Closing): string {
  const lines = findings.map(({ name, value, bound, ok }) => {
    const bounded = bound === null ? "" : ` ${ok ? "ok  " : "MISSED"} bound: ${bound}`;
    return `  ${name.padEnd(NAME_WIDTH)} ${String(value).padEnd(VALUE_WIDTH)}${bounded}`.trimEnd();
  });
  const more = details.slice(0, DETAILS_SHOWN).map((detail) => `  ! ${detail}`);
  if (details.length > DETAILS_SHOWN) more.push(`  ! and ${details.length - DETAILS_SHOWN} more`);
  return [...lines, ...more, `${verdictOn(findings)} To repeat it: ${again}`].join("\n");
}

function verdictOn(findings: readonly Finding[]): string {
  if (!passes(findings)) return "Not every bound holds.";
  const voids = findings.filter((finding) => finding.void === true).length;
  if (voids === 0) return "Every bound holds.";
  return `No bound is missed, but ${voids} figures are void and were not judged.`;
}

/** 0: every bound holds; 1: one does not; 2: none is missed, but some could not be judged. */
export function exitCodeOf(findings: readonly Finding[]): number {
  if (!passes(findings)) return 1;
  return findings.some((finding) => finding.void === true) ? 2 : 0;
}

export function passes(findings: readonly Finding[]): boolean {
  return findings.every(({ ok }) => ok);
}
