import type { HourLater } from "./an-hour-later.ts";
import { type Finding, none, noted, within } from "./closing.ts";

/** An hour after all jobs have ended, object storage must have every readable object, and nothing else. */
export function judgeStorage({ tidiedS, before, after, readable }: HourLater): {
  findings: Finding[];
  details: string[];
} {
  const kept = new Set(readable);
  const there = new Set(after.objects);
  const strays = after.objects.filter((key) => !kept.has(key));
  const missing = readable.filter((key) => !there.has(key));
  const took = tidiedS === null ? "no" : `${tidiedS.toFixed(1)} s`;
  const parts = `${before.parts.length} -> ${after.parts.length}`;
  return {
    findings: [
      noted("object storage", "all settled -> an hour later"),
      noted("  objects", `${before.objects.length} -> ${after.objects.length}`),
      within("  tidied", took, "within 60 s", tidiedS !== null),
      none("  objects that nobody may read", strays.length),
      none("  objects missing", missing.length),
      // The run begins one upload: if that was not listed before, an empty list at the end proves nothing.
      within(
        "  unfinished uploads in parts",
        parts,
        "some, and 0 in the end",
        before.parts.length > 0 && after.parts.length === 0,
      ),
    ],
    details: [
      ...strays.map((key) => `nobody may read ${key}`),
      ...missing.map((key) => `missing: ${key}`),
      ...after.parts.map((key) => `still in parts: ${key}`),
    ],
  };
}
