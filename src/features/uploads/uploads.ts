import { LIMITS } from "../../config/limits/limits.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { type Page, type PageRequest, pageOf } from "../../platform/page.ts";
import { MissingObject, type ObjectStreams } from "../../stores/objects/object-streams.ts";
import type { Database } from "../../stores/postgres/postgres.ts";
import { type Actor, shareKey } from "../identity/actor.ts";
import { requireFeature } from "../identity/tier-features.ts";
import {
  createListParts,
  createPartSlots,
  type ListUploadParts,
  type PartSlots,
  signParts,
} from "./open-parts.ts";
import { partsOf } from "./parts.ts";
import type { PreviewUpload } from "./preview.ts";
import type { ReceiveUpload } from "./receive.ts";
import {
  ensureWithinLimit,
  insertWithinLimit,
  refreshFromStorage,
  renderUpload,
  requireUpload,
  type Upload,
  uploadNotFound,
  uploadTooLarge,
} from "./upload.ts";
import { isRefusedPart, type UploadObjects } from "./upload-objects.ts";
import { giveUpUpload, hideUpload, listUploads, noteParts, type UploadRow, uploadKey } from "./upload-sql.ts";

/** The requests that the client must send. */
export type CreatedUpload = Upload & { method: "PUT" } & (
    | { url: string; headers: Record<string, string> }
    | { parts: { part_number: number; url: string; first_byte: number; bytes: number }[] }
  );

export interface NewUploadInput {
  filename: string;
  bytes?: number | undefined;
  /** The file is sent in parts of this size. */
  part_bytes?: number | undefined;
}

/**
 * Files for bulk jobs. Another team's are not found, nor live ones by a test key. All methods throw AppError
 * `feature_unconfigured` without object storage.
 */
export interface Uploads {
  /** The origin that `create`'s and `listParts`' URLs have; null without object storage. */
  origin(): Promise<string | null>;
  /**
   * Creates an upload that the client sends directly to object storage.
   * @throws AppError `unavailable_in_tier`, `bulk_too_large`, `limit_reached`; `rate_limited`, `overloaded` of one in parts
   */
  create(actor: Actor, input: NewUploadInput): Promise<CreatedUpload>;
  /** Receives a file through this process. */
  receive: ReceiveUpload;
  /**
   * Newest first, each as last seen: `get` looks for bytes that came by a URL.
   * @param ask `unusedOnly`: those whose bytes are there and that no job was made of
   */
  list(actor: Actor, ask: PageRequest & { unusedOnly: boolean }): Promise<Page<Upload>>;
  /** @throws AppError `not_found`, `bulk_too_large` */
  get(actor: Actor, id: string): Promise<Upload>;
  listParts: ListUploadParts;
  /**
   * Combines the sent parts into the file. Idempotent.
   * @throws AppError `not_found`, `upload_missing`, `bulk_too_large`, `rate_limited`, `overloaded`; `limit_reached` for one that
   *   had expired
   */
  complete(actor: Actor, id: string): Promise<Upload>;
  preview: PreviewUpload;
  /** @throws AppError `not_found`, `upload_in_use` */
  remove(actor: Actor, id: string): Promise<void>;
}

export interface UploadStorage {
  streams: Pick<ObjectStreams, "head" | "openWrite">;
  objects: UploadObjects;
}

/** The team's view of an upload. */
type Render = (row: UploadRow) => Upload;

function createPresigned(
  sql: Database,
  { objects }: UploadStorage,
  render: Render,
  inPartSlot: PartSlots,
): Uploads["create"] {
  const { presignedMs } = LIMITS.uploads;

  async function begin(id: string, key: string): Promise<string> {
    try {
      const multipartId = await objects.startMultipart(key);
      if (!(await noteParts(sql, id, multipartId))) throw uploadNotFound();
      return multipartId;
    } catch (error) {
      // Otherwise it counts as open until it expires.
      await giveUpUpload(sql, id).catch(() => {});
      throw error;
    }
  }

  /** Before the upload starts in object storage: if the process is killed, the row leads to the remains. */
  function insert(actor: Actor, input: NewUploadInput, validMs: number): Promise<UploadRow> {
    const { teamId, livemode } = actor;
    const { filename, bytes = null, part_bytes: partBytes = null } = input;
    const id = newId("upl");
    const key = uploadKey(teamId, id);
    const upload = { id, teamId, livemode, filename, key, bytes, partBytes, expiresInMs: validMs };
    return insertWithinLimit(sql, actor, upload);
  }

  return async (actor, input) => {
    const { bytes, part_bytes: partBytes = null } = input;
    if (bytes !== undefined && bytes > actor.limits.bulkBytes) throw uploadTooLarge(actor);
    const parts = partsOf(bytes ?? 0, partBytes);
    const validMs = await objects.validMs(presignedMs);
    if (parts === null) {
      const row = await insert(actor, input, validMs);
      return { ...render(row), method: "PUT", ...(await objects.presignPut(row.key, row.bytes, validMs)) };
    }
    return inPartSlot(actor, async () => {
      const row = await insert(actor, input, validMs);
      const place = { key: row.key, multipartId: await begin(row.id, row.key) };
      const signed = await signParts(objects, place, parts, validMs, shareKey(actor));
      return { ...render(row), method: "PUT", parts: signed };
    });
  };
}

