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
