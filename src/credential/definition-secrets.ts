// Seals and opens the literal secrets inside a server's definition, bound to tenant, server, place and destination.
import type { Open, Seal } from '../catalog/sealed-definition.ts';
import type { TenantId } from '../shared/id.ts';
import { definitionContext } from './seal-context.ts';
import type { Vault } from './vault.ts';

export function createDefinitionSecrets(
  vault: Vault,
): (tenantId: TenantId, serverName: string) => { readonly seal: Seal; readonly open: Open } {
  return (tenantId, serverName) => ({
    seal: async (path, value, destination) =>
      (await vault.seal(tenantId, definitionContext(serverName, destination, path), value)).toString('base64'),
    open: (path, sealed, destination) =>
      vault.open(tenantId, definitionContext(serverName, destination, path), Buffer.from(sealed, 'base64')),
  });
}
