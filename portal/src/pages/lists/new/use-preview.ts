import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "../../../api/client.ts";
import type { operations } from "../../../api/schema.d.ts";

export type FileOptions = NonNullable<
  operations["previewUpload"]["requestBody"]
>["content"]["application/json"];
export type Preview = operations["previewUpload"]["responses"][200]["content"]["application/json"];

/**
 * How an upload would be read with these options. `known` is the last preview without an error: what may be chosen among
 * when there is one.
 */
export function usePreview(uploadId: string, options: FileOptions) {
  const preview = useQuery({
    queryKey: ["preview", uploadId, options],
    queryFn: ({ signal }) =>
      dataOf(
        api.POST("/v1/uploads/{upload}/preview", {
          params: { path: { upload: uploadId } },
          body: options,
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [known, setKnown] = useState<Preview | null>(null);
  if (preview.data !== undefined && preview.data !== known) setKnown(preview.data);
  return { ...preview, known };
}

/** Number of columns of the first rows. */
export const columnCount = ({ header, rows }: Preview): number =>
  Math.max(header?.length ?? 0, ...rows.map(({ columns }) => columns.length));
