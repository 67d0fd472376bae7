// The internet of the guard's tests: names that resolve to what a test says, and one TLS server on loopback
// that stands for every public address. What was asked and dialled is on record.
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Server as NetServer, type Socket } from 'node:net';
import type { ConnectorDeps } from '../../../src/upstream/egress/connector.ts';
import type { DialTarget } from '../../../src/upstream/egress/dial.ts';

const pem = (name: string): string => readFileSync(new URL(`../../support/tls/${name}.pem`, import.meta.url), 'utf8');

export const CA = pem('ca');

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly host: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** SNI. */
  readonly servername: unknown;
}

type Answers = readonly string[] | Error;
type Handle = (request: Seen, response: ServerResponse) => void;

export class Network {
  readonly asked: string[] = [];
  readonly dialled: DialTarget[] = [];
  readonly seen: Seen[] = [];
  connections = 0;
  bytes = 0;
  handle: Handle = (_request, response) => void response.end('{}');
  /** What the socket says about the other end; the dialled address unless a test says otherwise. */
  peer: (target: DialTarget) => string = ({ address }) => address;
  onDial: () => void = () => undefined;
  /** Before TLS. */
  onConnection: (socket: Socket) => void = () => undefined;
  /** Addresses that refuse the connection. */
  readonly closed = new Set<string>();
  readonly #answers = new Map<string, Answers[]>();
  readonly #server: NetServer;
  readonly #sockets = new Set<Socket>();

  private constructor(server: NetServer) {
    this.#server = server;
  }

  static async open(): Promise<Network> {
    const server = createServer({ key: pem('key'), cert: pem('cert') });
    const network = new Network(server);
    server.on('connection', (socket: Socket) => {
      network.connections++;
      network.#sockets.add(socket);
      // Before TLS is read: whatever comes at all.
      socket.on('data', (chunk: Buffer) => (network.bytes += chunk.length));
      socket.on('error', () => undefined);
      network.onConnection(socket);
    });
    server.on(
      'request',
      (request: IncomingMessage, response: ServerResponse) => void network.#request(request, response),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return network;
  }

  /** Each socket gets the next list; the last is for ever. */
  answer(host: string, ...lists: readonly Answers[]): void {
    this.#answers.set(host, [...lists]);
  }

  readonly resolve: ConnectorDeps['resolve'] = (host) => {
    this.asked.push(host);
    const lists = this.#answers.get(host) ?? [];
    const answers = lists.length > 1 ? lists.shift() : lists[0];
    if (answers === undefined) return Promise.reject(Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' }));
    return answers instanceof Error ? Promise.reject(answers) : Promise.resolve(answers);
  };

  readonly dial: ConnectorDeps['dial'] = (target) => {
    this.dialled.push(target);
    this.onDial();
    if (this.closed.has(target.address))
      return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
    return new Promise((resolve, reject) => {
      const socket = connect((this.#server.address() as AddressInfo).port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        Object.defineProperty(socket, 'remoteAddress', { value: this.peer(target) });
        resolve(socket);
      });
    });
  };

  get addresses(): readonly string[] {
    return this.dialled.map(({ address }) => address);
  }

  /** So that the next request needs a new socket. */
  hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.hangUp();
    await closed;
  }

  async #request(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen: Seen = {
      method: request.method ?? '',
      url: request.url ?? '',
      host: request.headers.host ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      servername: (request.socket as Socket & { servername?: unknown }).servername,
    };
    this.seen.push(seen);
    this.handle(seen, response);
  }
}
