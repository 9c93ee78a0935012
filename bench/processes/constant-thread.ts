import { workerData } from "node:worker_threads";

const answer: unknown = workerData;

/** A check thread whose answers cost nothing. */
export default async function constant(): Promise<unknown> {
  return answer;
}
