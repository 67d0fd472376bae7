// The part of the parts list that leaves the process: the one way out, and the links over it.
import { networkInterfaces } from 'node:os';
import type { AppOptions } from './app-options.ts';
import type { AddressRule } from './catalog/address-rule.ts';
import type { Dial } from './connection/connection.ts';
import type { LimitsOf } from './limits/limits-of.ts';
import type { ChangeFeed } from './shared/changes.ts';
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
import { TenantDoors } from './upstream/egress/tenant-doors.ts';
import { createEraMemory } from './upstream/era-probe.ts';
import { fetchJson } from './upstream/fetch-json.ts';
import { createHttpDial } from './upstream/http-dial.ts';
import { createSseDial } from './upstream/sse-link.ts';
import { createStdioDial } from './upstream/stdio-dial.ts';
import { endLeftovers } from './upstream/stdio-leftovers.ts';

const SOCKETS_PER_ORIGIN = 256;

export interface Links {
  readonly dial: Dial;
  /** For sign-ins. */
  readonly fetchOf: (tenantId: TenantId) => ReturnType<typeof createDoorFetch>;
  /** For key sets of issuers: nobody's secret is sent there, and what comes back is for everybody. */
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
  readonly changes: ChangeFeed;
  readonly publicUrl: () => string;
  /** That this process listens on; undefined until it does. */
  readonly ownPort: () => number | undefined;
}

export function createLinks(options: LinksOptions, life: Lifecycle): Links {
  const { clock, logger, parentEnv, version, dataDir, publicUrl, ownPort } = options;
  const client = { name: 'keybearer', version };
  // Beside everything else: nobody has to wait for it.
  const leftovers = dataDir === undefined ? undefined : endLeftovers(dataDir, clock, logger);
  life.onClose('what was left behind', () => leftovers);
  const policy = createPolicy(options.egress, { selfHosts: () => ownHosts(options, publicUrl()), ownPort });
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
  const doorsFor = (what: string, doors: TenantDoors): TenantDoors => {
    life.onClose(what, () => doors.close());
    // A tenant that was deleted may be made anew under the same id, and both are told: what was opened in between is
    // set aside by the second.
    const stop = options.changes.subscribe((change) => {
      if (change.kind === 'tenants') doors.setAside(change.tenantId);
    });
    life.onClose(`${what}, set aside`, stop);
    return doors;
  };
  const limited = { ...rules, socketsPerOrigin: SOCKETS_PER_ORIGIN };
  const calls = doorsFor('doors for calls', new TenantDoors(() => openDoor(limited), clock));
  // A sign-in does not wait behind calls that hang at the same origin.
  const signIns = doorsFor('doors for sign-ins', new TenantDoors(() => openDoor(limited), clock));
  // A stream keeps its socket: as many as there are connections that listen, and none of them a call's.
  const unlimited = { ...rules, socketsPerOrigin: null };
  const streams = doorsFor('doors for streams', new TenantDoors(() => openDoor(unlimited), clock));
  const strangers = { ...unlimited, policy: policy.withoutExceptions };
  const strict = { ...strangers, checkOrigin: createCheckOrigin(strangers) };
  const elsewhere = doorsFor('doors for redirects', new TenantDoors(() => openDoor(strict), clock));
  const common = openDoor(limited);
  life.onClose('door for key sets', () => common.destroy());
  return {
    dial: createDial({
      http: createHttpDial({
        doorOf: (tenantId) => ({
          dispatcher: calls.of(tenantId),
          streams: streams.of(tenantId),
          elsewhere: elsewhere.of(tenantId),
          policy,
          clock,
        }),
        eras: createEraMemory(clock),
        client,
        clock,
      }),
      sse: createSseDial({
        clock,
        logger,
        client,
        policy,
        waysOf: (tenantId) => ({
          stream: createDoorFetch(streams.of(tenantId), policy),
          calls: calls.of(tenantId),
        }),
      }),
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
    fetchOf: (tenantId) => createDoorFetch(signIns.of(tenantId), policy),
    fetchJson: (url, signal) => fetchJson({ dispatcher: common, clock }, url, signal),
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
