const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;

/** 125 as "2 min": whole units, as many as a person wants to know. */
export function duration(seconds: number): string {
  if (seconds < MINUTE_S) return `${Math.max(1, Math.ceil(seconds))} s`;
  if (seconds < HOUR_S) return `${Math.round(seconds / MINUTE_S)} min`;
  if (seconds < DAY_S) {
    const minutes = Math.round((seconds % HOUR_S) / MINUTE_S);
    return `${Math.floor(seconds / HOUR_S)} h${minutes === 0 ? "" : ` ${minutes} min`}`;
  }
  return `${Math.round(seconds / DAY_S)} d`;
}
