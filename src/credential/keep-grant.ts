// Keeps a grant sealed, bound to server, owner and where it may be sent.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { type Owner, ownerKey } from './credential.ts';
import type { CredentialStore } from './credential-store.ts';
import { detailsOf, type Grant, writeGrant } from './grant.ts';
import { credentialContext } from './seal-context.ts';
import type { Vault } from './vault.ts';

export interface GrantKeeper {
  /** A new sign-in: it replaces whatever is there. */
  keep(
    server: UpstreamServer,
    owner: Owner,
    binding: string,
    grant: Grant,
    now: number,
  ): Promise<{ readonly version: string }>;
  /** A renewal: undefined when `version` is no longer the one that is there; then nothing was written. */
  renew(
    server: UpstreamServer,
    owner: Owner,
    binding: string,
    grant: Grant,
    version: string | undefined,
    now: number,
  ): Promise<{ readonly version: string } | undefined>;
}

export interface GrantKeeperDeps {
  readonly vault: Pick<Vault, 'seal'>;
  readonly credentials: Pick<CredentialStore, 'put' | 'replace'>;
}

export function createGrantKeeper({ vault, credentials }: GrantKeeperDeps): GrantKeeper {
  const row = async (server: UpstreamServer, owner: Owner, binding: string, grant: Grant) => {
    const { tenantId, id: serverId } = server;
    const key = ownerKey(owner);
    const sealed = await vault.seal(tenantId, credentialContext('grant', serverId, key, binding), writeGrant(grant));
    return { tenantId, serverId, owner: key, kind: 'grant', binding, sealed, details: detailsOf(grant) } as const;
  };
  return {
    async keep(server, owner, binding, grant, now) {
      return { version: await credentials.put(await row(server, owner, binding, grant), now) };
    },
    async renew(server, owner, binding, grant, version, now) {
      const written = await credentials.replace(await row(server, owner, binding, grant), version, now);
      return written === undefined ? undefined : { version: written };
    },
  };
}
