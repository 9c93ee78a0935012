/** `listen` of uWebSockets.js with options and a host: there since long, but missing from its types. */
type ListenOn<Socket> = (
  host: string,
  port: number,
  options: number,
  done: (socket: Socket | false) => void,
) => void;

/** Exclusive: without it a second process would share the port silently and take half of the requests. @throws Error when it cannot */
export function listenExclusively<Socket>(
  app: { listen: unknown },
  host: string,
  port: number,
): Promise<Socket> {
  const EXCLUSIVE = 1;
  return new Promise((resolve, reject) => {
    const listen = (app.listen as ListenOn<Socket>).bind(app);
    listen(host, port, EXCLUSIVE, (socket) => {
      if (socket) resolve(socket);
      else reject(new Error(`cannot listen on ${host} port ${port}: is it in use?`));
    });
  });
}

/** uWebSockets.js' app, for reports of its connections. */
interface ConnectionEvents {
  filter(handler: (response: { close(): unknown }, change: unknown) => void): unknown;
}

/** Closes connections beyond the limit as they come. `closed` is called for each that was closed. */
export function limitConnections(app: ConnectionEvents, limit: number, onClosed: () => void): void {
  let connections = 0;
  const count = (response: { close(): unknown }, change: number) => {
    connections += change;
    if (change === -1) onClosed();
    else if (connections > limit) response.close();
  };
  app.filter((response, change) => count(response, Number(change)));
}
