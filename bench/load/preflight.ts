import { LIMITS } from "./bounds.ts";
import type { LoadOptions } from "./options.ts";
import { writeCount } from "./units.ts";

/** The deployment cannot be measured: exit code 3. */
export class CannotMeasure extends Error {
  override name = "CannotMeasure";
}

interface Usage {
  tier?: unknown;
  remaining?: unknown;
}

/** Requests that would be sent, as far as the bounds tell. */
function expected({ loop, requests, durationMs, warmUpMs }: LoadOptions): number {
  if (loop.kind === "none") return 0;
  return loop.kind === "open" ? Math.min(requests, (loop.rate * (durationMs + warmUpMs)) / 1_000) : requests;
}

/**
 * One question before thousands: is there a deployment, and does it take the key.
 * @returns what the user should know before reading the figures
 * @throws CannotMeasure that says why not
 */
export async function preflight(options: LoadOptions, key: string, isLive: boolean): Promise<string[]> {
  const url = `${options.origin}${options.basePath}/v1/usage`;
  const signal = AbortSignal.timeout(Math.min(options.timeoutMs, LIMITS.timeoutMs));
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` }, signal }).catch(
    (error: Error) => {
      const cause = (error.cause as { code?: string } | undefined)?.code ?? error.name;
      throw new CannotMeasure(`${options.origin} cannot be reached (${cause})`);
    },
  );
  const usage = (await response.json().catch(() => null)) as Usage | null;
  if (response.status === 401 || response.status === 403)
    throw new CannotMeasure(`${options.origin} does not take the key (HTTP ${response.status})`);
  if (!response.ok || usage === null)
    return [`GET /v1/usage was answered by HTTP ${response.status}: this may be no rcpt, or not be well.`];
  const { remaining } = usage;
  const planned = expected(options);
  if (!isLive || typeof remaining !== "number" || remaining >= planned) return [];
  return [
    `The team has ${writeCount(remaining)} verifications left today, and up to ${writeCount(planned)} would be sent.`,
  ];
}
