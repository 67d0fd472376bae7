// A fetch that leaves by the one door, for libraries that want one. Costly beside a plain dispatch, so
// nothing on the path of a call uses it.

import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type Dispatcher, fetch } from 'undici';

export function createDoorFetch(dispatcher: Dispatcher): FetchLike {
  // The two declare one standard interface in two places; at run time only its members are used.
  return (url, init) => fetch(url, { ...(init as object), dispatcher });
}
