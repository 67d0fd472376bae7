// Finds the credential that a call goes out with, or says where its person can sign in. Answers from
// memory on the warm path; memory is dropped by notice and compared with the database each minute.
import { LRUCache } from 'lru-cache';
import { bindingOf } from '../catalog/binding.ts';
import { needsPerson, type UpstreamServer } from '../catalog/upstream-server.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import { ProxyError, SignInRequiredError } from '../shared/errors.ts';
import type { PrincipalId, ServerId, TenantId } from '../shared/id.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import type { Secret } from '../shared/secret.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import { type Credential, type Owner, ownerKey } from './credential.ts';
import { type CredentialStore, credentialKey } from './credential-store.ts';
import { credentialContext } from './keep-secret.ts';
import type { Tickets } from './tickets.ts';
import type { Vault } from './vault.ts';

export interface CredentialBroker {
  /**
   * The credential for this server, on behalf of `principalId`; undefined when there is none. A
   * principal is only looked at where the credential is a person's own.
   */
  find(
    server: UpstreamServer,
    principalId: PrincipalId | undefined,
  ): Credential | undefined | Promise<Credential | undefined>;
  /** As `find`, from the database: before a person is asked, for they may have signed in on another node just now. */
  look(server: UpstreamServer, principalId: PrincipalId | undefined): Promise<Credential | undefined>;
  /** A version newer than the one that was refused, read from the database; undefined when there is none. */
  newerThan(server: UpstreamServer, refused: Credential): Promise<Credential | undefined>;
  /** Remembers that the server did not take this version, so that nobody is told they are connected by it. */
  refused(server: UpstreamServer, credential: Credential): void;
  /** Whether this version was refused the last time it was tried here. */
  isRefused(server: UpstreamServer, credential: Credential): boolean;
  /** The error that asks this person to sign in, or says what an admin has to do. */
  askSignIn(server: UpstreamServer, principalId: PrincipalId): Promise<ProxyError>;
  /** Stops listening for changes. */
  close(): void;
}

export interface BrokerDeps {
  readonly credentials: Pick<CredentialStore, 'find' | 'versions'>;
  readonly vault: Pick<Vault, 'open'>;
  readonly tickets: Pick<Tickets, 'issue'>;
  readonly changes: ChangeFeed;
  readonly logger: Logger;
}

interface Kept {
  readonly tenantId: TenantId;
  readonly serverId: ServerId;
  readonly owner: string;
  /** Undefined: the database holds none. Remembered too, so that asking again costs nothing. */
  readonly stored: { readonly version: string; readonly binding: string; readonly secret: Secret } | undefined;
}

const REMEMBERED = 100_000;
const REFUSED = 10_000;
const COMPARED_AT_ONCE = 1_000;
const NONE: Credential = { kind: 'none' };

