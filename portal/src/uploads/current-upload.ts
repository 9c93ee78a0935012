import { useSyncExternalStore } from "react";
import { FileUpload, type UploadState } from "./file-upload.ts";
import type { KeptUpload } from "./kept-uploads.ts";

/** The file that is being sent. It continues while other pages of the portal are open. */
let current: FileUpload | null = null;
const listeners = new Set<() => void>();

// Through the API nothing can be taken up again: the browser asks before it leaves the page.
window.addEventListener("beforeunload", (event) => {
  const { phase, isThroughApi } = current?.state() ?? {};
  if (phase === "sending" && isThroughApi === true) event.preventDefault();
});

function replace(upload: FileUpload | null): void {
  current = upload;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Sends a file, from its beginning or from where it was interrupted. @param kept record of the earlier upload */
export function beginUpload(file: File, teamId: string, kept: KeptUpload | null = null): void {
  current?.pause();
  replace(new FileUpload(file, teamId, kept));
  current?.start();
}

/** It has ended, or was given up: another one may begin. */
export function leaveUpload(upload: FileUpload): void {
  if (current === upload) replace(null);
}

export function useCurrentUpload(): FileUpload | null {
  return useSyncExternalStore(subscribe, () => current);
}

export function useUploadState(upload: FileUpload): UploadState {
  return useSyncExternalStore(upload.subscribe, upload.state);
}
