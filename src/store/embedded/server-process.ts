// The server process itself: on loopback, on a port that was free a moment ago, and gone when we are.
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { OwnError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import type { ClusterHome } from './cluster-home.ts';
import { type Account, spawnDetached } from './run.ts';

export interface ServerProcess {
  readonly pid: number | undefined;
  hasExited(): boolean;
  /** The last lines it wrote. */
  said(): string;
}

export interface ServerProcessOptions {
  readonly home: ClusterHome;
  readonly postgres: string;
  readonly fsync: boolean;
  readonly logger: Logger;
}

const KEPT_LINES = 20;

export async function spawnServer({ home, postgres, fsync, logger }: ServerProcessOptions): Promise<ServerProcess> {
  const args = ['-D', join(home.directory, 'pgdata'), ...toFlags(settings(await findFreePort(), fsync))];
  const child = spawnDetached(home.account, postgres, args, ['ignore', 'ignore', 'pipe']);
  const lines: string[] = [];
  let exited = false;
  child.once('error', (error) => {
    exited = true;
    lines.push(error.message);
  });
  child.once('exit', (code, signal) => {
    exited = true;
    logger.debug({ code, signal }, 'embedded database exited');
  });
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      logger.debug({ line }, 'embedded database');
    });
  }
  letGo(child, child.stderr);
  return { pid: child.pid, hasExited: () => exited, said: () => lines.join('\n') };
}

function settings(port: number, fsync: boolean): Readonly<Record<string, string | number>> {
  return {
    listen_addresses: '127.0.0.1',
    port,
    // Not even a socket in /tmp: one way in, and it asks for the password.
    unix_socket_directories: '',
    max_connections: 300,
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_min_messages: 'warning',
    // Terse leaves out the details, which quote rows.
    log_error_verbosity: 'terse',
    ...(fsync ? {} : { fsync: 'off', full_page_writes: 'off' }),
  };
}

function toFlags(values: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Somebody else may take it before the server does; then the start is tried again with another. */
async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new OwnError('no free port was given');
  return address.port;
}

/**
 * Stops the server when we die without having done so: our end of the pipe closes with us, even on
 * `kill -9`. Call what it gives once the server is gone or stays on purpose.
 */
export function guardServer(pid: number, account: Account | undefined): () => void {
  if (process.platform === 'win32') return () => undefined;
  const script = 'read _; kill -INT "$1"';
  const guard = spawnDetached(
    account,
    '/bin/sh',
    ['-c', script, 'keybearer-guard', String(pid)],
    ['pipe', 'ignore', 'ignore'],
  );
  // Without a shell there is no guard; the next start then finds the server and takes it over.
  guard.on('error', () => undefined);
  letGo(guard, guard.stdin);
  return () => {
    guard.kill('SIGKILL');
  };
}

/** A child must not keep us from ending. */
function letGo(child: { unref(): void }, pipe: unknown): void {
  child.unref();
  if (pipe instanceof Socket) pipe.unref();
}