export function createCredentialBroker(deps: BrokerDeps): CredentialBroker {
  const { credentials, vault, tickets, changes, logger } = deps;
  const kept = new LRUCache<string, Kept>({ max: REMEMBERED });
  const refusals = new LRUCache<string, string>({ max: REFUSED });
  const loads = new SingleFlight<Kept>();
  // Fingerprints are asked for with every call.
  const bindings = new WeakMap<UpstreamServer, string>();
  // A change heard while a row is being read makes what was read doubtful; it is used but not kept.
  let epoch = 0;

  const load = async (server: UpstreamServer, owner: string): Promise<Kept> => {
    const before = epoch;
    const row = await credentials.find(server.tenantId, server.id, owner);
    const stored =
      row === undefined
        ? undefined
        : {
            version: row.version,
            binding: row.binding,
            secret: await vault.open(server.tenantId, credentialContext(server.id, owner, row.binding), row.sealed),
          };
    const entry = { tenantId: server.tenantId, serverId: server.id, owner, stored };
    if (before === epoch) kept.set(credentialKey(entry), entry);
    return entry;
  };

  const compareAll = async (): Promise<void> => {
    const entries = [...kept.entries()];
    for (let i = 0; i < entries.length; i += COMPARED_AT_ONCE) {
      const part = entries.slice(i, i + COMPARED_AT_ONCE);
      const current = await credentials.versions(part.map(([, entry]) => entry));
      for (const [key, entry] of part) {
        if (current.get(key) !== entry.stored?.version && kept.peek(key) === entry) kept.delete(key);
      }
    }
  };

  const unsubscribe = changes.subscribe((change) => {
    if (change.kind === 'credentials') {
      epoch++;
      kept.delete(
        credentialKey({ tenantId: change.tenantId, serverId: change.serverId as ServerId, owner: change.owner }),
      );
    } else if (change.kind === 'resync') {
      epoch++;
      compareAll().catch((error: unknown) => logger.warn({ error: describeError(error) }, 'credentials not compared'));
    }
  });

  const bindingFor = (server: UpstreamServer): string => {
    let binding = bindings.get(server);
    if (binding === undefined) bindings.set(server, (binding = bindingOf(server)));
    return binding;
  };

  const usable = (server: UpstreamServer, owner: Owner, entry: Kept): Credential | undefined => {
    // A credential given for another place (origin, header, command) is never sent to this one.
    if (entry.stored === undefined || entry.stored.binding !== bindingFor(server)) return undefined;
    return { kind: 'static', owner, version: entry.stored.version, secret: entry.stored.secret };
  };

  return {
    find(server, principalId) {
      const owner = ownerOf(server, principalId);
      if (owner === 'nobody') return NONE;
      if (owner === undefined) return undefined;
      const whose = ownerKey(owner);
      const key = credentialKey({ tenantId: server.tenantId, serverId: server.id, owner: whose });
      const entry = kept.get(key);
      if (entry !== undefined) return usable(server, owner, entry);
      // Whoever asks after a change must not be given what was read before it.
      return loads
        .run(`${epoch}\u0000${key}`, () => load(server, whose))
        .then((loaded) => usable(server, owner, loaded));
    },

    async look(server, principalId) {
      const owner = ownerOf(server, principalId);
      if (owner === 'nobody') return NONE;
      return owner === undefined ? undefined : usable(server, owner, await load(server, ownerKey(owner)));
    },

    refused(server, credential) {
      if (credential.kind === 'static') refusals.set(refusalKey(server, credential), credential.version);
    },
    isRefused: (server, credential) =>
      credential.kind === 'static' && refusals.get(refusalKey(server, credential)) === credential.version,

    async newerThan(server, refused) {
      if (refused.kind === 'none') return undefined;
      const entry = await load(server, ownerKey(refused.owner));
      const found = usable(server, refused.owner, entry);
      return found?.kind === 'static' && found.version !== refused.version ? found : undefined;
    },

    async askSignIn(server, principalId) {
      if (!needsPerson(server)) {
        const what =
          server.credential === undefined
            ? 'demands a credential, but none is configured for it'
            : 'has no working credential';
        return new ProxyError('upstream_unavailable', `${server.name} ${what}; an admin has to set it.`);
      }
      const link = await tickets.issue(server.tenantId, principalId, server);
      return new SignInRequiredError(server.name, link.url, link.expiresAt);
    },

    close: unsubscribe,
  };
}

/** Whose credential it is: 'nobody' when none is needed, undefined when its person is not known. */
function ownerOf(server: UpstreamServer, principalId: PrincipalId | undefined): Owner | 'nobody' | undefined {
  if (server.credential === undefined) return 'nobody';
  if (server.credential.owner === 'tenant') return { kind: 'tenant' };
  return principalId === undefined ? undefined : { kind: 'principal', principalId };
}

const refusalKey = ({ tenantId, id }: UpstreamServer, { owner }: Extract<Credential, { kind: 'static' }>): string =>
  credentialKey({ tenantId, serverId: id, owner: ownerKey(owner) });
