// What a stored credential may be sent to, as a short fingerprint: when an edit of the server changes it,
// credentials kept for the old one are not used, or an admin could have everyone's keys by editing a URL.
import { createHash } from 'node:crypto';
import type { Transport, UpstreamServer } from './upstream-server.ts';

/**
 * Changes with the origin or command, the kind and place of the credential, and everything that decides
 * where an OAuth grant goes. Paths, titles, limits and the client secret may change without asking anyone.
 */
export function bindingOf(server: UpstreamServer): string {
  const { credential, transport } = server;
  const parts = [
    transport.kind,
    ...destination(transport),
    credential?.kind,
    credential?.header,
    credential?.scheme,
    credential?.env,
    credential?.oauth['issuer'],
    credential?.oauth['resource'],
    credential?.oauth['clientId'],
    // The refresh token is sent there.
    credential?.oauth['tokenEndpoint'],
  ];
  // JSON, so that two different lists never give one text.
  const text = JSON.stringify(parts.map((part) => part ?? null));
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function destination(transport: Transport): readonly unknown[] {
  return transport.kind === 'stdio' ? [transport.command, transport.args] : [new URL(transport.url).origin, null];
}
