// What goes wrong with something sealed, and who can help.
import { OwnError, ProxyError } from '../shared/errors.ts';

/** Changed, moved, or no secret of ours. One sentence for every reason; which it was is for our own log only. */
export function cannotOpen(reason: string): ProxyError {
  return new ProxyError('internal', 'A stored secret could not be opened.', { cause: new OwnError(reason) });
}

const SHREDDED = 'key_deleted';

/** The tenant has no such data key any more. Nobody can open it: it counts as not there, and is given anew. */
export function shredded(): ProxyError {
  return new ProxyError('internal', 'A stored secret cannot be opened any more: its key was deleted.', {
    data: { reason: SHREDDED },
  });
}

export const isShredded = (error: unknown): boolean =>
  error instanceof ProxyError && error.data?.['reason'] === SHREDDED;
