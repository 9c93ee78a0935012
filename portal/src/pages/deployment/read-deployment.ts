import { api, dataOf } from "../../api/client.ts";

export const readDeployment = () => dataOf(api.GET("/v1/deployment"));
export type Deployment = Awaited<ReturnType<typeof readDeployment>>;
