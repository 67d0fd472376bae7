// Starts the server of a cluster, or joins the one that another process has started.
import { join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { OwnError } from '../../shared/errors.ts';
import { findPostmaster, type Postmaster, stopPostmaster } from './postmaster.ts';
import { guardServer, type ServerProcess, type ServerProcessOptions, spawnServer } from './server-process.ts';
import { openSession, type Session } from './session.ts';

export interface ServerOptions extends ServerProcessOptions {
  readonly password: string;
  /** Refuses a server that another process owns. */
  readonly alone: boolean;
  readonly clock: Clock;
}

export interface RunningServer {
  readonly port: number;
  /** Stops the server when it is ours; otherwise only leaves it. */
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 50;
// A server that was killed reads its log again first, which can take a while.
const START_TIMEOUT_MS = 120_000;
const DEAF_AFTER_MS = 60_000;
// A taken port, another process that was quicker, children of a killed server that are not gone yet.
const MAX_FAILURES = 20;
const PAUSE_AFTER_FAILURE_MS = 250;
// An owner that was just killed is still one until its connection is seen to be gone.
const LEAVING_MS = 3_000;

const TAKEN =
  'Another Keybearer runs with this data directory, and one belongs to one instance: stop that one, give this one a KEYBEARER_DATA_DIR of its own, or let both use one database with DATABASE_URL.';

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const started: { own?: ServerProcess | undefined } = {};
  try {
    return await startOrJoin(options, started);
  } catch (error) {
    // A server that nobody knows of would keep the cluster, and go on for ever.
    const { own } = started;
    if (own?.pid !== undefined && !own.hasExited()) await stopPostmaster(own.pid, pgdataOf(options), options.clock);
    throw error;
  }
}

const pgdataOf = ({ home }: ServerOptions): string => join(home.directory, 'pgdata');

/** Notes in `started` which server it has started, as long as that runs. */
async function startOrJoin(
  options: ServerOptions,
  started: { own?: ServerProcess | undefined },
): Promise<RunningServer> {
  const { clock, password, logger } = options;
  const pgdata = pgdataOf(options);
  const startedAt = clock.now();
  let failures = 0;
  while (clock.now() - startedAt < START_TIMEOUT_MS) {
    const running = await findPostmaster(pgdata);
    const session = running && (await openSession(running.port, password, logger));
    if (running !== undefined && session !== undefined) {
      if (session.isOwner || !options.alone) return toRunningServer(options, pgdata, running, session);
      await session.end();
      if (clock.now() - startedAt > LEAVING_MS) {
        // Also one that we have started is the owner's now: two began at once.
        started.own = undefined;
        throw new OwnError(TAKEN);
      }
    } else if (started.own?.hasExited() === true) {
      if (++failures === MAX_FAILURES)
        throw new OwnError(`The embedded database does not start:\n${started.own.said()}`);
      started.own = undefined;
      await clock.sleep(PAUSE_AFTER_FAILURE_MS);
    } else if (running === undefined && started.own === undefined) {
      started.own = await spawnServer(options);
    } else if (running !== undefined && started.own === undefined && clock.now() - startedAt > DEAF_AFTER_MS) {
      // Left by somebody before us; it neither answers nor ends.
      await stopPostmaster(running.pid, pgdata, clock);
    }
    await clock.sleep(LOOK_EVERY_MS);
  }
  throw new OwnError(`The embedded database did not start in time.\n${started.own?.said() ?? ''}`);
}

function toRunningServer(
  { home, clock, logger }: ServerOptions,
  pgdata: string,
  server: Postmaster,
  session: Session,
): RunningServer {
  const { port, pid } = server;
  if (!session.isOwner) {
    logger.info({ port }, 'joined the embedded database of another process');
    return { port, stop: () => session.end() };
  }
  const release = guardServer(pid, home.account);
  let isStopping = false;
  void session.over.then(() => {
    if (isStopping) return;
    release();
    logger.error({ port }, 'the embedded database ended by itself');
  });
  return {
    port,
    async stop() {
      isStopping = true;
      release();
      // The session stays until the server cuts it, so that nobody takes over a server that is going down.
      await stopPostmaster(pid, pgdata, clock);
      await session.end();
    },
  };
}
