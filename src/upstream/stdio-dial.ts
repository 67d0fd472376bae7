// A connection to a command: one child for one owner, admitted, watched, and gone whole when it closes.

import { createHash } from 'node:crypto';
import type { StdioTransport, UpstreamServer } from '../catalog/upstream-server.ts';
import type { Dial } from '../connection/connection.ts';
import { type Credential, ownerKey } from '../credential/credential.ts';
import { ProxyError, toProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { PeerConnection } from './peer-connection.ts';
import { childEnvironment, type Environment } from './stdio-env.ts';
import { StdioLink, type StdioLinkDeps } from './stdio-link.ts';
import type { RunAs } from './stdio-process.ts';
import { resolveCommand } from './stdio-resolve.ts';
import { type StartPlace, Starts } from './stdio-starts.ts';
import { Turns } from './stdio-turns.ts';
import { type CommandWatch, createCommandWatch } from './stdio-watch.ts';

export interface StdioDialDeps extends StdioLinkDeps {
  /** Our own environment, of which a child sees nine names. */
  readonly parentEnv: Environment;
  /** Where running commands are recorded; without one they are not. */
  readonly dataDir?: string | undefined;
  /** Commands of one tenant, counted until all that came of them is gone. */
  readonly maxOf?: (tenantId: TenantId) => number;
  /** Another user for commands; needs root. */
  readonly runAs?: RunAs | undefined;
}

const MAX_PER_TENANT = 64;

export function createStdioDial(deps: StdioDialDeps): Dial {
  const { clock, logger, dataDir, maxOf = () => MAX_PER_TENANT } = deps;
  const shared: Shared = {
    ...deps,
    turns: new Turns(clock),
    watch: createCommandWatch(clock, logger, dataDir),
    starts: new Starts(clock, maxOf),
  };
  let isRootTold = false;
  return async (server, credential, signal) => {
    const { transport } = server;
    if (transport.kind !== 'stdio') throw new ProxyError('internal', 'This server is no command.');
    signal.throwIfAborted();
    if (!isRootTold && deps.runAs === undefined && process.getuid?.() === 0) {
      isRootTold = true;
      logger.warn('commands run as root, as this process does; see KEYBEARER_COMMAND_USER');
    }
    const place = await shared.starts.admit(server.tenantId, startKey(server, credential), signal);
    try {
      return await dialCommand(shared, server, transport, credential, place, signal);
    } finally {
      place.started();
    }
  };
}

/** What all commands of one proxy have in common. */
interface Shared extends StdioDialDeps {
  readonly turns: Turns;
  readonly watch: CommandWatch;
  readonly starts: Starts;
}

/** Names one command for one owner with one key: another key may work where this one fails. */
function startKey(server: UpstreamServer, credential: Credential): string {
  const whose = credential.kind === 'none' ? '' : ownerKey(credential.owner);
  const key = credential.kind === 'static' ? createHash('sha256').update(credential.secret.reveal()).digest('hex') : '';
  return [server.tenantId, server.id, server.revision, whose, key].join('\u0000');
}

async function dialCommand(
  shared: Shared,
  server: UpstreamServer,
  transport: StdioTransport,
  credential: Credential,
  place: StartPlace,
  signal: AbortSignal,
): Promise<PeerConnection> {
  const watched = await shared.watch.begin();
  const gone = (): void => void watched.over().finally(() => place.leave());
  const link = new StdioLink(shared, server, transport, credential, place);
  try {
    const env = childEnvironment(shared.parentEnv, transport, server.credential, credential, watched.mark);
    const command = await resolveCommand(transport.command, env['PATH']);
    signal.throwIfAborted();
    const { args, cwd } = transport;
    const deps = { clock: shared.clock, turns: shared.turns, began: (pid: number) => watched.began(pid), gone };
    await link.start({ command, args, cwd, env, runAs: shared.runAs }, deps);
    const greeting = await link.greet(shared.client, signal);
    return new PeerConnection(link.peer, greeting, () => link.close());
  } catch (error) {
    if (!signal.aborted || isTimeout(signal.reason)) place.failed(toProxyError(error).message);
    if (link.hasStarted) await link.kill();
    else gone();
    throw error;
  }
}

const isTimeout = (reason: unknown): boolean => reason instanceof ProxyError && reason.code === 'upstream_timeout';