function createComplete(
  sql: Database,
  { objects, streams }: UploadStorage,
  render: Render,
  inPartSlot: PartSlots,
): Uploads["complete"] {
  /** @throws AppError `upload_missing` when the sent parts are not the announced file */
  async function assemble(row: UploadRow, multipartId: string): Promise<void> {
    const { key, bytes } = row;
    const parts = await objects.listParts(key, multipartId, shareKey(row));
    const gap = parts.findIndex(({ number }, i) => number !== i + 1);
    const sent = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (gap !== -1) throw new AppError("upload_missing", `Part ${gap + 1} has not been sent.`);
    if (sent !== bytes)
      throw new AppError(
        "upload_missing",
        `${sent} of ${bytes} bytes have been sent, in ${parts.length} parts.`,
      );
    await objects.completeMultipart(key, multipartId, parts).catch((error: unknown) => {
      if (!isRefusedPart(error)) throw error;
      throw new AppError("upload_missing", "A part was sent anew meanwhile. Complete the upload again.", {
        cause: error,
      });
    });
  }

  return async (actor, id) => {
    const row = await requireUpload(sql, actor, id);
    const { multipartId } = row;
    if (multipartId !== null) {
      await ensureWithinLimit(sql, actor, row);
      await inPartSlot(actor, () => assemble(row, multipartId)).catch((error: unknown) => {
        // Completed by another request, or by this one's first attempt; or it does not exist: the check decides.
        if (!(error instanceof MissingObject)) throw error;
      });
    }
    const stored = await refreshFromStorage(sql, streams, row, actor);
    if (stored === null) throw new AppError("upload_missing", "Nothing has been sent yet.");
    return render(stored);
  };
}

export interface UploadsDeps {
  sql: Database;
  storage: UploadStorage;
  receive: ReceiveUpload;
  preview: PreviewUpload;
  retentionDays: number;
}

function createStoredUploads({ sql, storage, receive, preview, retentionDays }: UploadsDeps): Uploads {
  const render: Render = (row) => renderUpload(row, retentionDays);
  const inPartSlot = createPartSlots();
  return {
    origin: () => storage.objects.origin(),
    create: createPresigned(sql, storage, render, inPartSlot),
    receive,
    preview,
    async list({ teamId, livemode }, ask) {
      const { after, limit, unusedOnly } = ask;
      const page = { after, limit: limit + 1, testOnly: !livemode, unusedOnly };
      const rows = await listUploads(sql, teamId, page);
      return pageOf(rows, ask, (row) => row.id, render);
    },
    async get(actor, id) {
      const row = await requireUpload(sql, actor, id);
      if (row.status === "stored") return render(row);
      return render((await refreshFromStorage(sql, storage.streams, row, actor)) ?? row);
    },
    listParts: createListParts(sql, storage, inPartSlot),
    complete: createComplete(sql, storage, render, inPartSlot),
    async remove(actor, id) {
      await requireUpload(sql, actor, id);
      const outcome = await sql.begin((tx) => hideUpload(tx, actor.teamId, id), actor.teamId);
      if (outcome === "missing") throw uploadNotFound();
      if (outcome === "in use")
        throw new AppError("upload_in_use", "An unfinished job uses it: cancel the job first.");
    },
  };
}

/** @param deps null: no object storage is configured */
export function createUploads(deps: UploadsDeps | null): Uploads {
  const uploads = deps === null ? null : createStoredUploads(deps);
  const configured = () => {
    if (uploads !== null) return uploads;
    throw new AppError("feature_unconfigured", "Uploads require object storage, which is not configured.");
  };
  return {
    origin: async () => (uploads === null ? null : uploads.origin()),
    async create(actor, input) {
      requireFeature(actor, "bulk");
      return configured().create(actor, input);
    },
    async receive(actor, file, body, cancelled) {
      requireFeature(actor, "bulk");
      return configured().receive(actor, file, body, cancelled);
    },
    list: async (actor, ask) => configured().list(actor, ask),
    get: async (actor, id) => configured().get(actor, id),
    async listParts(actor, id) {
      requireFeature(actor, "bulk");
      return configured().listParts(actor, id);
    },
    complete: async (actor, id) => configured().complete(actor, id),
    async preview(actor, id, options, cancelled) {
      requireFeature(actor, "bulk");
      return configured().preview(actor, id, options, cancelled);
    },
    remove: async (actor, id) => configured().remove(actor, id),
  };
}
