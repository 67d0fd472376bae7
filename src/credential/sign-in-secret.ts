// Opens the secret in a tenant's way of signing in, which its admin had sealed; a text written into the
// table by hand is the secret itself.
import type { TenantId } from '../shared/id.ts';
import { Secret } from '../shared/secret.ts';
import type { Vault } from './vault.ts';

const SEALED = 'sealed:';

export type OpenSignInSecret = (tenantId: TenantId, member: 'clientSecret' | 'key', text: string) => Promise<Secret>;

export function createOpenSignInSecret(vault: Pick<Vault, 'open'>): OpenSignInSecret {
  return async (tenantId, member, text) =>
    text.startsWith(SEALED)
      ? vault.open(tenantId, ['tenant', `signIn.${member}`], Buffer.from(text.slice(SEALED.length), 'base64'))
      : new Secret(text);
}
