// Which principals a person in a browser is, and how the tenant had them proved. Pure.
import { type PrincipalId, parsePrincipalId } from '../shared/id.ts';
import { jwtPrincipal } from './caller.ts';
import type { SignIn } from './tenant-store.ts';

/**
 * The person whom an identity provider calls `value`: `issuer#value` for agents with signed tokens, and
 * plain `value` for agents with keys. A value that could itself be read as the former is never taken plain,
 * or one provider's user could become another's.
 */
export function principalsAt(issuer: string, value: string): readonly PrincipalId[] {
  // A value that is no name by itself is none behind an issuer either.
  if (parsePrincipalId(value) === undefined) return [];
  const mayBePlain = !value.includes('#') && !/^http/i.test(value);
  return [jwtPrincipal(issuer, value), ...(mayBePlain ? [value] : [])].flatMap((text) => parsePrincipalId(text) ?? []);
}

/** Differs whenever people are proved in another way or place. */
export function proofOf(signIn: SignIn): string {
  switch (signIn.mode) {
    case 'link':
      return JSON.stringify(['link']);
    case 'oidc':
      return JSON.stringify(['oidc', signIn.issuer, signIn.clientId, signIn.principalClaim ?? 'sub']);
    case 'handoff':
      return JSON.stringify(['handoff', signIn.verifyUrl]);
  }
}
