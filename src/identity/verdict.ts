// What a good token says on its own, before the request around it is looked at.
import type { TenantId } from '../shared/id.ts';
import type { ActingKey } from './act-for.ts';
import type { Caller } from './caller.ts';

interface Standing {
  readonly tenantId: TenantId;
  /** Epoch milliseconds; the token itself ends then. */
  readonly expiresAt: number;
}

export type Verdict =
  | (Standing & { readonly kind: 'signed'; readonly caller: Caller })
  | (Standing & { readonly kind: 'agent_key'; readonly key: ActingKey });
