// The built product, started so that it cannot succeed: what it says, and how it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { within } from '../support/within.ts';
import { inRoot } from './product.ts';

export interface FailedStart {
  readonly code: number | null;
  /** What the operator is told. */
  readonly told: string;
  /** The log. */
  readonly logged: string;
}

/** Kills it when it does not end in time, and says so by the code `null`. */
export async function startInVain(
  environment: Readonly<Record<string, string>>,
  { command = 'serve', withinMs = 15_000, node = [] as readonly string[] } = {},
): Promise<FailedStart> {
  const { PATH = '', HOME = '/' } = process.env;
  const child = spawn(process.execPath, [...node, 'dist/main.js', command], {
    cwd: inRoot(''),
    env: { PATH, HOME, PORT: '0', LOG_LEVEL: 'trace', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { told: '', logged: '' };
  child.stderr.on('data', (chunk: Buffer) => (said.told += chunk.toString('utf8')));
  child.stdout.on('data', (chunk: Buffer) => (said.logged += chunk.toString('utf8')));
  // Not before its streams are at their end: nobody that it started may hold them open.
  const closed = once(child, 'close').then(([code]) => code as number | null);
  const code = await within(closed, 'the product to end', withinMs).catch(() => {
    child.kill('SIGKILL');
    return null;
  });
  return { code, ...said };
}

export interface FalseDatabase {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens, and does with each connection as told. */
export async function falseDatabase(onSocket: (socket: Socket) => void): Promise<FalseDatabase> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    onSocket(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const OK = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** Lets everybody in and then says nothing any more. */
export const letsInAndFallsSilent = (socket: Socket): void => {
  socket.once('data', () => {
    socket.write(Buffer.concat([OK, READY]));
    socket.resume();
  });
};
