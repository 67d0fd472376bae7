// The part of the parts list that leaves the process: the one way out, and the links over it.
import { networkInterfaces } from 'node:os';
import type { AppOptions } from './app-options.ts';
import type { AddressRule } from './catalog/address-rule.ts';
import type { Dial } from './connection/connection.ts';
import type { LimitsOf } from './limits/limits-of.ts';
import type { TenantId } from './shared/id.ts';
import type { Lifecycle } from './shared/lifecycle.ts';
import { createDial } from './upstream/dial.ts';
import { createAddressRule } from './upstream/egress/address-rule.ts';
import { createCheckOrigin } from './upstream/egress/check-origin.ts';
import type { Denial } from './upstream/egress/connector.ts';
import { createNetDial } from './upstream/egress/dial.ts';
import { openDoor } from './upstream/egress/dispatcher.ts';
import { createDoorFetch } from './upstream/egress/door-fetch.ts';
import { bareHost } from './upstream/egress/host-names.ts';
import { createPolicy } from './upstream/egress/policy.ts';
import { createResolve } from './upstream/egress/resolve.ts';
import { createEraMemory } from './upstream/era-probe.ts';
import { fetchJson } from './upstream/fetch-json.ts';
import { createHttpDial } from './upstream/http-dial.ts';
import { createSseDial } from './upstream/sse-link.ts';
import { createStdioDial } from './upstream/stdio-dial.ts';
import { endLeftovers } from './upstream/stdio-leftovers.ts';

const SOCKETS_PER_ORIGIN = 256;

export interface Links {
  readonly dial: Dial;
  /** For libraries that want one. */
  readonly fetch: ReturnType<typeof createDoorFetch>;
  readonly fetchJson: (url: string, signal: AbortSignal) => Promise<unknown>;
  /** What the guard says of an address before anything is sent there. */
  readonly addressRule: AddressRule;
}

export interface LinksOptions
  extends Pick<
    AppOptions,
    'clock' | 'logger' | 'parentEnv' | 'version' | 'egress' | 'http' | 'network' | 'dataDir' | 'commandUser'
  > {
  readonly limitsOf: LimitsOf;
  readonly publicUrl: () => string;
}

export function createLinks(options: LinksOptions, life: Lifecycle): Links {
  const { clock, logger, parentEnv, version, dataDir, publicUrl } = options;
  const client = { name: 'keybearer', version };
  // Beside everything else: nobody has to wait for it.
  const leftovers = dataDir === undefined ? undefined : endLeftovers(dataDir, clock, logger);
  life.onClose('what was left behind', () => leftovers);
  const policy = createPolicy(options.egress, { selfHosts: () => ownHosts(options, publicUrl()) });
  // The address is for us alone: an agent that learnt it could map the network with names of its own.
  const onDenied = ({ host, port, error }: Denial): void =>
    logger.warn({ host, port, reason: error.reason, detail: causeOf(error) }, 'an address was refused');
  const rules = {
    policy,
    resolve: options.network?.resolve ?? createResolve(clock),
    dial: options.network?.dial ?? createNetDial(clock),
    ca: options.network?.ca,
    ownAddresses,
    onDenied,
    clock,
    checkOrigin: createCheckOrigin({ policy, onDenied }),
  };
  const dispatcher = openDoor({ ...rules, socketsPerOrigin: SOCKETS_PER_ORIGIN });
  life.onClose('door', () => dispatcher.destroy());
  // Calls of each tenant have sockets of their own: one whose calls hang at a server that others use as well
  // takes no socket from them.
  const doors = new Map<TenantId, ReturnType<typeof openDoor>>();
  life.onClose('doors of tenants', async () => {
    await Promise.all([...doors.values()].map((own) => own.destroy()));
  });
  const dispatcherOf = (tenantId: TenantId): ReturnType<typeof openDoor> => {
    const known = doors.get(tenantId);
    if (known !== undefined) return known;
    const own = openDoor({ ...rules, socketsPerOrigin: SOCKETS_PER_ORIGIN });
    doors.set(tenantId, own);
    return own;
  };
  // A stream keeps its socket: as many as there are connections that listen, and none of them a call's.
  const streams = openDoor({ ...rules, socketsPerOrigin: null });
  life.onClose('door for streams', () => streams.destroy());
  const door = { dispatcher, streams, policy, clock };
  const eras = createEraMemory(clock);
  return {
    dial: createDial({
      http: (server, credential, signal) => {
        const own = { ...door, dispatcher: dispatcherOf(server.tenantId) };
        return createHttpDial({ door: own, eras, client })(server, credential, signal);
      },
      sse: createSseDial({ clock, logger, client, policy, fetch: createDoorFetch(streams, policy) }),
      stdio: createStdioDial({
        clock,
        logger,
        client,
        parentEnv,
        dataDir,
        maxOf: (tenantId) => options.limitsOf(tenantId).maxChildren,
        runAs: options.commandUser,
      }),
    }),
    fetch: createDoorFetch(dispatcher, policy),
    fetchJson: (url, signal) => fetchJson(door, url, signal),
    addressRule: createAddressRule(policy),
  };
}

/** Every name that this proxy answers to, as the guard compares them. */
function ownHosts({ http }: Pick<AppOptions, 'http'>, publicUrl: string): readonly string[] {
  const names = (http.allowedHosts ?? []).map((host) => `http://${host}`);
  return [publicUrl, ...names].flatMap((url) => (URL.canParse(url) ? [bareHost(new URL(url).hostname)] : []));
}

/** Read anew: interfaces come and go. */
function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []);
}

const causeOf = ({ cause }: Error): string | undefined => (cause instanceof Error ? cause.message : undefined);
