// Where a server is, in words that an admin cannot choose freely.
import type { UpstreamServer } from '../catalog/upstream-server.ts';

export function placeOf({ transport }: UpstreamServer): string {
  return transport.kind === 'stdio' ? 'a command run by the operator' : new URL(transport.url).host;
}
