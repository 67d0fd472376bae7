// Tries a pasted key before it is kept: over a connection of its own, which nobody else can get.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Dial } from '../connection/connection.ts';
import type { Owner } from '../credential/credential.ts';
import { CredentialRefusedError, ProxyError } from '../shared/errors.ts';
import type { Secret } from '../shared/secret.ts';
import { listAll } from './discover-tools.ts';

export type KeyTrial =
  | { readonly ok: true; readonly toolCount: number }
  | { readonly ok: false; readonly reason: string };

/** Bounded by `signal`. Rejects only with what says nothing about the key. */
export function createKeyTrial(
  dial: Dial,
): (server: UpstreamServer, owner: Owner, secret: Secret, signal: AbortSignal) => Promise<KeyTrial> {
  return async (server, owner, secret, signal) => {
    try {
      const connection = await dial(server, { kind: 'static', owner, version: 'trial', secret }, signal);
      try {
        // A server that is known already is connected to without a word; the key has to be shown to it.
        const offersTools = connection.capabilities['tools'] !== undefined;
        if (!offersTools && connection.era === 'modern')
          await connection.request({ method: 'server/discover', params: {}, signal });
        return { ok: true, toolCount: (await listAll(connection, signal)).length };
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (error instanceof CredentialRefusedError) return { ok: false, reason: 'The server did not accept this key.' };
      if (error instanceof ProxyError && error.code !== 'internal') return { ok: false, reason: error.message };
      throw error;
    }
  };
}
