// A node:http server on a free loopback port that closes at once, whatever is still open on it.
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Listener {
  /** Where MCP is spoken. */
  readonly url: string;
  /** TCP connections accepted so far, and open now. */
  readonly sockets: { readonly accepted: number; readonly open: number };
  /** The running number of the connection a request came over: two requests with one number shared it. */
  socketNumber(socket: Socket): number;
  close(): Promise<void>;
}

export async function listen(handle: http.RequestListener): Promise<Listener> {
  const numbers = new WeakMap<Socket, number>();
  const open = new Set<Socket>();
  let accepted = 0;
  const server = http.createServer({ keepAliveTimeout: 60_000 }, handle);
  server.on('connection', (socket) => {
    numbers.set(socket, ++accepted);
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    get sockets() {
      return { accepted, open: open.size };
    },
    socketNumber: (socket) => numbers.get(socket) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

export async function readBody(req: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
