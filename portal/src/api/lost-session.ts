import { createStore } from "../store.ts";

/**
 * The session has ended while a page was open, or its person is signed in to another team since. The page stays as it is, with what
 * was typed, until they have signed in to its team again.
 */
export type LostSession = "signed out" | "in another team";

/** null: the page's session goes on. */
export const lostSession = createStore<LostSession | null>(null);
