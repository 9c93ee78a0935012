import { api, dataOf, Problem } from "../api/client.ts";

/** An upload as the service has it; null: it is gone. */
export async function readUpload(id: string) {
  try {
    return await dataOf(api.GET("/v1/uploads/{upload}", { params: { path: { upload: id } } }));
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null;
    throw error;
  }
}
