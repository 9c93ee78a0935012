import { useSyncExternalStore } from "react";
import { createStore } from "../store.ts";
import { FileUpload, type UploadState } from "./file-upload.ts";
import type { KeptUpload } from "./kept-uploads.ts";

/** The file that is being sent. It continues while other pages of the portal are open. */
const current = createStore<FileUpload | null>(null);

// Through the API nothing can be taken up again: the browser asks before it leaves the page.
window.addEventListener("beforeunload", (event) => {
  const { phase, isThroughApi } = current.get()?.state() ?? {};
  if (phase === "sending" && isThroughApi === true) event.preventDefault();
});

/** Sends a file, from its beginning or from where it was interrupted. @param kept record of the earlier upload */
export function beginUpload(file: File, teamId: string, kept: KeptUpload | null = null): void {
  current.get()?.pause();
  const upload = new FileUpload(file, teamId, kept);
  current.set(upload);
  upload.start();
}

/** It has ended, or was given up: another one may begin. */
export function leaveUpload(upload: FileUpload): void {
  if (current.get() === upload) current.set(null);
}

export const useCurrentUpload = current.use;

/** Whether loading the page again would interrupt a file. */
export const isSendingFile = (): boolean => current.get() !== null;

export function useUploadState(upload: FileUpload): UploadState {
  return useSyncExternalStore(upload.subscribe, upload.state);
}
