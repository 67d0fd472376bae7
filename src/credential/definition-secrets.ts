// Seals and opens the literal secrets inside a server's definition, bound to tenant, server and place.
import type { Open, Seal } from '../catalog/sealed-definition.ts';
import type { TenantId } from '../shared/id.ts';
import type { Vault } from './vault.ts';

export function createDefinitionSecrets(
  vault: Vault,
): (tenantId: TenantId, serverName: string) => { readonly seal: Seal; readonly open: Open } {
  return (tenantId, serverName) => ({
    seal: async (path, value) => (await vault.seal(tenantId, ['server', serverName, path], value)).toString('base64'),
    open: (path, sealed) => vault.open(tenantId, ['server', serverName, path], Buffer.from(sealed, 'base64')),
  });
}
