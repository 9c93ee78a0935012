import { useToday } from "../api/use-today.ts";
import { grouped } from "../words/numbers.ts";
import { Time } from "./time.tsx";

/** The remaining units of today's quota, and the time of the next quota. */
export function QuotaLeft() {
  const { data } = useToday();
  if (data === undefined) return null;
  return (
    <>
      {grouped(data.remaining)} of {grouped(data.limit)} units are left today; the next day begins{" "}
      <Time at={data.resets_at} />.
    </>
  );
}
