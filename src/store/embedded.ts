// A real PostgreSQL of our own, for when none is given: started with us, kept in the data directory, stopped with us.
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { type Clock, systemClock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { findNativePackage, resolveBinaries } from './embedded/binaries.ts';
import { resolveClusterHome } from './embedded/cluster-home.ts';
import { initialise } from './embedded/initialise.ts';
import { keepPassword } from './embedded/password.ts';
import { startServer } from './embedded/server.ts';
import { DATABASE, toUrl } from './embedded/session.ts';

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  /** False gives up safety for speed; for tests only. */
  readonly fsync?: boolean;
  /** Refuses to share the server with another process that has started it, instead of joining. */
  readonly alone?: boolean;
  readonly clock?: Clock;
}

export interface EmbeddedPostgres {
  /** With the password; not for logs. */
  readonly url: string;
  /** True when the cluster was made just now. */
  readonly fresh: boolean;
  /** Fast shutdown, at most ten seconds, then by force. A server that another process owns goes on. */
  stop(): Promise<void>;
}

export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  return holdingTheProcess(() => start(options));
}

async function start({
  dataDir,
  logger,
  fsync = true,
  alone = false,
  clock = systemClock,
}: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = resolve(dataDir);
  // Others may pass through, to reach the cluster when that is another user's; they may not look around.
  await mkdir(directory, { recursive: true, mode: 0o711 });
  const home = await resolveClusterHome(directory);
  const native = await findNativePackage();
  const { postgres, initdb } = await resolveBinaries(native, home.account);
  const password = await keepPassword(directory);
  const fresh = await initialise({ home, initdb, version: native.version, password, fsync });
  const server = await startServer({ home, postgres, password, fsync, alone, clock, logger });
  logger.debug({ port: server.port, directory: home.directory, fresh }, 'embedded database started');
  let stopping: Promise<void> | undefined;
  return {
    url: toUrl(server.port, password, DATABASE),
    fresh,
    stop() {
      stopping ??= holdingTheProcess(() => server.stop());
      return stopping;
    },
  };
}

/** Our clock's timers do not keep a process alive, and while we wait for the server nothing else does. */
async function holdingTheProcess<T>(work: () => Promise<T>): Promise<T> {
  const { port1 } = new MessageChannel();
  port1.on('message', () => undefined);
  try {
    return await work();
  } finally {
    port1.close();
  }
}
