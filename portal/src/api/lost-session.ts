import { createStore } from "../store.ts";

/** True: the session has ended while a page was open. The page stays as it is, with what was typed, until its person has signed in again. */
export const sessionLost = createStore(false);
