// A front before a server that remembers whose key came over which of its sockets.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from './listener.ts';

export interface SocketWatch {
  /** As the server's own, at another port. */
  readonly url: string;
  /** For each socket that carried a key: all that came over it. */
  readonly keysBySocket: readonly ReadonlySet<string>[];
  /** Sockets to it that are open now. */
  readonly open: number;
  close(): Promise<void>;
}

export async function watchSockets(targetUrl: string): Promise<SocketWatch> {
  const keys = new Map<number, Set<string>>();
  const { origin, pathname } = new URL(targetUrl);
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    const { authorization } = req.headers;
    const socket = listener.socketNumber(req.socket);
    if (authorization !== undefined) keys.set(socket, (keys.get(socket) ?? new Set()).add(authorization));
    const onward = http.request(`${origin}${req.url ?? ''}`, { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.once('error', () => res.destroy());
    res.once('close', () => onward.destroy());
    req.pipe(onward);
  };
  const listener = await listen(serve);
  return {
    url: new URL(pathname, listener.url).href,
    get keysBySocket() {
      return [...keys.values()];
    },
    get open() {
      return listener.sockets.open;
    },
    close: () => listener.close(),
  };
}
