// The sealed member of a tenant's way of signing in, sealed anew.
import { isJsonObject } from '../wire/reply.ts';
import { type SealContext, signInContext } from './seal-context.ts';
import { SEALED } from './sign-in-secret.ts';

/** In which mode which member is a secret, and what says where it belongs. */
const SECRETS = [
  ['handoff', 'key', 'verifyUrl'],
  ['oidc', 'clientSecret', 'issuer'],
] as const;

/** Undefined when all may stay as it is; what is not understood is left alone. */
export async function resealSignIn(
  signIn: unknown,
  reseal: (context: SealContext, sealed: Buffer) => Promise<Buffer | undefined>,
): Promise<unknown> {
  if (!isJsonObject(signIn)) return undefined;
  const found = SECRETS.find(([mode]) => mode === signIn['mode']);
  if (found === undefined) return undefined;
  const [, member, place] = found;
  const [text, destination] = [signIn[member], signIn[place]];
  if (typeof text !== 'string' || typeof destination !== 'string' || !text.startsWith(SEALED)) return undefined;
  const sealed = await reseal(signInContext(member, destination), Buffer.from(text.slice(SEALED.length), 'base64'));
  return sealed === undefined ? undefined : { ...signIn, [member]: SEALED + sealed.toString('base64') };
}
