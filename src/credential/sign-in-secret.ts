// Opens the secret in a tenant's way of signing in, which its admin had sealed; a text written into the
// table by hand is the secret itself.

import { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import { Secret } from '../shared/secret.ts';
import { signInContext } from './seal-context.ts';
import type { Vault } from './vault.ts';
import { isShredded } from './vault-errors.ts';

export const SEALED = 'sealed:';

/** `destination`: the identity provider's issuer, or the product's `verifyUrl`. */
export type OpenSignInSecret = (
  tenantId: TenantId,
  member: 'clientSecret' | 'key',
  text: string,
  destination: string,
) => Promise<Secret>;

export function createOpenSignInSecret(vault: Pick<Vault, 'open'>): OpenSignInSecret {
  return async (tenantId, member, text, destination) =>
    text.startsWith(SEALED)
      ? vault
          .open(tenantId, signInContext(member, destination), Buffer.from(text.slice(SEALED.length), 'base64'))
          .catch(sayIfLost)
      : new Secret(text);
}

function sayIfLost(error: unknown): never {
  if (!isShredded(error)) throw error;
  throw new ProxyError(
    'upstream_unavailable',
    'Signing in has to be set up again here: an admin has to send its secret.',
  );
}
