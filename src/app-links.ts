// The part of the parts list that leaves the process: the one way out, and the links over it.
import type { AppOptions } from './app-options.ts';
import type { Dial } from './connection/connection.ts';
import type { Lifecycle } from './shared/lifecycle.ts';
import { createDial } from './upstream/dial.ts';
import { openDoor } from './upstream/egress/dispatcher.ts';
import { createDoorFetch } from './upstream/egress/door-fetch.ts';
import { createEraMemory } from './upstream/era-probe.ts';
import { fetchJson } from './upstream/fetch-json.ts';
import { createHttpDial } from './upstream/http-dial.ts';
import { createSseDial } from './upstream/sse-link.ts';
import { createStdioDial } from './upstream/stdio-dial.ts';
import { endLeftovers } from './upstream/stdio-leftovers.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const SOCKETS_PER_ORIGIN = 256;

export interface Links {
  readonly dial: Dial;
  /** For libraries that want one. */
  readonly fetch: ReturnType<typeof createDoorFetch>;
  readonly fetchJson: (url: string, signal: AbortSignal) => Promise<unknown>;
}

export function createLinks(
  options: Pick<AppOptions, 'clock' | 'logger' | 'parentEnv' | 'version' | 'dataDir' | 'commandUser' | 'limits'>,
  life: Lifecycle,
): Links {
  const { clock, logger, parentEnv, version, dataDir } = options;
  const client = { name: 'keybearer', version };
  // Beside everything else: nobody has to wait for it.
  const leftovers = dataDir === undefined ? undefined : endLeftovers(dataDir, clock, logger);
  life.onClose('what was left behind', () => leftovers);
  const rules = { connectTimeoutMs: CONNECT_TIMEOUT_MS, allow: () => undefined };
  const dispatcher = openDoor({ ...rules, socketsPerOrigin: SOCKETS_PER_ORIGIN });
  life.onClose('door', () => dispatcher.destroy());
  // A stream keeps its socket: as many as there are connections that listen, and none of them a call's.
  const streams = openDoor({ ...rules, socketsPerOrigin: null });
  life.onClose('door for streams', () => streams.destroy());
  const door = { dispatcher, streams, clock };
  return {
    dial: createDial({
      http: createHttpDial({ door, eras: createEraMemory(clock), client }),
      sse: createSseDial({ clock, logger, client, fetch: createDoorFetch(streams) }),
      stdio: createStdioDial({
        clock,
        logger,
        client,
        parentEnv,
        dataDir,
        maxPerTenant: options.limits.maxCommandsPerTenant,
        runAs: options.commandUser,
      }),
    }),
    fetch: createDoorFetch(dispatcher),
    fetchJson: (url, signal) => fetchJson(door, url, signal),
  };
}
