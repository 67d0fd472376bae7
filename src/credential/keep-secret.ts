// Keeps a pasted key sealed, bound to server, owner and where it may be sent.
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import type { ServerId, TenantId } from '../shared/id.ts';
import type { Secret } from '../shared/secret.ts';
import { type Owner, ownerKey } from './credential.ts';
import type { CredentialStore } from './credential-store.ts';
import { credentialContext } from './seal-context.ts';
import { parseSecretValue } from './secret-value.ts';
import type { Vault } from './vault.ts';

export interface SecretKeeper {
  /** Replaces what was kept. Throws `invalid_request` for a value that could not be sent, or a server that wants none. */
  keep(server: UpstreamServer, owner: Owner, text: string): Promise<{ readonly version: string }>;
  /** False when nothing was kept. */
  remove(tenantId: TenantId, serverId: ServerId, owner: Owner): Promise<boolean>;
}

export interface SecretKeeperDeps {
  readonly vault: Pick<Vault, 'seal'>;
  readonly credentials: Pick<CredentialStore, 'put' | 'remove'>;
  readonly clock: Clock;
}

/** The text as it would be sent to this server. */
export function parseSecretFor(server: UpstreamServer, text: string): Secret {
  const spec = server.credential;
  if (spec?.kind !== 'secret') throw new ProxyError('invalid_request', `${server.name} does not take a pasted key.`);
  return parseSecretValue(text, server.transport.kind === 'stdio' ? 'env' : 'header', spec.scheme, spec.header);
}

export function createSecretKeeper({ vault, credentials, clock }: SecretKeeperDeps): SecretKeeper {
  return {
    async keep(server, owner, text) {
      const secret = parseSecretFor(server, text);
      requireOwner(server, owner);
      const { tenantId, id: serverId } = server;
      const key = ownerKey(owner);
      const binding = bindingOf(server);
      const sealed = await vault.seal(tenantId, credentialContext('secret', serverId, key, binding), secret.reveal());
      const version = await credentials.put(
        { tenantId, serverId, owner: key, kind: 'secret', binding, sealed, details: {} },
        clock.now(),
      );
      return { version };
    },
    remove: async (tenantId, serverId, owner) =>
      (await credentials.remove(tenantId, serverId, ownerKey(owner))) !== undefined,
  };
}

/** A key kept for the wrong owner would never be found, or worse, be shared. */
function requireOwner(server: UpstreamServer, owner: Owner): void {
  if (server.credential?.owner === owner.kind) return;
  const whose = owner.kind === 'tenant' ? 'each person has their own key' : 'one key serves the whole tenant';
  throw new ProxyError('invalid_request', `For ${server.name} ${whose}.`);
}
