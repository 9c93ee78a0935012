import type { ApiRequest, Transport } from "./transport.ts";

interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** The entries of a list, page after page. @throws RcptError */
export async function* paginate<T>(transport: Transport, request: ApiRequest): AsyncGenerator<T, void> {
  let cursor = request.query?.cursor;
  do {
    const query = { ...request.query, cursor };
    const page = (await transport.json({ ...request, query })) as Page<T>;
    yield* page.data;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
