// What follows a sign-in: the tools are looked for with the new credential before anyone is told that
// it is done, so that the agent's next list has them.
import type { Discovery } from '../catalog/discovery.ts';
import type { Registry } from '../catalog/registry.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { type Owner, ownerKey } from '../credential/credential.ts';

/** Rejects with what went wrong; the credential is kept all the same. */
export type SignedIn = (server: UpstreamServer, owner: Owner) => Promise<void>;

export function createSignedIn(discovery: Discovery, registry: Registry): SignedIn {
  return async (server, owner) => {
    const isOwnList = server.catalog === 'principal' && owner.kind === 'principal';
    const listOwner = isOwnList ? ownerKey(owner) : '';
    const servers = await registry.tenant(server.tenantId);
    // What the first sign-in found serves everyone; a later one does not change what the others see.
    if (!isOwnList && servers.byName.get(server.name)?.lists.has('') === true) return;
    await discovery.renew(server, listOwner, owner.kind === 'principal' ? owner.principalId : undefined);
  };
}
