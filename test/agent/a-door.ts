// An HTTP server on a free port whose requests a test answers itself, and a client that looks closely.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { within } from '../support/within.ts';

export interface Answered {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export class ADoor {
  readonly #server: http.Server;
  readonly #sockets = new Set<net.Socket>();
  readonly port: number;

  private constructor(server: http.Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(handle: http.RequestListener): Promise<ADoor> {
    const server = http.createServer({ requireHostHeader: false }, handle);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ADoor(server);
  }

  request(
    method: string,
    path = '/mcp',
    headers: http.OutgoingHttpHeaders = {},
    body?: string | Buffer,
  ): Promise<Answered> {
    const answered = new Promise<Answered>((resolve, reject) => {
      const req = http.request({ host: '127.0.0.1', port: this.port, method, path, headers, agent: false }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () =>
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text: Buffer.concat(chunks).toString() }),
        );
        res.on('error', reject);
      });
      req.on('error', reject);
      req.end(body);
    });
    return within(answered, `${method} ${path}`);
  }

  /** A connection that reads nothing until told to. */
  deaf(text: string): net.Socket {
    const socket = net.connect(this.port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => undefined);
    socket.write(text);
    this.#sockets.add(socket);
    return socket;
  }

  /** A connection, and everything that comes over it. */
  raw(text: string): { socket: net.Socket; text: () => string } {
    const socket = this.deaf(text);
    let all = '';
    socket.on('data', (chunk: Buffer) => (all += chunk.toString('latin1')));
    socket.resume();
    return { socket, text: () => all };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** Looks again until it holds; five seconds at most. */
export function until(holds: () => boolean, what: string): Promise<void> {
  return within(
    new Promise((resolve) => {
      const look = (): void => {
        if (holds()) resolve();
        else setImmediate(look);
      };
      look();
    }),
    what,
  );
}
