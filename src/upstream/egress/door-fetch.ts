// A fetch that leaves by the one door, for libraries that want one. Costly beside a plain dispatch, so
// nothing on the path of a call uses it.

import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Dispatcher, fetch } from 'undici';
import { checkUrl } from './check-url.ts';
import type { EgressPolicy } from './policy.ts';

/** Follows no redirect by itself. Rejects with EgressDeniedError where the text of the address already says so. */
export function createDoorFetch(dispatcher: Dispatcher, policy: EgressPolicy): FetchLike {
  return async (url, init) => {
    // As it was written: a parser in between would drop what is refused.
    checkUrl(String(url), policy);
    // The two declare one standard interface in two places; at run time only its members are used.
    return fetch(url, { redirect: 'manual', ...(init as object), dispatcher });
  };
}
