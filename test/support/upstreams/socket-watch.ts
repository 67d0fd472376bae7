// A front before a server that remembers whose key came over which of its sockets.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from './listener.ts';
import { SocketKeys } from './socket-keys.ts';

export interface SocketWatch extends Pick<SocketKeys, 'keysBySocket'> {
  /** As the server's own, at another port. */
  readonly url: string;
  /** Sockets to it that are open now. */
  readonly open: number;
  close(): Promise<void>;
}

/** @param answers gives true for what it has answered itself */
export async function watchSockets(
  targetUrl: string,
  answers: (req: IncomingMessage, res: ServerResponse) => boolean = () => false,
): Promise<SocketWatch> {
  const keys = new SocketKeys();
  const { origin, pathname } = new URL(targetUrl);
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    keys.note(req.socket, req.headers.authorization);
    if (answers(req, res)) return;
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
      return keys.keysBySocket;
    },
    get open() {
      return listener.sockets.open;
    },
    close: () => listener.close(),
  };
}
