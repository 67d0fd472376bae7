// How a tenant's people sign in, as the API takes and shows it: its secret is sealed at rest and never shown.
import { z } from 'zod';
import { signInContext } from '../credential/seal-context.ts';
import { SEALED } from '../credential/sign-in-secret.ts';
import type { Vault } from '../credential/vault.ts';
import type { SignIn } from '../identity/tenant-store.ts';
import type { TenantId } from '../shared/id.ts';
import { line, safeUrl } from './body.ts';
import { invalidAt } from './problem.ts';

/** As in definitions of servers: sent back, it keeps what is stored. */
const KEPT = { sealed: true } as const;

const kept = z.strictObject({ sealed: z.literal(true) });
const secretText = z.union([z.string().min(1).max(4096), kept], {
  error: 'must be text, or { "sealed": true } to keep what is stored',
});
const KEY_RULE =
  'must be 16 to 4096 visible ASCII characters without blanks, or { "sealed": true } to keep what is stored';
/** The product sends it as a bearer token, and whoever likes may guess it. */
const keyText = z.union([z.string().regex(/^[\x21-\x7e]{16,4096}$/, KEY_RULE), kept], {
  error: ({ input }) => (input === undefined ? 'is needed' : KEY_RULE),
});

export const signInSchema = z.discriminatedUnion('mode', [
  z.strictObject({ mode: z.literal('link') }),
  z.strictObject({ mode: z.literal('handoff'), verifyUrl: safeUrl, key: keyText }),
  z.strictObject({
    mode: z.literal('oidc'),
    issuer: safeUrl,
    clientId: line(512),
    clientSecret: secretText.optional(),
    principalClaim: line(128).optional(),
  }),
]);

export type WantedSignIn = z.infer<typeof signInSchema>;
type WantedSecret = z.infer<typeof secretText>;
type Keep = (
  member: 'clientSecret' | 'key',
  destination: string,
  wanted: WantedSecret,
  kept: string | undefined,
) => Promise<string>;

/** The same without its secret: what may be stored before the tenant has a key to seal with. */
export function withoutSecret(wanted: WantedSignIn): SignIn {
  if (wanted.mode === 'link') return wanted;
  if (wanted.mode === 'handoff') return { mode: 'handoff', verifyUrl: wanted.verifyUrl, key: '' };
  return { ...oidcMembers(wanted), mode: 'oidc' };
}

export function hasSecret(wanted: WantedSignIn): boolean {
  return wanted.mode === 'handoff' || (wanted.mode === 'oidc' && wanted.clientSecret !== undefined);
}

/** A kept secret does not follow the setting to another address. */
export async function sealSignIn(
  vault: Pick<Vault, 'seal'>,
  tenantId: TenantId,
  wanted: WantedSignIn,
  previous: SignIn | undefined,
): Promise<SignIn> {
  const keep: Keep = async (member, destination, secret, kept) => {
    if (typeof secret === 'string')
      return SEALED + (await vault.seal(tenantId, signInContext(member, destination), secret)).toString('base64');
    if (kept === undefined || kept === '')
      throw invalidAt(`$.signIn.${member}`, 'nothing is stored for this address that could be kept');
    return kept;
  };
  if (wanted.mode === 'link') return wanted;
  if (wanted.mode === 'handoff') {
    const kept = previous?.mode === 'handoff' && previous.verifyUrl === wanted.verifyUrl ? previous.key : undefined;
    return { mode: 'handoff', verifyUrl: wanted.verifyUrl, key: await keep('key', wanted.verifyUrl, wanted.key, kept) };
  }
  const base = { ...oidcMembers(wanted), mode: 'oidc' } as const;
  if (wanted.clientSecret === undefined) return base;
  const kept = previous?.mode === 'oidc' && previous.issuer === wanted.issuer ? previous.clientSecret : undefined;
  return { ...base, clientSecret: await keep('clientSecret', wanted.issuer, wanted.clientSecret, kept) };
}

/** Whatever stands in the secret's place is covered, sealed or not. */
export function maskSignIn(signIn: SignIn): Readonly<Record<string, unknown>> {
  if (signIn.mode === 'handoff') return { ...signIn, key: KEPT };
  if (signIn.mode === 'oidc' && signIn.clientSecret !== undefined) return { ...signIn, clientSecret: KEPT };
  return signIn;
}

function oidcMembers({ issuer, clientId, principalClaim }: Extract<WantedSignIn, { mode: 'oidc' }>) {
  return { issuer, clientId, ...(principalClaim === undefined ? {} : { principalClaim }) };
}
