// What a call without a usable credential says where nobody can sign in: what an admin has to do.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { ProxyError } from '../shared/errors.ts';

/** `hasKey`: one is kept, and it is not taken. */
export function adminHasTo(server: UpstreamServer, hasKey: boolean): ProxyError {
  return new ProxyError('upstream_unavailable', `${server.name} ${whatToDo(server, hasKey)}`);
}

function whatToDo({ name, credential }: UpstreamServer, hasKey: boolean): string {
  if (credential === undefined)
    return 'wants a sign-in or a key: register it with "credential": { "kind": "oauth" } (or "secret").';
  if (credential.kind === 'client_credentials' || credential.kind === 'token_exchange')
    return 'does not take the tokens that are got for it; an admin has to check its "credential".';
  if (credential.owner === 'principal') return 'needs somebody to sign in, and nobody is known who could.';
  const howTo = `an admin has to set ${hasKey ? 'another' : 'it'} with PUT …/servers/${name}/credential.`;
  return hasKey ? `does not take the key that is kept; ${howTo}` : `has no key yet: ${howTo}`;
}
