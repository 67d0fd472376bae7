// Opens a connection by whatever transport the server is registered with.
import type { Dial } from '../connection/connection.ts';

export interface Dials {
  readonly http: Dial;
  readonly sse: Dial;
  readonly stdio: Dial;
}

export const createDial =
  (dials: Dials): Dial =>
  (server, credential, signal) =>
    dials[server.transport.kind](server, credential, signal);
