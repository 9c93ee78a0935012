import type { RawAnswer, RawForm, RawServer } from "../processes/raw-server.ts";
import { InvalidRun } from "../report/figures.ts";
import { startChild } from "../setup/child.ts";
import type { BenchContext } from "../setup/context.ts";
import { type Keep, type Started, startPinned } from "../setup/pinned-server.ts";
import { askOnce, type HttpAnswer, ownFields } from "./http-connection.ts";

/** A request, and what the API answers to it. */
export interface HttpSample {
  request: string;
  answer: HttpAnswer;
}

/** The answer in the form that a raw server sends. */
export const rawAnswer = (answer: HttpAnswer): RawAnswer => ({
  fields: ownFields(answer),
  body: answer.body,
});

/** Answers of a raw server: `sample` first. */
export interface RawPlan {
  name: string;
  sample: HttpSample;
  /** By turns, behind the sample. */
  others: readonly RawAnswer[];
  form: RawForm;
}

/** uWebSockets.js, on a core, with the bytes of a sample and of others if need be. @throws InvalidRun where it sends others */
export async function startRaw(
  context: BenchContext,
  keep: Keep,
  core: number,
  { name, sample, others, form }: RawPlan,
): Promise<Started> {
  const child = keep(await startChild<RawServer>("raw-server", context));
  const { answer, request } = sample;
  const answers = [rawAnswer(answer), ...others];
  const raw = await startPinned(child, name, await child.call("start", { answers, form }), core);
  const copy = await askOnce(raw.port, request);
  if (copy.head.length !== answer.head.length || copy.body !== answer.body)
    throw new InvalidRun(`the raw server does not send the same bytes:\n${answer.head}\n---\n${copy.head}`);
  const [second] = others;
  const behind = second === undefined ? null : await askOnce(raw.port, request);
  if (behind !== null && behind.body !== second?.body)
    throw new InvalidRun(`the raw server does not send the second answer: ${behind.body}`);
  return raw;
}
