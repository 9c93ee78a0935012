import type { ReadableFile } from "./readable-file.ts";

/** A file of the disk, read piece by piece. Node.js, Deno, Bun; pages get no-disk.ts in its place. */
export async function openDiskFile(path: string | URL): Promise<ReadableFile> {
  const [{ open }, { basename }] = await Promise.all([import("node:fs/promises"), import("node:path")]);
  const handle = await open(path, "r");
  const { size } = await handle.stat();
  return {
    name: basename(typeof path === "string" ? path : decodeURIComponent(path.pathname)),
    bytes: size,
    async read(firstByte, bytes) {
      const buffer = new Uint8Array(bytes);
      let filled = 0;
      while (filled < bytes) {
        const { bytesRead } = await handle.read(buffer, filled, bytes - filled, firstByte + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    },
    close: () => handle.close(),
  };
}
