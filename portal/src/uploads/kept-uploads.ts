import { useSyncExternalStore } from "react";

/** Record of an upload in this browser, to resume it after the page was closed: no credential, no content. */
export interface KeptUpload {
  id: string;
  teamId: string;
  name: string;
  bytes: number;
  fingerprint: string;
}

const KEY = "rcpt-uploads";

function isKept(value: unknown): value is KeptUpload {
  if (typeof value !== "object" || value === null) return false;
  const { id, teamId, name, bytes, fingerprint } = value as Partial<Record<keyof KeptUpload, unknown>>;
  return [id, teamId, name, fingerprint].every((text) => typeof text === "string") && Number.isInteger(bytes);
}

function read(text: string): readonly KeptUpload[] {
  try {
    const values: unknown = JSON.parse(text);
    return Array.isArray(values) ? values.filter(isKept) : [];
  } catch {
    return [];
  }
}

const storedText = () => localStorage.getItem(KEY) ?? "[]";
const listeners = new Set<() => void>();

function write(uploads: readonly KeptUpload[]): void {
  try {
    if (uploads.length === 0) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(uploads));
  } catch {
    // The browser stores nothing for us: an interrupted upload then starts from the beginning.
  }
  for (const listener of listeners) listener();
}

export function keepUpload(upload: KeptUpload): void {
  write([upload, ...read(storedText()).filter(({ id }) => id !== upload.id)]);
}

export function forgetUpload(id: string): void {
  const kept = read(storedText());
  if (kept.some((upload) => upload.id === id)) write(kept.filter((upload) => upload.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** The team's uploads that started in this browser and are not known to have ended. */
export function useKeptUploads(teamId: string): readonly KeptUpload[] {
  return read(useSyncExternalStore(subscribe, storedText)).filter((upload) => upload.teamId === teamId);
}
