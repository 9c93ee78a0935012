import { createStore } from "../store.ts";

/** What was pasted on the page of a new list. It is kept until it is a list or a stored file: sending it may fail. */
interface PastedText {
  /** Person and team: another one must not see it. */
  owner: string;
  text: string;
  /** The file that it is sent as; null: none yet. */
  file: File | null;
}

export const pastedText = createStore<PastedText | null>(null);

/** The file is stored. A text that was pasted since remains. */
export function forgetPasted(file: File): void {
  if (pastedText.get()?.file === file) pastedText.set(null);
}
