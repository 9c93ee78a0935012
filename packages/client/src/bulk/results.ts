import { RcptError } from "../http/errors.ts";
import type { Answer, RequestOptions } from "../http/paths.ts";
import { pause, Waits } from "../http/pause.ts";
import type { Transport } from "../http/transport.ts";
import { readJsonLines } from "../streams/json-lines.ts";
import { piecesOf } from "../streams/pieces.ts";

type ResultsQuery = NonNullable<RequestOptions<"GET", "/v1/bulk-jobs/{id}/results">["query"]>;
type Verification = Answer<"GET", "/v1/verify">;

/** Filter of rows: a row must match every given field. `limit`: the most rows to return. */
export type RowFilter = Pick<ResultsQuery, "verdict" | "reason" | "provider" | "limit">;

/** A row of a list, with its result. */
export type ResultRow = Verification & {
  /** From 1, in the order of the list. */
  row: number;
  /** Its address as the list has it. */
  input: string;
  /** The row whose result this one copies. */
  duplicate_of: number | null;
  /** All cells of the row, in results of files. */
  columns?: string[];
  /** Replaces the result in jobs with `split_cells`, where the cell has several addresses. */
  parts?: (Verification & { input: string; duplicate_of: number | null })[];
};

export interface ResultsRequest {
  transport: Transport;
  id: string;
  query: ResultsQuery;
  signal: AbortSignal | undefined;
}

const SILENCE_MS = 60_000;
const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 15_000;
/** Attempts in a row without a single byte, or row, more. */
const FRUITLESS_ATTEMPTS = 5;

/** Attempts that count anew whenever something has come. */
class Patience {
  readonly #signal: AbortSignal | undefined;
  readonly #waits = new Waits(FIRST_WAIT_MS, LAST_WAIT_MS);
  #fruitless = 0;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  onProgress(): void {
    this.#fruitless = 0;
    this.#waits.reset();
  }

  /** Waits before another attempt. @throws `error` where one is not worth it */
  async outlast(error: unknown): Promise<void> {
    this.#signal?.throwIfAborted();
    this.#fruitless += 1;
    const mayPass = error instanceof RcptError && error.code === "network_error";
    if (!mayPass || this.#fruitless >= FRUITLESS_ATTEMPTS) throw error;
    await pause(this.#waits.nextMs(), this.#signal ?? new AbortController().signal);
  }
}

function openFrom(request: ResultsRequest, etag: string | null, firstByte: number): Promise<Response> {
  const { transport, id, query, signal } = request;
  const headers: Record<string, string> = { Accept: "*/*" };
  if (etag !== null && firstByte > 0)
    Object.assign(headers, { Range: `bytes=${firstByte}-`, "If-Range": etag });
  const path = "/v1/bulk-jobs/{id}/results";
  return transport.open({ method: "GET", path, parameters: { id }, query: { ...query }, headers, signal });
}

/**
 * The bytes of results. Where the service can continue (all rows of a completed job) what broke off is taken up at its byte.
 * @throws RcptError, `network_error` when it broke off for good; the reason of `signal`
 */
export async function* readResultBytes(request: ResultsRequest): AsyncGenerator<Uint8Array, void> {
  const patience = new Patience(request.signal);
  let response = await openFrom(request, null, 0);
  const etag = response.headers.get("etag");
  let got = 0;
  for (;;) {
    try {
      for await (const piece of piecesOf(response, { signal: request.signal, silenceMs: SILENCE_MS })) {
        got += piece.length;
        patience.onProgress();
        yield piece;
      }
      return;
    } catch (error) {
      if (etag === null) throw error;
      await patience.outlast(error);
    }
    try {
      response = await openFrom(request, etag, got);
    } catch (error) {
      // The connection broke behind the last byte: the results are complete.
      if (error instanceof RcptError && error.code === "range_not_satisfiable") return;
      throw error;
    }
    // The results have changed, and rows of the old ones have been yielded already.
    if (got > 0 && response.status !== 206)
      throw new RcptError("network_error", "The results broke off, and are others now.", {
        status: response.status,
      });
  }
}

/**
 * Yields each row of the results once, in the order of the list. Where the byte stream cannot be resumed (filtered
 * rows, or a running job), reads it again and skips rows up to the last one.
 * @throws RcptError; the reason of `signal`
 */
export async function* readRows(request: ResultsRequest): AsyncGenerator<ResultRow, void> {
  const patience = new Patience(request.signal);
  let lastRow = 0;
  for (;;) {
    try {
      for await (const value of readJsonLines(readResultBytes(request))) {
        const row = value as ResultRow;
        if (row.row <= lastRow) continue;
        lastRow = row.row;
        patience.onProgress();
        yield row;
      }
      return;
    } catch (error) {
      await patience.outlast(error);
    }
  }
}
