// Opaque keys, compared by hash: an agent key's text in, its record out, or undefined.
import type { Clock } from '../shared/clock.ts';
import { hashAgentKey, isAgentKey } from './agent-key.ts';
import type { AgentKey, AgentKeyStore } from './tenant-store.ts';

export interface ApiKeyVerifier {
  /** Undefined for an unknown, malformed or expired key. Goes to the store each time. */
  find(token: string): Promise<AgentKey | undefined>;
}

export function createApiKeyVerifier(keys: Pick<AgentKeyStore, 'findByHash'>, clock: Clock): ApiKeyVerifier {
  return {
    async find(token) {
      if (!isAgentKey(token)) return undefined;
      const hash = hashAgentKey(token);
      const record = await keys.findByHash(hash);
      if (record === undefined || !hash.equals(record.keyHash)) return undefined;
      return record.expiresAt !== undefined && record.expiresAt <= clock.now() ? undefined : record;
    },
  };
}
