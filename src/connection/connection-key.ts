// What must never share a link: two tenants, two servers, two definitions of one server, two owners,
// two versions of a credential. The credential's own value is not part of it: two people who hold equal
// keys are still two people.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { type Credential, ownerKey } from '../credential/credential.ts';

/** NUL occurs in none of the parts, so different parts never give one key. */
export function connectionKey(server: UpstreamServer, credential: Credential): string {
  const whose = credential.kind === 'none' ? 'none' : `${ownerKey(credential.owner)}\u0000${credential.version}`;
  return `${server.tenantId}\u0000${server.id}\u0000${server.revision}\u0000${whose}`;
}
